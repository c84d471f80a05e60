// dgc-combine-collectives: merges all-reduces that can happen together.

#include "passes/communication/LinkModel.h"
#include "passes/communication/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-combine-collectives"

namespace dgc {
#define GEN_PASS_DEF_COMBINECOLLECTIVESPASS
#include "passes/communication/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace mlir::dist;
using ::dgc::LinkModel;

namespace {
/// What two all-reduces must have in common to be merged.
using Key = std::tuple<Reduction, Attribute, Attribute, Type>;

/// All-reduces to be merged in the place of the last, and the ops behind the
/// first that depend on one of them, in order.
struct Group {
  SmallVector<AllReduceOp> members;
  SmallVector<Operation *> dependents;
  size_t dependentsBeforeLast = 0;     // of these, how many stand before the last member
  llvm::DenseSet<Operation *> tainted; // members and dependents
  int64_t bytes = 0;
};
} // namespace

static Key keyOf(AllReduceOp op) {
  Type element = cast<RankedTensorType>(op.getInputs()[0].getType()).getElementType();
  return {op.getKind(), op.getMeshAttr(), op.getAxesAttr(), element};
}

static int64_t bytesOf(AllReduceOp op) {
  int64_t bytes = 0;
  for (Value input : op.getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    bytes += type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  }
  return bytes;
}

/// "a; b", each once.
static std::string joinOrigins(ArrayRef<AllReduceOp> members) {
  SmallVector<StringRef> origins;
  for (AllReduceOp op : members)
    if (std::optional<StringRef> origin = op.getOrigin(); origin && !llvm::is_contained(origins, *origin))
      origins.push_back(*origin);
  return llvm::join(origins, " | ");
}

/// Replaces the members by one op and moves the dependents that stand before it
/// behind it.
static void merge(const Group &group) {
  AllReduceOp last = group.members.back();
  OpBuilder builder(last);
  SmallVector<Value> inputs;
  SmallVector<Location> locations;
  for (AllReduceOp op : group.members) {
    llvm::append_range(inputs, op.getInputs());
    locations.push_back(op.getLoc());
  }
  std::string origin = joinOrigins(group.members);
  auto merged =
      AllReduceOp::create(builder, builder.getFusedLoc(locations), last.getKindAttr(), inputs, last.getMeshAttr(),
                          last.getAxesAttr(), origin.empty() ? StringAttr() : builder.getStringAttr(origin));
  Operation *anchor = merged;
  for (Operation *op : ArrayRef(group.dependents).take_front(group.dependentsBeforeLast)) {
    op->moveAfter(anchor);
    anchor = op;
  }
  unsigned next = 0;
  for (AllReduceOp op : group.members) {
    op->replaceAllUsesWith(merged.getResults().slice(next, op->getNumResults()));
    next += op->getNumResults();
    op->erase();
  }
}

/// Merges what it can among the all-reduces with `key`. Returns how many ops
/// that makes fewer.
static unsigned combine(Block &block, const Key &key, int64_t limit) {
  SmallVector<Group> groups;
  bool open = false;
  for (Operation &op : block) {
    if (isa<TransferOpInterface>(op))
      open = false;
    Group *group = open ? &groups.back() : nullptr;
    bool depends = group && llvm::any_of(op.getOperands(), [&](Value operand) {
                     return group->tainted.contains(operand.getDefiningOp());
                   });
    auto reduce = dyn_cast<AllReduceOp>(op);
    if (!reduce || keyOf(reduce) != key) {
      if (depends) {
        group->tainted.insert(&op);
        group->dependents.push_back(&op);
      }
      continue;
    }
    int64_t bytes = bytesOf(reduce);
    bool tooLarge = group && limit && group->bytes + bytes > limit;
    if (depends || tooLarge)
      LDBG() << "not merged, " << (depends ? "it depends on the group: " : "too large together: ") << op;
    if (!group || depends || tooLarge) {
      group = &groups.emplace_back();
      open = true;
    }
    group->members.push_back(reduce);
    group->dependentsBeforeLast = group->dependents.size();
    group->tainted.insert(reduce);
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

namespace {
struct CombineCollectives : ::dgc::impl::CombineCollectivesPassBase<CombineCollectives> {
  using CombineCollectivesPassBase::CombineCollectivesPassBase;
  void runOnOperation() override {
    FailureOr<LinkModel> model = LinkModel::parse(links, [&] { return getOperation().emitError("--links: "); });
    if (failed(model))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      for (Block &block : function.getBody()) {
        SmallVector<Key> keys;
        for (auto op : block.getOps<AllReduceOp>())
          if (!llvm::is_contained(keys, keyOf(op)))
            keys.push_back(keyOf(op));
        for (const Key &key : keys) {
          int64_t limit = model->combineLimit(cast<ArrayAttr>(std::get<2>(key)));
          if (limitBytes != 0)
            limit = limit == 0 ? int64_t(limitBytes) : std::min<int64_t>(limit, limitBytes);
          numMerged += combine(block, key, limit);
        }
      }
    }
  }
};
} // namespace
