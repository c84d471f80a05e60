//===- KernelsToPtx.cpp - dgc-lower-kernels-to-ptx ---------------------------===//

#include "compiler/target/cuda/Codegen.h"
#include "compiler/target/cuda/Passes.h"
#include "dialects/dgc/AttributeNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace dgc {
#define GEN_PASS_DEF_LOWERKERNELSTOPTX
#include "compiler/target/cuda/Passes.h.inc"
} // namespace dgc

using namespace mlir;

namespace dgc {
namespace {

struct LowerKernelsToPtx : dgc::impl::LowerKernelsToPtxBase<LowerKernelsToPtx> {
  using LowerKernelsToPtxBase::LowerKernelsToPtxBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::string wrong;
    std::optional<CudaTarget> cuda = CudaTarget::parse(target, wrong);
    if (!cuda) {
      module.emitError() << wrong;
      return signalPassFailure();
    }
    FailureOr<CompiledKernels> kernels = compileKernels(module, *cuda);
    if (failed(kernels))
      return signalPassFailure();
    for (func::FuncOp func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      func.erase();
    Builder b(&getContext());
    SmallVector<Attribute> launches, workspaces;
    for (const CompiledKernel &kernel : kernels->kernels) {
      for (const KernelLaunch &launch : kernel.launches)
        launches.push_back(b.getArrayAttr(
            {b.getStringAttr(launch.symbol), b.getI64IntegerAttr(launch.grid), b.getI64IntegerAttr(launch.block)}));
      workspaces.push_back(b.getI64IntegerAttr(kernel.workspaceBytes));
    }
    module->setAttr(kLaunchesAttr, b.getArrayAttr(launches));
    module->setAttr(kWorkspaceAttr, b.getArrayAttr(workspaces));
    SmallVector<NamedAttribute> texts;
    for (const DeviceCode &code : kernels->deviceCode) {
      if (code.isBinary)
        continue;
      StringRef text(reinterpret_cast<const char *>(code.bytes.data()), code.bytes.size());
      if (print)
        llvm::outs() << text;
      else
        texts.push_back(b.getNamedAttr("sm_" + std::to_string(code.architecture), b.getStringAttr(text)));
    }
    if (!texts.empty())
      module->setAttr(kPtxAttr, b.getDictionaryAttr(texts));
  }
};

} // namespace
} // namespace dgc
