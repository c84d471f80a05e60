// dgc-verify-shard: checks that every op can run on local shapes.

#include "dialects/dgc/AttributeNames.h"
#include "passes/analysis/Layout.h"
#include "passes/shard/Passes.h"

#include "mlir/IR/Verifier.h"

namespace dgc {
#define GEN_PASS_DEF_VERIFYSHARDPASS
#include "passes/shard/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {
class Verifier {
public:
  Verifier(ModuleOp module, const MeshRef &mesh, bool padding) : module(module), mesh(mesh), padding(padding) {}

  LogicalResult run() {
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(checkFunction(function)))
        return failure();
    return success();
  }

private:
  LogicalResult checkFunction(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (failed(checkEnd(function, "argument", i, function.getArgumentTypes()[i], function.getArgAttrDict(i))))
        return failure();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (failed(checkEnd(function, "result", i, function.getResultTypes()[i], function.getResultAttrDict(i))))
        return failure();
    if (function.isExternal())
      return success();
    for (Operation &op : function.getBody().front())
      if (failed(checkOp(&op)))
        return failure();
    return success();
  }

  /// An error on an argument or result, where it comes from, by the name that it has in the model.
  static InFlightDiagnostic errorAt(func::FuncOp function, StringRef what, unsigned i, DictionaryAttr attributes) {
    bool isArgument = what == "argument" && !function.isExternal();
    auto error = emitError(isArgument ? function.getArgument(i).getLoc() : function.getLoc());
    if (auto input = attributes.getAs<StringAttr>(kInputAttr))
      error << "input \"" << input.getValue() << "\" of @" << function.getSymName() << ": ";
    else if (auto output = attributes.getAs<StringAttr>(kOutputAttr))
      error << "output \"" << output.getValue() << "\" of @" << function.getSymName() << ": ";
    else if (auto state = attributes.getAs<FlatSymbolRefAttr>(kStateAttr))
      error << "variable \"" << state.getValue() << "\": ";
    else
      error << what << " " << i << " of @" << function.getSymName() << ": ";
    return error;
  }

  /// An argument or result of a function.
  LogicalResult checkEnd(func::FuncOp function, StringRef what, unsigned i, Type type, DictionaryAttr attributes) {
    auto sharding = attributes ? attributes.getAs<ShardingAttr>(kShardingAttr) : ShardingAttr();
    if (!sharding)
      return success();
    auto emitError = [&] { return function.emitOpError() << what << " " << i << ": "; };
    if (!sharding.getUnreduced().empty())
      return emitError() << "is partial; arguments and results of functions are whole or cut";
    if (failed(checkPadding(cast<RankedTensorType>(type), sharding,
                            [&] { return errorAt(function, what, i, attributes); })))
      return failure();
    auto state = attributes.getAs<FlatSymbolRefAttr>(kStateAttr);
    if (!state)
      return success();
    auto [it, isNew] = states.try_emplace(state.getAttr(), sharding);
    if (!isNew && !it->second.hasSameLayout(sharding))
      return emitError() << "the variable " << state << " is spread as " << sharding.describe() << " here and as "
                         << it->second.describe() << " elsewhere";
    return success();
  }

  /// Under --no-padding a dimension has equal parts or is refused.
  LogicalResult checkPadding(RankedTensorType type, ShardingAttr sharding,
                             llvm::function_ref<InFlightDiagnostic()> emitError) {
    if (padding)
      return success();
    return sharding.verifyEqualParts(type.getShape(), mesh.mesh, emitError,
                                     "make one a multiple of the other, or leave out --no-padding");
  }

