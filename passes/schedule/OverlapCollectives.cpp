// dgc-overlap-collectives: begins collectives early and waits for them late.

#include "dialects/dist/Dist.h"
#include "passes/schedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-overlap-collectives"

namespace dgc {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVESPASS
#include "passes/schedule/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// Ops that take no time: other names for what their operands are.
static bool isView(Operation *op) { return isa<ReshapeOp>(op); }

static bool takesTime(Operation *op) {
  return !isView(op) && !isa<ConstantOp, AxisIndexOp, CollectiveOpInterface, TransferOpInterface, DoneOp>(op);
}

static DoneOp doneOf(Operation *op) {
  if (isa<CollectiveOpInterface>(op))
    for (Operation *user : op->getUsers())
      if (auto done = dyn_cast<DoneOp>(user))
        return done;
  return {};
}

/// The later of two ops of a block; either may be null.
static Operation *later(Operation *a, Operation *b) { return !a || (b && a->isBeforeInBlock(b)) ? b : a; }

/// Moves `done` and the views of what it gives right before the first op that needs one of them, but not after a send
/// or receive.
static void waitLate(DoneOp done) {
  SmallVector<Operation *> moved{done};
  llvm::SmallPtrSet<Operation *, 8> along{done.getOperation()};
  Operation *target = nullptr;
  for (Operation *op = done->getNextNode(); op; op = op->getNextNode()) {
    bool depends =
        llvm::any_of(op->getOperands(), [&](Value operand) { return along.contains(operand.getDefiningOp()); });
    if (depends && isView(op)) {
      moved.push_back(op);
      along.insert(op);
      continue;
    }
    target = op;
    if (depends || isa<TransferOpInterface>(op) || op->hasTrait<OpTrait::IsTerminator>())
      break;
  }
  for (Operation *op : moved)
    op->moveBefore(target);
}

/// Moves a collective right after `bound` (null: to the start of the block) and what it needs, the views on the way
/// along.
static void beginEarly(Operation *op, Operation *bound) {
  Block *block = op->getBlock();
  SmallVector<Operation *> moved; // views, then the collective
  auto visit = [&](auto &self, Operation *each) -> void {
    for (Value operand : each->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && isView(producer))
        self(self, producer);
      else
        bound = later(bound, producer);
    }
    if (!llvm::is_contained(moved, each))
      moved.push_back(each);
  };
  visit(visit, op);
  for (Operation *each : moved) {
    if (bound && !bound->isBeforeInBlock(each)) { // a view that is early enough
      if (bound != each)
        continue;
    } else if (!bound) {
      each->moveBefore(&block->front());
    } else {
      each->moveAfter(bound);
    }
    bound = each;
  }
}

namespace {
struct OverlapCollectives : dgc::impl::OverlapCollectivesPassBase<OverlapCollectives> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        runOnBlock(block);
  }

  void runOnBlock(Block &block) {
    SmallVector<Operation *> communication; // what begins, in order; a loop that communicates keeps its place
    for (Operation &op : block)
      if (isa<CollectiveOpInterface, TransferOpInterface>(op) || communicatesInside(&op))
        communication.push_back(&op);
    for (Operation *op : llvm::reverse(communication))
      if (DoneOp done = doneOf(op))
        waitLate(done);
    for (auto [i, op] : llvm::enumerate(communication)) {
      if (!doneOf(op))
        continue;
      // In the order that there is, and no more than two at a time: what is communicated takes memory from its
      // beginning to its end.
      Operation *bound = i ? communication[i - 1] : nullptr;
      if (DoneOp before = i >= 2 ? doneOf(communication[i - 2]) : DoneOp(); before && before->isBeforeInBlock(op))
        bound = later(bound, before);
      beginEarly(op, bound);
    }
    for (Operation *op : communication)
      if (DoneOp done = doneOf(op)) {
        if (hidesWork(op, done))
          ++numOverlapped;
        else
          undo(done);
      }
  }

  static bool hidesWork(Operation *begin, DoneOp done) {
    for (Operation *op = begin->getNextNode(); op != done; op = op->getNextNode())
      if (takesTime(op))
        return true;
    return false;
  }

  static void undo(DoneOp done) {
    LDBG() << "nothing to do meanwhile: " << *done->getOperand(0).getDefiningOp();
    // The ops in between take no time, but may be other communication: then the collective ends first.
    done.replaceAllUsesWith(done.getInputs());
    done.erase();
  }
};
} // namespace
