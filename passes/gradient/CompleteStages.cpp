// dgc-complete-stages: gives every op and variable its stage.

#include "dialects/dgc/AttributeNames.h"
#include "passes/gradient/Passes.h"
#include "passes/place/Stages.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace dgc {
#define GEN_PASS_DEF_COMPLETESTAGESPASS
#include "passes/gradient/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// States and the stages that hold them.
using Owners = llvm::DenseMap<Attribute, int64_t>;

namespace {
class Completion {
public:
  Completion(func::FuncOp function, Owners &owners)
      : function(function), owners(owners), uniform(function), body(function.getBody().front()),
        ops(opsOnStages(function)) {}

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
    return !stageOf(op) && !uniform.contains(op) && !op->hasTrait<OpTrait::IsTerminator>() && !isAcrossStages(op);
  }

  static int64_t elementsOf(TypeRange types) {
    int64_t count = 0;
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        count += tensor.getNumElements();
    return count;
  }

  /// Whether an op gives more than it takes and computes nothing: its operands are cheaper to send than its results.
  static bool expands(Operation *op) {
    auto cost = dyn_cast<CostOpInterface>(op);
    bool computes = !isa<CollectiveOpInterface>(op) && (!cost || cost.getCost().flops != 0);
    return !computes && op->getNumOperands() > 0 &&
           elementsOf(op->getResultTypes()) > elementsOf(op->getOperandTypes());
  }

  /// A gather, which is done once; what else expands is done by each stage that needs it.
  static bool isGather(Operation *op) { return isa<CollectiveOpInterface>(op) && expands(op); }

  static bool reduces(Operation *op) {
    auto rule = dyn_cast<ShardingRuleOpInterface>(op);
    return rule && llvm::any_of(rule.getShardingRule().factors,
                                [](const Factor &factor) { return factor.kind == FactorKind::Reduction; });
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
      forEachUser(work.pop_back_val(), [&](Operation *user) {
        if (std::optional<int64_t> stage = stageOf(user))
          lowest = std::min(lowest.value_or(*stage), *stage);
        else if (seen.insert(user).second)
          llvm::append_range(work, user->getResults());
      });
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

  /// The stages whose states depend on open ops; -1: several.
  using Claims = llvm::MapVector<Operation *, int64_t>;

  /// The open ops that the new values of states depend on. Gradients are combined where they are computed, before they
  /// go to the variable, so collectives end the search; a gather comes after the update. With `elementwise` the search
  /// ends at reductions as well, and at numbers that scale a tensor: what precedes them belongs to several variables.
  Claims findClaims(bool elementwise) {
    Claims claims;
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
      FlatSymbolRefAttr state = resultState(function, i);
      auto owner = state ? owners.find(state) : owners.end();
      if (owner == owners.end())
        continue;
      SmallVector<Value> work{value};
      llvm::DenseSet<Operation *> seen;
      while (!work.empty()) {
        Operation *op = work.pop_back_val().getDefiningOp();
        if (!op || !isOpen(op) || (isa<CollectiveOpInterface>(op) && !isGather(op)) || (elementwise && reduces(op)) ||
            !seen.insert(op).second)
          continue;
        auto [claim, isNew] = claims.try_emplace(op, owner->second);
        if (claim->second != owner->second)
          claim->second = -1;
        bool isTensor = elementsOf(op->getResultTypes()) > 1;
        for (Value operand : op->getOperands())
          if (!elementwise || !isTensor || elementsOf(operand.getType()) > 1)
            work.push_back(operand);
      }
    }
    return claims;
  }

  /// What computes the new value of a state, and nothing else says where, is where the state is. An op that one state
  /// needs element by element, and others as part of a sum (a gradient, and its share of a norm), is with the one.
  void claimUpdates() {
    Claims elementwise = findClaims(/*elementwise=*/true);
    for (auto [op, stage] : findClaims(/*elementwise=*/false)) {
      auto closer = elementwise.find(op);
      int64_t chosen = closer != elementwise.end() && closer->second >= 0 ? closer->second : stage;
      if (chosen >= 0)
        setStage(op, chosen);
    }
  }

