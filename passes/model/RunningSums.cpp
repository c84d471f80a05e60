// Replaces running sums by variables.

#include "passes/model/RunningSums.h"
#include "dialects/dgc/TensorBuilder.h"
#include "passes/model/ModelParts.h"

using namespace mlir;
using namespace dgc;

/// The running sums that a member of the model depends on.
static SmallVector<RunningSumOp> runningSumsOf(Operation *member) {
  SmallVector<RunningSumOp> sums;
  for (Operation *op : dependences(llvm::to_vector(member->getOperands())))
    if (auto sum = dyn_cast_or_null<RunningSumOp>(op))
      sums.push_back(sum);
  return sums;
}

/// Reports what depends on a running sum in another entry point than evaluate.
static LogicalResult checkMember(Operation *member) {
  SmallVector<RunningSumOp> sums = runningSumsOf(member);
  if (sums.empty())
    return success();
  InFlightDiagnostic error = member->emitOpError() << "depends on the running sum \"" << sums.front().getName()
                                                   << "\", which only evaluate has: let a dgc.metric report the value, "
                                                      "or take the sum over one batch, the operand of "
                                                      "dgc.running_sum";
  error.attachNote(sums.front().getLoc()) << "the running sum is here";
  return error;
}

/// Reports a metric of a running sum that would be a function of a mean, a quotient of sums, or of the single examples.
static LogicalResult checkMetric(MetricOp metric, RunningSumOp sum) {
  if (!metric.getExp() && !metric.getSqrt() && !metric.getSecond())
    return success();
  InFlightDiagnostic error = metric.emitOpError() << "depends on the running sum \"" << sum.getName() << "\", ";
  if (metric.getAreaUnderCurve())
    error << "and the area is that of the logits and labels of single examples: take those of the batch, or "
             "dgc.area_under_curve of sums";
  else
    error << "so that its last value is reported, and not a mean or a quotient over all batches: write "
             "dgc.exponential, dgc.sqrt or dgc.divide instead of 'exp', 'sqrt' or 'over'";
  error.attachNote(sum.getLoc()) << "the running sum is here";
  return error;
}

/// The value of the running sum, from a variable in front of it.
static std::pair<VariableOp, Value> makeVariable(RunningSumOp sum) {
  OpBuilder builder(sum);
  auto type = cast<RankedTensorType>(sum.getResult().getType());
  auto variable = VariableOp::create(builder, sum.getLoc(), type, sum.getName(),
                                     InitAttr::get(builder.getContext(), InitKind::Zeros), /*frozen=*/false, type);
  Value value = TensorBuilder(builder, sum.getLoc()).add(variable.getResult(), sum.getValue());
  // Placement and the like are those of the op that computes.
  value.getDefiningOp()->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
  return {variable, value};
}

FailureOr<RunningSums> dgc::replaceRunningSums(ModelOp model) {
  RunningSums result;
  llvm::DenseSet<Operation *> reported;
  for (Operation &op : model.getBody().getOps()) {
    if (isa<LossOp, OutputOp, AssignOp>(op) && failed(checkMember(&op)))
      return failure();
    auto metric = dyn_cast<MetricOp>(op);
    if (!metric)
      continue;
    SmallVector<RunningSumOp> sums = runningSumsOf(metric);
    if (sums.empty())
      continue;
    if (failed(checkMetric(metric, sums.front())))
      return failure();
    result.metrics.insert(metric);
    reported.insert(sums.begin(), sums.end());
  }
  for (RunningSumOp sum : llvm::make_early_inc_range(model.getBody().front().getOps<RunningSumOp>())) {
    if (!reported.contains(sum))
      return sum.emitOpError("is used by no dgc.metric: report what depends on it, or remove it");
    auto [variable, value] = makeVariable(sum);
    sum.getResult().replaceAllUsesWith(value);
    sum.erase();
    result.valueOf[variable] = value;
  }
  return result;
}
