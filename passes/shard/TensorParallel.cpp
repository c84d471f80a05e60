// dgc-strategy-tensor-parallel: dimensions of weights are cut over the axis `model`.

#include "passes/analysis/StrategyUtil.h"
#include "passes/shard/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

namespace dgc {
#define GEN_PASS_DEF_TENSORPARALLELPASS
#include "passes/shard/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

static constexpr llvm::StringLiteral kAxis = "model";
static constexpr llvm::StringLiteral kName = "tensor-parallel";

namespace {

/// One item of the list: PATTERN:DIM, or the name of a dimension.
struct Rule {
  std::string text;
  std::optional<llvm::GlobPattern> pattern;
  int64_t dim = 0;
  bool used = false;
};

struct TensorParallel : dgc::impl::TensorParallelPassBase<TensorParallel> {
  using TensorParallelPassBase::TensorParallelPassBase;

  void runOnOperation() override {
    FailureOr<MeshOp> mesh = findMeshWithAxis(getOperation(), kAxis, kName, "cuts weights by");
    if (failed(mesh))
      return signalPassFailure();
    makeRules();
    if (!*mesh)
      return markAllAnalysesPreserved();
    for (auto state : getOperation().getOps<StateOp>())
      if (state.getRole() == StateRole::Weight && failed(choose(state, *mesh)))
        return signalPassFailure();
    if (failed(checkUsed()))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      annotate(function, *mesh);
  }

  /// The rules of the option, or those for dimensions named heads and mlp. A pattern refers to the text of the option.
  void makeRules() {
    static const std::vector<WeightCuts::Cut> byDefault = {{"heads", std::nullopt}, {"mlp", std::nullopt}};
    const std::vector<WeightCuts::Cut> &cuts = cut.cuts.empty() ? byDefault : cut.cuts;
    for (const WeightCuts::Cut &each : cuts) {
      Rule rule{each.text(), std::nullopt};
      if (each.dim) {
        rule.pattern = llvm::cantFail(llvm::GlobPattern::create(each.name));
        rule.dim = *each.dim;
      }
      rules.push_back(std::move(rule));
    }
  }

  /// Finds the dimension of a weight that is to be cut.
  LogicalResult choose(StateOp state, MeshOp mesh) {
    auto names = state->getAttrOfType<ArrayAttr>(kDimsAttr);
    RankedTensorType type = state.getTensorType();
    if (names && int64_t(names.size()) != type.getRank())
      return state.emitError() << "variable '" << state.getSymName() << "' of " << type << " has " << names.size()
                               << " names of dimensions; it needs one for each, \"\" for those without";
    for (Rule &rule : rules) {
      std::optional<int64_t> dim;
      if (rule.pattern && rule.pattern->match(state.getPartName())) {
        const int64_t stacked = state.getNumStacked();
        dim = rule.dim < 0 ? rule.dim + type.getRank() : rule.dim + stacked;
        if (*dim < stacked || *dim >= type.getRank())
          return getOperation().emitError() << kName << "='" << rule.text << "': variable '" << state.getSymName()
                                            << "' of " << type << " has no dimension " << rule.dim;
      } else if (!rule.pattern && names) {
        auto it = llvm::find_if(names, [&](Attribute name) { return cast<StringAttr>(name).getValue() == rule.text; });
        if (it != names.end())
          dim = it - names.begin();
      }
      if (!dim)
        continue;
      rule.used = true;
      if (!dims.try_emplace(state, *dim).second && dims[state] != *dim)
        return getOperation().emitError() << kName << ": variable '" << state.getSymName() << "' is to be cut by "
                                          << "dimension " << dims[state] << " and by dimension " << *dim
                                          << "; one can be cut over the axis \"model\"";
    }
    return success();
  }

  /// The weights with the names of their dimensions, for messages.
  std::string listWeights() {
    std::string known;
    for (auto state : getOperation().getOps<StateOp>()) {
      if (state.getRole() != StateRole::Weight)
        continue;
      known += (known.empty() ? "" : ", ") + state.getSymName().str();
      if (auto names = state->getAttrOfType<ArrayAttr>(kDimsAttr))
        known += " (" +
                 llvm::join(llvm::map_range(names.getAsValueRange<StringAttr>(), [](StringRef n) { return n.str(); }),
                            ", ") +
                 ")";
    }
    return known.empty() ? "no weights: no output depends on a variable" : known;
  }

  /// A rule that names nothing is a mistake.
  LogicalResult checkUsed() {
    bool isAnyUsed = llvm::any_of(rules, [](const Rule &each) { return each.used; });
    if (cut.cuts.empty()) {
      if (isAnyUsed)
        return success();
      return getOperation().emitError()
             << kName << " without a list cuts the dimensions that variables name \"heads\" or \"mlp\", and none does: "
             << "say what to cut, as in " << kName << "=w1:1 (dimension 1 of the variable w1), or name dimensions with "
             << "{dims = [\"embed\", \"mlp\"]} on variables; there are " << listWeights();
    }
    for (const Rule &rule : rules) {
      if (rule.used)
        continue;
      std::string known = listWeights();
      if (rule.pattern)
        return getOperation().emitError()
               << kName << "='" << rule.text << "': no variable matches; there are " << known;
      return getOperation().emitError() << kName << "='" << rule.text
                                        << "': no variable has a dimension of that name; write PATTERN:DIM, or name "
                                           "dimensions with {dims = [\"..\", ..]} on variables; there are "
                                        << known;
    }
    return success();
  }

  /// The dimension by which a state is cut: that of the weight it belongs to.
  std::optional<int64_t> dimOf(StateOp state) {
    if (!state)
      return std::nullopt;
    if (auto it = dims.find(state); it != dims.end())
      return it->second;
    if (state.getRole() != StateRole::Slot)
      return std::nullopt;
    auto weight = getOperation().lookupSymbol<StateOp>(state.getSymName().rsplit('.').first);
    auto it = dims.find(weight);
    return weight && it != dims.end() && weight.getTensorType().getShape() == state.getTensorType().getShape()
               ? std::optional(it->second)
               : std::nullopt;
  }

  void annotate(func::FuncOp function, MeshOp mesh) {
    AxisRefAttr axis = axisBy(&getContext(), kAxis, kName);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (std::optional<int64_t> dim = dimOf(stateOfArgument(function, i));
          dim && !function.getArgAttr(i, kShardingAttr))
        function.setArgAttr(
            i, kShardingAttr,
            cutAlong(mesh, axis, cast<RankedTensorType>(function.getArgumentTypes()[i]).getRank(), dim));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (std::optional<int64_t> dim = dimOf(stateOfResult(function, i));
          dim && !function.getResultAttr(i, kShardingAttr))
        function.setResultAttr(
            i, kShardingAttr,
            cutAlong(mesh, axis, cast<RankedTensorType>(function.getResultTypes()[i]).getRank(), dim));
  }

  SmallVector<Rule> rules;
  DenseMap<Operation *, int64_t> dims; // of weights
};
} // namespace