  LogicalResult checkOp(Operation *op) {
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      auto emitError = [&, i = i] { return op->emitOpError() << "result " << i << ": "; };
      if (type && failed(checkPadding(type, declaredSharding(result, mesh), emitError)))
        return failure();
    }
    if (isa<ReshardOp>(op))
      return success();
    if (isa<func::ReturnOp>(op))
      return checkReturn(op);
    if (auto constraint = dyn_cast<ConstraintOp>(op))
      return checkConstraint(constraint);
    if (auto manual = dyn_cast<ManualOp>(op)) {
      for (auto [i, sharding] : llvm::enumerate(manual.getInShardings()))
        if (failed(checkSpread(op, i, cast<ShardingAttr>(sharding))))
          return failure();
      return success();
    }
    if (auto regions = dyn_cast<RegionTiesOpInterface>(op))
      return checkRegions(regions);
    auto rule = dyn_cast<ShardingRuleOpInterface>(op);
    if (!rule) {
      for (auto [i, operand] : llvm::enumerate(op->getOperands()))
        if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
          if (failed(checkSpread(op, i, ShardingAttr::getWhole(mesh.name, type.getRank()))))
            return failure();
      return success();
    }
    if (op->getNumResults() == 0)
      return success();
    return checkRule(op, rule.getShardingRule());
  }

  /// What is inside of a loop or branch is spread as what is outside, in every round; what decides is whole.
  LogicalResult checkRegions(RegionTiesOpInterface op) {
    const RegionTies ties = op.getRegionTies();
    if (!llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>))
      return success();
    auto check = [&](ShardingAttr outside, ShardingAttr inside, const llvm::Twine &what) -> LogicalResult {
      if (outside.hasSameLayout(inside))
        return success();
      return op->emitOpError() << what << " is spread as " << outside.describe() << ", and in the region as "
                               << inside.describe() << "; dgc-insert-reshards puts a reshard in between";
    };
    auto spread = [&](Value value) { return declaredSharding(value, mesh); };
    auto named = [](int64_t operand) {
      return operand < 0 ? std::string("a result") : "operand " + std::to_string(operand);
    };
    for (const RegionTies::Same &each : ties.same)
      if (failed(check(spread(each.outside), spread(each.inside), named(each.operand))))
        return failure();
    for (const RegionTies::Sliced &each : ties.sliced) {
      DimAxes dims = mesh.dimsOf(spread(each.whole));
      if (!dims[each.dim].empty())
        return op->emitOpError() << named(each.operand) << " is cut along dimension " << each.dim
                                 << ", of which each round has a slice";
      dims.erase(dims.begin() + each.dim);
      if (failed(check(mesh.shardingOf(dims), spread(each.slice), named(each.operand))))
        return failure();
    }
    for (const RegionTies::Carried &each : ties.carried) {
      ShardingAttr result = spread(each.result), first = spread(each.first);
      SmallVector<Value> others(each.inside.begin(), each.inside.end());
      others.push_back(each.next);
      for (Value other : others)
        if (failed(check(result, spread(other), "what is carried of " + named(each.operand))))
          return failure();
      if (isZeros(each.first)) // which are the addends of zeros
        result = mesh.shardingOf(mesh.dimsOf(result));
      if (failed(check(first, result, named(each.operand))))
        return failure();
    }
    for (Region &region : op->getRegions())
      for (Operation &inner : region.front().without_terminator())
        if (failed(checkOp(&inner)))
          return failure();
    for (Value decider : ties.deciders)
      if (!spread(decider).isWhole())
        return op->emitOpError() << "is decided by what is spread as " << spread(decider).describe()
                                 << ": every device decides for itself, so it must be whole";
    return success();
  }

  LogicalResult checkReturn(Operation *op) {
    auto function = op->getParentOfType<func::FuncOp>();
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (auto type = dyn_cast<RankedTensorType>(operand.getType())) {
        auto sharding = function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr);
        if (!sharding)
          sharding = ShardingAttr::getWhole(mesh.name, type.getRank());
        if (failed(checkSpread(op, i, sharding)))
          return failure();
      }
    return success();
  }

  /// Closed dimensions are as the constraint says, open ones begin so.
  LogicalResult checkConstraint(ConstraintOp op) {
    ShardingAttr spread = declaredSharding(op.getResult(), mesh), wanted = op.getSharding();
    for (auto [dim, has, wants] : llvm::zip_equal(wanted.getDims(), mesh.dimsOf(spread), mesh.dimsOf(wanted)))
      if (dim.getOpen() ? !startsWith(has, wants) : has != wants)
        return op.emitOpError() << "asks for " << wanted.describe() << ", and its value is spread as "
                                << spread.describe();
    return checkSpread(op, 0, spread);
  }

  LogicalResult checkSpread(Operation *op, unsigned operand, ShardingAttr wanted) {
    ShardingAttr sharding = declaredSharding(op->getOperand(operand), mesh);
    if (sharding.hasSameLayout(wanted))
      return success();
    return op->emitOpError() << "operand " << operand << " is spread as " << sharding.describe() << ", but must be "
                             << wanted.describe() << "; dgc-insert-reshards puts a reshard in between";
  }

  LogicalResult checkRule(Operation *op, const ShardingRule &rule) {
    SmallVector<std::optional<AxisList>> factors(rule.factors.size());
    unsigned numOperands = op->getNumOperands();
    for (unsigned i = 0; i < numOperands + op->getNumResults(); ++i) {
      bool isResult = i >= numOperands;
      Value value = isResult ? Value(op->getResult(i - numOperands)) : op->getOperand(i);
      DimAxes dims = mesh.dimsOf(declaredSharding(value, mesh));
      const auto &shape = isResult ? rule.results[i - numOperands] : rule.operands[i];
      std::string what = (isResult ? "result " : "operand ") + std::to_string(isResult ? i - numOperands : i);
      std::optional<unsigned> differs, forbidden;
      LogicalResult exact =
          factorsFromDims(shape, rule.factors, dims, mesh, [&](unsigned factor, ArrayRef<AxisUse> axes) {
            if (!factors[factor])
              factors[factor] = AxisList(axes);
            if (ArrayRef<AxisUse>(*factors[factor]) != axes)
              differs = factor;
            FactorKind kind = rule.factors[factor].kind;
            if (!axes.empty() && kind == FactorKind::NeedReplication)
              forbidden = factor;
          });
      if (differs || failed(exact))
        return op->emitOpError() << what
                                 << " is not cut as the op's other values are; dgc-insert-reshards puts a "
                                    "reshard in between";
      if (forbidden)
        return op->emitOpError() << what << " is cut in a dimension that the op needs whole";
    }
    return checkPartial(op, rule, factors);
  }

  LogicalResult checkPartial(Operation *op, const ShardingRule &rule, ArrayRef<std::optional<AxisList>> factors) {
    uint64_t expected = 0, cut = 0;
    std::optional<Reduction> kind;
    Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
    for (auto [factor, axes] : llvm::zip_equal(rule.factors, factors))
      for (AxisUse use : axes.value_or(AxisList())) {
        cut |= uint64_t(1) << use.axis;
        if (factor.kind != FactorKind::Reduction)
          continue;
        expected |= uint64_t(1) << use.axis;
        kind = partialKind(factor.reduction, element);
        if (!kind)
          return op->emitOpError("reduces over a cut dimension in a way that devices cannot combine");
      }
    SmallVector<unsigned> partial;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      ShardingAttr sharding = declaredSharding(operand, mesh);
      if (sharding.getUnreduced().empty())
        continue;
      partial.push_back(i);
      uint64_t axes = maskOf(sharding);
      if (sharding.getKind() != Reduction::Sum || (kind && *kind != Reduction::Sum) || (axes & cut) ||
          (partial.size() > 1 && axes != maskOf(declaredSharding(op->getOperand(partial[0]), mesh))))
        return op->emitOpError() << "operand " << i << " is partial in a way that the op cannot take";
      expected |= axes;
    }
    for (auto [factor, axes] : llvm::zip_equal(rule.factors, factors))
      if (!partial.empty() && factor.moves && !axes.value_or(AxisList()).empty())
        return op->emitOpError() << "operand " << partial[0] << " is partial, and elements move between its parts";
    if (!partial.empty() && !isLinearIn(op, partial))
      return op->emitOpError() << "operand " << partial[0] << " is partial, and the op is not linear in it";
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      ShardingAttr sharding = declaredSharding(result, mesh);
      uint64_t here = expected;
      for (const AxisList &axes : mesh.dimsOf(sharding))
        for (AxisUse use : axes)
          here &= ~(uint64_t(1) << use.axis); // a result of a loop that has the dimension
      if (maskOf(sharding) != here || (here && sharding.getKind() != kind.value_or(Reduction::Sum)))
        return op->emitOpError() << "result " << i << " is spread as " << sharding.describe()
                                 << ", which is not what the op gives along the axes of its reductions";
    }
    return success();
  }

  uint64_t maskOf(ShardingAttr sharding) {
    uint64_t mask = 0;
    for (AxisUse use : mesh.axesOf(sharding.getUnreduced()))
      mask |= uint64_t(1) << use.axis;
    return mask;
  }

  ModuleOp module;
  const MeshRef &mesh;
  bool padding;
  DenseMap<StringAttr, ShardingAttr> states;
};

struct VerifyShard : dgc::impl::VerifyShardPassBase<VerifyShard> {
  using VerifyShardPassBase::VerifyShardPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(mlir::verify(getOperation())))
      return signalPassFailure();
    FailureOr<MeshRef> mesh = findMesh(getOperation());
    if (failed(mesh) || (*mesh && failed(Verifier(getOperation(), *mesh, !noPadding).run())))
      signalPassFailure();
  }
};
} // namespace
