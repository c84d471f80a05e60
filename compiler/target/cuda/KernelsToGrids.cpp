//===- KernelsToGrids.cpp - dgc-lower-kernels-to-grids ----------------------===//

#include "compiler/target/cuda/GridEmitter.h"
#include "compiler/target/cuda/Passes.h"
#include "dialects/dgc/AttributeNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace dgc {
#define GEN_PASS_DEF_LOWERKERNELSTOGRIDS
#include "compiler/target/cuda/Passes.h.inc"
} // namespace dgc

using namespace mlir;

namespace dgc {
namespace {

struct LowerKernelsToGrids : dgc::impl::LowerKernelsToGridsBase<LowerKernelsToGrids> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> kernels;
    for (func::FuncOp func : module.getOps<func::FuncOp>())
      if (!func.isExternal())
        kernels.push_back(func);
    Builder builder(&getContext());
    for (func::FuncOp func : kernels) {
      FailureOr<CompiledKernel> kernel = lowerKernelToGrids(func);
      if (failed(kernel))
        return signalPassFailure();
      for (const KernelLaunch &launch : kernel->launches)
        module.lookupSymbol(launch.symbol)
            ->setAttr(kLaunchAttr, builder.getDenseI64ArrayAttr({launch.grid, launch.block}));
    }
  }
};

} // namespace
} // namespace dgc