  /// States that only updates read, and those that are only written.
  void ownRest() {
    ownRead();
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      if (Operation *op = value.getDefiningOp())
        own(resultState(function, i), stageOf(op));
  }

  std::optional<int64_t> stageOfValue(Value value) const {
    if (SmallVector<Value, 2> sources = sourcesOf(value); !sources.empty())
      return stageOfLoopValue(value);
    if (Operation *op = value.getDefiningOp())
      return stageOf(op);
    unsigned index = cast<BlockArgument>(value).getArgNumber();
    auto owner = owners.find(argumentState(function, index));
    return owner == owners.end() ? std::nullopt : std::optional(owner->second);
  }

  /// What a loop hands on is where its last round computes it; else where it comes from.
  std::optional<int64_t> stageOfLoopValue(Value value) const {
    llvm::DenseSet<Value> seen;
    while (seen.insert(value).second) {
      SmallVector<Value, 2> sources = sourcesOf(value);
      if (sources.empty())
        return stageOfValue(value);
      Value next = sources.back();
      if (Operation *op = next.getDefiningOp(); op && !isAcrossStages(op) && !stageOf(op) && sources.size() > 1)
        next = sources.front();
      value = next;
    }
    return std::nullopt;
  }

  void followOperands() {
    for (Operation *each : ops) {
      Operation &op = *each;
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
    for (Operation *each : llvm::reverse(ops)) {
      Operation &op = *each;
      if (!isOpen(&op))
        continue;
      llvm::SetVector<int64_t> stages;
      for (Value result : op.getResults())
        forEachUser(result, [&](Operation *user) {
          if (std::optional<int64_t> stage = stageOf(user))
            stages.insert(*stage);
        });
      int64_t lowest = stages.empty() ? 0 : *llvm::min_element(stages);
      setStage(&op, lowest);
      if (expands(&op) && !isGather(&op))
        for (int64_t stage : stages)
          if (stage != lowest)
            copyTo(&op, stage);
    }
  }

  /// Gives the users on a stage a copy of an op there.
  static void copyTo(Operation *op, int64_t stage) {
    OpBuilder builder(op);
    Operation *copy = builder.clone(*op);
    setStage(copy, stage);
    for (auto [result, copied] : llvm::zip_equal(op->getResults(), copy->getResults()))
      result.replaceUsesWithIf(copied, [&](OpOperand &use) { return stageOf(use.getOwner()) == stage; });
  }

  /// Writes the stages of arguments and results, and takes them from what is computed on all workers.
  void finish() {
    Builder builder(function.getContext());
    for (Operation *op : ops)
      if (uniform.contains(op))
        op->removeDiscardableAttr(kStageAttr);
    for (BlockArgument argument : function.getArguments())
      if (FlatSymbolRefAttr state = argumentState(function, argument.getArgNumber()))
        function.setArgAttr(argument.getArgNumber(), kStageAttr,
                            builder.getI64IntegerAttr(owners.try_emplace(state, 0).first->second));
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
      FlatSymbolRefAttr state = resultState(function, i);
      auto role = function.getResultAttrOfType<StringAttr>(i, kRoleAttr);
      bool reported = role && (role == "loss" || role == "metric");
      int64_t stage = state      ? owners.try_emplace(state, 0).first->second
                      : reported ? 0
                                 : stageOfValue(value).value_or(0);
      function.setResultAttr(i, kStageAttr, builder.getI64IntegerAttr(stage));
    }
  }

  func::FuncOp function;
  Owners &owners;
  UniformValues uniform;
  Block &body;
  SmallVector<Operation *> ops; // those in loops as well
};

struct CompleteStages : dgc::impl::CompleteStagesPassBase<CompleteStages> {
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
