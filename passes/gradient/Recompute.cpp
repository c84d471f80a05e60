// dgc-strategy-recompute: values of the forward pass are computed again in the backward pass.

#include "dialects/dgc/AttributeNames.h"
#include "passes/analysis/StrategyUtil.h"
#include "passes/gradient/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/GlobPattern.h"

#define DEBUG_TYPE "dgc-strategy-recompute"

namespace dgc {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

namespace {

/// What is computed again together, right before the backward pass first needs some of it: the selected ops of one
/// block of the model, or of one of its ops, for one micro-batch.
struct Group {
  llvm::SetVector<Operation *> ops;
  Operation *last = nullptr;   // of them in the order of the function
  Operation *before = nullptr; // the first op of the backward pass after it that needs some of them
};

/// Rewrites one training function.
class Recomputer {
public:
  Recomputer(func::FuncOp function, ArrayRef<llvm::GlobPattern> patterns)
      : function(function), block(function.getBody().front()), patterns(patterns), forward(findForwardOps(function)) {}

  unsigned run() {
    for (Operation &op : block.without_terminator())
      if (isSelected(&op) && isNeeded(&op))
        need(&op, groups[keyOf(&op)]);
    int64_t number = 0;
    unsigned copies = 0;
    for (auto &[key, group] : groups) {
      group.last = *llvm::max_element(group.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
      group.before = firstBackwardUser(group);
      if (group.before)
        copies += computeAgain(group, number++);
    }
    return copies;
  }

  /// Adds the names of values that the backward pass needs and that can be computed again, and those that the patterns
  /// match.
  void collectNames(llvm::SetVector<StringRef> &needed, llvm::SetVector<StringRef> &matching) const {
    for (Operation &op : block.without_terminator()) {
      if (isSelected(&op))
        matching.insert(nameInModel(&op));
      if (canBeComputedAgain(&op) && isNeeded(&op))
        needed.insert(nameInModel(&op));
    }
  }

private:
  using Key =
      std::tuple<const void *, int64_t, const void *>; // block, or op of the model without one; micro-batch; stage

  bool isBackward(Operation *op) const { return !forward.contains(op) && op != block.getTerminator(); }

  /// True for a user in the backward pass that gets `op` computed again. What one block, or stage, gives to another is
  /// kept for that one: its backward pass comes before that of the block, or stage, of `op`.
  bool isInBackwardPass(Operation *op, Operation *user) const {
    auto [blockName, kind] = nameInModel(op).rsplit('.');
    StringRef userName = nameInModel(user);
    return isBackward(user) && isOnStageOf(op, user) &&
           (kind.empty() || userName.empty() || userName.rsplit('.').first == blockName);
  }

  static bool isOnStageOf(Operation *op, Operation *user) {
    Attribute stage = op->getDiscardableAttr(dist::kStageAttr), other = user->getDiscardableAttr(dist::kStageAttr);
    return !stage || !other || stage == other;
  }

  bool isNeeded(Operation *op) const {
    return llvm::any_of(op->getUsers(), [&](Operation *user) { return isInBackwardPass(op, user); });
  }

  bool canBeComputedAgain(Operation *op) const {
    return forward.contains(op) && !nameInModel(op).empty() && isPure(op) && op->getNumRegions() == 0 &&
           !isMadeOfScalars(op);
  }

  bool isSelected(Operation *op) const {
    return canBeComputedAgain(op) &&
           llvm::any_of(patterns, [&](const llvm::GlobPattern &pattern) { return pattern.match(nameInModel(op)); });
  }

  static Key keyOf(Operation *op) {
    auto microbatch = op->getAttrOfType<IntegerAttr>(kMicrobatchAttr);
    auto [blockName, kind] = nameInModel(op).rsplit('.');
    const void *place = kind.empty() ? op->getLoc().getAsOpaquePointer()
                                     : StringAttr::get(op->getContext(), blockName).getAsOpaquePointer();
    return {place, microbatch ? microbatch.getInt() : -1,
            op->getDiscardableAttr(dist::kStageAttr).getAsOpaquePointer()};
  }

  /// Adds an op and what it needs of the same group. What comes from elsewhere is kept.
  void need(Operation *op, Group &group) {
    if (!group.ops.insert(op))
      return;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp(); source && isSelected(source) && keyOf(source) == keyOf(op))
        need(source, group);
  }

