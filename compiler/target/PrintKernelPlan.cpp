//===- PrintKernelPlan.cpp - dgc-print-kernel-plan --------------------------===//

#include "compiler/target/Passes.h"
#include "compiler/target/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace dgc {
#define GEN_PASS_DEF_PRINTKERNELPLAN
#include "compiler/target/Passes.h.inc"
} // namespace dgc

using namespace mlir;

namespace dgc {
namespace {

struct PrintKernelPlan : dgc::impl::PrintKernelPlanBase<PrintKernelPlan> {
  using PrintKernelPlanBase::PrintKernelPlanBase;

  void runOnOperation() override {
    std::string wrong;
    std::unique_ptr<Target> chosen = TargetRegistry::builtin().create(target, wrong);
    if (!chosen) {
      getOperation().emitError() << wrong;
      return signalPassFailure();
    }
    if (failed(chosen->printKernelPlans(getOperation(), llvm::outs())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace dgc
