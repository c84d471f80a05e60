// dgc-combine-collectives: merges collectives that can happen together.

#include "passes/analysis/SizeDecisions.h"
#include "passes/communicate/LinkModel.h"
#include "passes/communicate/Passes.h"
#include "passes/communicate/Payload.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-combine-collectives"

namespace dgc {
#define GEN_PASS_DEF_COMBINECOLLECTIVESPASS
#include "passes/communicate/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {
/// What collectives must have in common to be merged: what they do (all attributes but the cause), and the type of
/// elements. Pointers only tell keys apart; nothing depends on their order.
using Key = std::tuple<const void *, const void *, const void *>;

/// Collectives to be merged in the place of the last, and the ops after the
/// first that depend on one of them, in order.
struct Group {
  SmallVector<CollectiveOpInterface> members;
  SmallVector<Operation *> dependents;
  size_t dependentsBeforeLast = 0;     // of these, how many are before the last member
  llvm::DenseSet<Operation *> tainted; // members and dependents
  int64_t bytes = 0;
};
} // namespace

/// Those that can do the same to several values at once.
static bool isMergeable(Operation &op) { return isa<AllReduceOp, ReduceScatterOp, AllGatherOp>(op); }

static Key keyOf(CollectiveOpInterface op) {
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase("origins");
  Type element = cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
  return {op->getName().getAsOpaquePointer(), attributes.getDictionary(op->getContext()).getAsOpaquePointer(),
          element.getAsOpaquePointer()};
}

/// Replaces the members by one op and moves the dependents that are before it
/// after it.
static void merge(const Group &group) {
  CollectiveOpInterface last = group.members.back();
  OpBuilder builder(last);
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  SmallVector<Location> locations;
  ArrayAttr origins;
  for (CollectiveOpInterface op : group.members) {
    origins = mergeOrigins(origins, op.getOriginsAttr());
    llvm::append_range(inputs, op->getOperands());
    llvm::append_range(types, op->getResultTypes());
    locations.push_back(op->getLoc());
  }
  NamedAttrList attributes(last->getAttrDictionary());
  if (origins)
    attributes.set("origins", origins);
  Operation *merged = builder.create(builder.getFusedLoc(locations), last->getName().getIdentifier(), inputs, types,
                                     attributes.getAttrs());
  Operation *anchor = merged;
  for (Operation *op : ArrayRef(group.dependents).take_front(group.dependentsBeforeLast)) {
    op->moveAfter(anchor);
    anchor = op;
  }
  unsigned next = 0;
  for (CollectiveOpInterface op : group.members) {
    op->replaceAllUsesWith(merged->getResults().slice(next, op->getNumResults()));
    next += op->getNumResults();
    op->erase();
  }
}

/// Whether a collective of `bytes` makes the group too large. What is small compared with the limit never does.
static bool isTooLarge(const Group &group, int64_t bytes, int64_t limit) {
  return limit && group.bytes + bytes > limit && std::min(group.bytes, bytes) > limit / 8;
}

/// Merges what it can among the collectives with `key`. Returns how many ops
/// that makes fewer.
static unsigned combine(Block &block, const Key &key, int64_t limit, SizeDecisions &decide) {
  SmallVector<Group> groups;
  bool open = false;
  for (Operation &op : block) {
    if (isa<TransferOpInterface>(op))
      open = false;
    Group *group = open ? &groups.back() : nullptr;
    bool depends = group && llvm::any_of(op.getOperands(), [&](Value operand) {
                     return group->tainted.contains(operand.getDefiningOp());
                   });
    auto collective = isMergeable(op) ? cast<CollectiveOpInterface>(op) : CollectiveOpInterface();
    if (!collective || keyOf(collective) != key) {
      if (depends) {
        group->tainted.insert(&op);
        group->dependents.push_back(&op);
      }
      continue;
    }
    int64_t bytes = payloadOf(collective);
    bool tooLarge = group && decide(isTooLarge(*group, bytes, limit));
    if (depends || tooLarge)
      LDBG() << "not merged, " << (depends ? "it depends on the group: " : "too large together: ") << op;
    if (!group || depends || tooLarge) {
      group = &groups.emplace_back();
      open = true;
    }
    group->members.push_back(collective);
    group->dependentsBeforeLast = group->dependents.size();
    group->tainted.insert(collective);
    group->bytes += bytes;
  }
  unsigned merged = 0;
  for (const Group &group : groups)
    if (group.members.size() > 1) {
      merged += group.members.size() - 1;
      merge(group);
    }
  return merged;
}

/// Moves collectives that may be merged right after their operands, the order of transfers aside: then those that can begin early
/// come first, and are not merged with what must wait.
static void sortByReadiness(Block &block) {
  Operation *transfer = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<TransferOpInterface>(op))
      transfer = &op;
    if (!isMergeable(op))
      continue;
    Operation *bound = transfer;
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp(); producer && (!bound || bound->isBeforeInBlock(producer)))
        bound = producer;
    if (bound)
      op.moveAfter(bound);
    else
      op.moveBefore(&block, block.begin());
  }
}

namespace {
struct CombineCollectives : dgc::impl::CombineCollectivesPassBase<CombineCollectives> {
  using CombineCollectivesPassBase::CombineCollectivesPassBase;
  void runOnOperation() override {
    SizeDecisions decide(getOperation(), getArgument());
    for (auto function : getOperation().getOps<func::FuncOp>()) // its body, and loops and branches in it
      function.walk([&](Block *block) { runOnBlock(*block, links, decide); });
  }

  void runOnBlock(Block &block, const LinkModel &model, SizeDecisions &decide) {
    if (limited)
      sortByReadiness(block);
    llvm::MapVector<Key, int64_t> limits;
    for (Operation &op : block)
      if (isMergeable(op))
        limits.try_emplace(keyOf(cast<CollectiveOpInterface>(op)), limitOf(cast<CollectiveOpInterface>(op), model));
    for (auto [key, limit] : limits)
      numMerged += combine(block, key, limit, decide);
  }

  /// Parts are scattered and gathered so that not everything is whole at a time: without links they are merged as if
  /// between processes of one host.
  int64_t limitOf(CollectiveOpInterface op, const LinkModel &model) {
    int64_t limit = model.combineLimit(op.getAxes());
    if (limit == 0 && (limited || !isa<AllReduceOp>(*op)))
      limit = LinkModel::combineLimit(LinkModel::sameHost);
    if (limitBytes != 0)
      limit = limit == 0 ? int64_t(limitBytes) : std::min<int64_t>(limit, limitBytes);
    return limit;
  }
};
} // namespace
