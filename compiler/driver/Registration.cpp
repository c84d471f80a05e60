//===- Registration.cpp - every dialect and pass of the compiler -----------===//

#include "compiler/driver/Registration.h"
#include "compiler/codegen/Passes.h"
#include "compiler/driver/Phases.h"
#include "compiler/package/Package.h"
#include "compiler/target/Passes.h"
#include "compiler/target/cpu/Passes.h"
#include "compiler/target/cuda/Passes.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "dialects/exec/Exec.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/communicate/Passes.h"
#include "passes/gradient/Passes.h"
#include "passes/kernel/Passes.h"
#include "passes/model/Passes.h"
#include "passes/partition/Passes.h"
#include "passes/place/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/shard/Passes.h"

void dgc::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<dgc::DGCDialect, dgc::dist::DistDialect, dgc::exec::ExecDialect>();
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
  registerPackaging(registry);
}

void dgc::registerOwnPasses() {
  registerCodegenCommonPasses();
  registerCodegenCPUPasses();
  registerCodegenCPUPipelines();
  registerCodegenCUDAPasses();
  registerTargetPasses();
  registerModelPasses();
  registerPlacePasses();
  registerGradientPasses();
  registerShardPasses();
  registerPartitionPasses();
  registerCommunicatePasses();
  registerKernelPasses();
  registerSchedulePasses();
  registerPhasePipelines();
}

void dgc::registerAllPasses() {
  registerOwnPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
}
