// Passes that no verifier of a phase finds fault with.

#include "compiler/driver/Plugin.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace {
template <class Derived> struct BreakerPass : PassWrapper<Derived, OperationPass<ModuleOp>> {
  BreakerPass() = default;
  BreakerPass(const BreakerPass &) = default;
  StringRef getArgument() const final { return Derived::name; }
  StringRef getDescription() const final { return "for a test"; }
};

/// Each device uses its own part of a sum.
struct DropAllReduce : BreakerPass<DropAllReduce> {
  static constexpr StringLiteral name = "breaker-drop-all-reduce";
  void runOnOperation() override {
    getOperation().walk([](dgc::dist::AllReduceOp op) {
      op->replaceAllUsesWith(op->getOperands());
      op->erase();
    });
  }
};

/// Each weight gets twice the update.
struct DoubleUpdate : BreakerPass<DoubleUpdate> {
  static constexpr StringLiteral name = "breaker-double-update";
  void runOnOperation() override {
    getOperation().walk([](dgc::SubtractOp op) {
      auto argument = dyn_cast<BlockArgument>(op->getOperand(0));
      if (!argument || !isa_and_present<func::ReturnOp>(*op->user_begin()))
        return;
      OpBuilder builder(op);
      op->setOperand(1, dgc::AddOp::create(builder, op->getLoc(), op->getOperand(1), op->getOperand(1)));
    });
  }
};

/// The operands of sums change places, and nothing else.
struct Commute : BreakerPass<Commute> {
  static constexpr StringLiteral name = "breaker-commute";
  void runOnOperation() override {
    getOperation().walk([](dgc::AddOp op) {
      Value first = op->getOperand(0);
      op->setOperand(0, op->getOperand(1));
      op->setOperand(1, first);
    });
  }
};
} // namespace

DGC_PLUGIN({.name = "breaker",
            .passes = {"breaker-drop-all-reduce", "breaker-double-update", "breaker-commute"},
            .registerPasses = [] {
              PassRegistration<DropAllReduce>();
              PassRegistration<DoubleUpdate>();
              PassRegistration<Commute>();
            }})
