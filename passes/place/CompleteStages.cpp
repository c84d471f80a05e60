// dgc-complete-stages: gives every op and variable its stage.

#include "passes/place/Passes.h"
#include "passes/place/Stages.h"

namespace dgc {
#define GEN_PASS_DEF_COMPLETESTAGESPASS
#include "passes/place/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace mlir::dist;
using namespace ::dgc;

/// States and the stages that hold them.
using Owners = llvm::DenseMap<Attribute, int64_t>;

namespace {
class Completion {
public:
  Completion(func::FuncOp function, Owners &owners)
      : function(function), owners(owners), anywhere(function), body(function.getBody().front()) {}

  void run() {
    ownRead();
    claimUpdates();
    ownRest();
    claimUpdates(); // of the states that have an owner since
    followOperands();
    followUsers();
    finish();
  }

private:
  bool isOpen(Operation *op) const {
    return !stageOf(op) && !anywhere.contains(op) && !op->hasTrait<OpTrait::IsTerminator>();
  }

  /// Whether an op gives more than it takes: a gather. It is better done where its result is needed.
  static bool expands(Operation *op) {
    auto elements = [](TypeRange types) {
      int64_t count = 0;
      for (Type type : types)
        if (auto tensor = dyn_cast<RankedTensorType>(type))
          count += tensor.getNumElements();
      return count;
    };
    return isa<CollectiveOpInterface>(op) && elements(op->getResultTypes()) > elements(op->getOperandTypes());
  }

  void own(FlatSymbolRefAttr state, std::optional<int64_t> stage) {
    if (state && stage)
      owners.try_emplace(state, *stage);
  }

  /// The lowest stage of the ops that read a value, looking through those that have none.
  std::optional<int64_t> lowestReader(Value value) const {
    std::optional<int64_t> lowest;
    SmallVector<Value> work{value};
    llvm::DenseSet<Operation *> seen;
    while (!work.empty())
      for (Operation *user : work.pop_back_val().getUsers()) {
        if (std::optional<int64_t> stage = stageOf(user))
          lowest = std::min(lowest.value_or(*stage), *stage);
        else if (seen.insert(user).second)
          llvm::append_range(work, user->getResults());
      }
    return lowest;
  }

  /// States that ops with a stage read.
  void ownRead() {
    for (BlockArgument argument : function.getArguments())
      if (FlatSymbolRefAttr state = argumentState(function, argument.getArgNumber())) {
        own(state, argumentStage(function, argument.getArgNumber()));
        own(state, lowestReader(argument));
      }
  }

  /// What computes the new value of a state, and nothing else says where, is where the state is.
  void claimUpdates() {
    llvm::DenseMap<Operation *, int64_t> claims; // -1: of several
    SmallVector<Operation *> order;
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
      FlatSymbolRefAttr state = resultState(function, i);
      auto owner = state ? owners.find(state) : owners.end();
      if (owner == owners.end())
        continue;
      SmallVector<Value> work{value};
      llvm::DenseSet<Operation *> seen;
      while (!work.empty()) {
        Operation *op = work.pop_back_val().getDefiningOp();
        // Gradients are combined where they are computed, before they go to the variable.
        if (!op || !isOpen(op) || isa<CollectiveOpInterface>(op) || !seen.insert(op).second)
          continue;
        auto [claim, isNew] = claims.try_emplace(op, owner->second);
        if (isNew)
          order.push_back(op);
        else if (claim->second != owner->second)
          claim->second = -1;
        llvm::append_range(work, op->getOperands());
      }
    }
    for (Operation *op : order)
      if (claims.lookup(op) >= 0)
        setStage(op, claims.lookup(op));
  }

  /// States that only updates read, and those that are only written.
  void ownRest() {
    ownRead();
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      if (Operation *op = value.getDefiningOp())
        own(resultState(function, i), stageOf(op));
  }

  std::optional<int64_t> stageOfValue(Value value) const {
    if (Operation *op = value.getDefiningOp())
      return stageOf(op);
    unsigned index = cast<BlockArgument>(value).getArgNumber();
    auto owner = owners.find(argumentState(function, index));
    return owner == owners.end() ? std::nullopt : std::optional(owner->second);
  }

  void followOperands() {
    for (Operation &op : body) {
      if (!isOpen(&op) || expands(&op))
        continue;
      std::optional<int64_t> stage;
      for (Value operand : op.getOperands())
        if (std::optional<int64_t> other = stageOfValue(operand))
          stage = std::max(stage.value_or(0), *other);
      if (stage)
        setStage(&op, *stage);
    }
  }

  void followUsers() {
    for (Operation &op : llvm::reverse(body)) {
      if (!isOpen(&op))
        continue;
      std::optional<int64_t> stage;
      for (Operation *user : op.getUsers())
        if (std::optional<int64_t> other = stageOf(user))
          stage = std::min(stage.value_or(*other), *other);
      setStage(&op, stage.value_or(0));
    }
  }

  /// Writes the stages of arguments and results, and takes them from what is computed anywhere.
  void finish() {
    Builder builder(function.getContext());
    for (Operation &op : body)
      if (anywhere.contains(&op))
        op.removeDiscardableAttr(kStageAttr);
    for (BlockArgument argument : function.getArguments())
      if (FlatSymbolRefAttr state = argumentState(function, argument.getArgNumber()))
        function.setArgAttr(argument.getArgNumber(), kStageAttr,
                            builder.getI64IntegerAttr(owners.try_emplace(state, 0).first->second));
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
      FlatSymbolRefAttr state = resultState(function, i);
      auto role = function.getResultAttrOfType<StringAttr>(i, "dgc.role");
      bool reported = role && (role == "loss" || role == "metric");
      int64_t stage = state      ? owners.try_emplace(state, 0).first->second
                      : reported ? 0
                                 : stageOfValue(value).value_or(0);
      function.setResultAttr(i, kStageAttr, builder.getI64IntegerAttr(stage));
    }
  }

  func::FuncOp function;
  Owners &owners;
  Ubiquitous anywhere;
  Block &body;
};

struct CompleteStages : ::dgc::impl::CompleteStagesPassBase<CompleteStages> {
  void runOnOperation() override {
    bool found = false;
    getOperation().walk([&](Operation *op) { found |= stageOf(op).has_value(); });
    if (!found)
      return markAllAnalysesPreserved();
    Owners owners;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Completion(function, owners).run();
  }
};
} // namespace