  /// Whether a use is of what is computed again. Where micro-batches wait for each other, ops of the backward pass come
  /// before later ops of the group, too; they take what is there.
  bool isReplaced(const Group &group, Operation *op, Operation *user) const {
    return isInBackwardPass(op, user) && group.last->isBeforeInBlock(user);
  }

  /// Null when all that the backward pass needs of the group is used before the group is complete.
  Operation *firstBackwardUser(const Group &group) const {
    Operation *first = nullptr;
    for (Operation *op : group.ops)
      for (Operation *user : op->getUsers())
        if (isReplaced(group, op, user) && (!first || user->isBeforeInBlock(first)))
          first = user;
    return first;
  }

  unsigned computeAgain(Group &group, int64_t number) {
    SmallVector<Operation *> ops = group.ops.takeVector();
    llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    OpBuilder builder(group.before);
    IRMapping mapping;
    for (Operation *op : ops) {
      Operation *copy = builder.clone(*op, mapping);
      copy->setAttr(kRecomputeAttr, builder.getI64IntegerAttr(number));
      if (Attribute level = group.before->getAttr(kMicrobatchLevelAttr))
        copy->setAttr(kMicrobatchLevelAttr, level);
    }
    for (Operation *op : ops)
      op->replaceUsesWithIf(mapping.lookup(op)->getResults(), [&](OpOperand &use) {
        return isReplaced(group, op, use.getOwner()) &&
               !use.getOwner()->hasAttr(kRecomputeAttr); // other groups take what was kept
      });
    LDBG() << ops.size() << " ops are computed again before " << *group.before;
    return ops.size();
  }

  func::FuncOp function;
  Block &block;
  ArrayRef<llvm::GlobPattern> patterns;
  llvm::DenseSet<Operation *> forward;
  llvm::MapVector<Key, Group> groups;
};

struct Recompute : dgc::impl::RecomputePassBase<Recompute> {
  using RecomputePassBase::RecomputePassBase;
  void runOnOperation() override {
    SmallVector<llvm::GlobPattern> patterns;
    for (const std::string &text : values.patterns)
      patterns.push_back(llvm::cantFail(llvm::GlobPattern::create(text)));
    bool trains = false, hasBlocks = false;
    unsigned copies = 0;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      hasBlocks |= function->removeAttr(kBlockedScansAttr) != nullptr;
      if (isTraining(function)) {
        trains = true;
        copies += Recomputer(function, patterns).run();
      }
    }
    numOps += copies;
    if (trains && copies == 0 && !hasBlocks) {
      getOperation().emitError() << "recompute='" << values.getValue().text() << "': " << whyNone(patterns);
      signalPassFailure();
    }
  }

  /// True for a function that gives a weight a new value.
  static bool isTraining(func::FuncOp function) {
    if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
      return false;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (StateOp state = stateOfResult(function, i); state && state.getRole() == StateRole::Weight)
        return true;
    return false;
  }

  /// `a, b, c`; the first of them where there are many.
  static std::string listed(const llvm::SetVector<StringRef> &names) {
    return llvm::join(names.getArrayRef().take_front(12), ", ") + (names.size() > 12 ? ", .." : "");
  }

  /// Why the patterns select nothing, with the names that select something.
  std::string whyNone(ArrayRef<llvm::GlobPattern> patterns) {
    llvm::SetVector<StringRef> needed, matching;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isTraining(function))
        Recomputer(function, patterns).collectNames(needed, matching);
    std::string others = needed.empty() ? "it needs none that has a name" : "it needs " + listed(needed);
    if (matching.empty())
      return "no value of the model that the backward pass needs has a name like this; " + others;
    return "the backward pass does not need " + listed(matching) + "; " + others;
  }
};
} // namespace
