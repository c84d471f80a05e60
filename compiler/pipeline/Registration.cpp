//===- Registration.cpp - every dialect and pass of the compiler -----------===//

#include "compiler/pipeline/Registration.h"
#include "compiler/codegen/common/Passes.h"
#include "compiler/codegen/cpu/Passes.h"
#include "compiler/codegen/cuda/Passes.h"
#include "compiler/package/Package.h"
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
#include "passes/autodiff/Passes.h"
#include "passes/communication/Passes.h"
#include "passes/kernel/Passes.h"
#include "passes/memory/Passes.h"
#include "passes/model/Passes.h"
#include "passes/partition/Passes.h"
#include "passes/place/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/sharding/Passes.h"
#include "passes/strategy/Passes.h"

void dgc::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::dgc::DGCDialect, mlir::dist::DistDialect, mlir::exec::ExecDialect>();
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
  registerPackaging(registry);
}

void dgc::registerOwnPasses() {
  registerAutodiffPasses();
  registerCodegenCommonPasses();
  registerCodegenCPUPasses();
  registerCodegenCPUPipelines();
  registerCodegenCUDAPasses();
  registerCommunicationPasses();
  registerKernelPasses();
  registerMemoryPasses();
  registerModelPasses();
  registerPartitionPasses();
  registerPlacePasses();
  registerSchedulePasses();
  registerShardingPasses();
  registerStrategyPasses();
}

void dgc::registerAllPasses() {
  registerOwnPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
}
