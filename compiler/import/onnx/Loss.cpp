// Losses of ONNX.

#include "compiler/import/onnx/Node.h"

using namespace mlir;

namespace dgc::import {
namespace {

/// The loss of each example, [n, d1, ..], from log probabilities [n, classes, d1, ..], with weights of classes (input 2 may be
/// absent) and an index that is left out; and their mean or sum, as `reduction` says.
FailureOr<Value> lossOf(Node &n, Value logs, Value labels) {
  SmallVector<int64_t> shape(tensorOf(logs).getShape()), dims{0};
  if (shape.size() < 2 || tensorOf(labels).getRank() != static_cast<int64_t>(shape.size()) - 1)
    return n.refuse("its labels do not fit its operand");
  for (int64_t dim = 2; dim < static_cast<int64_t>(shape.size()); ++dim)
    dims.push_back(dim);
  Value classes =
      IotaOp::create(n.b.builder, n.b.location, RankedTensorType::get(shape, elementOf(labels)), 1, Value());
  Value is = n.b.equal(n.b.broadcast(labels, shape, dims), classes);
  if (n.hasAttribute("ignore_index")) {
    Value left = n.splat(static_cast<double>(n.integer("ignore_index", 0)), labels);
    Value counts = n.b.compare(ComparisonDirection::NE, labels, left);
    is = AndOp::create(n.b.builder, n.b.location, is, n.b.broadcast(counts, shape, dims));
  }
  Value zero = n.splat(0, logs), one = n.splat(1, logs);
  Value weights = n.b.select(is, n.has(2) ? n.b.broadcast(n.in(2), shape, {1}) : one, zero);
  Value each = n.b.negate(n.b.reduce(ReductionKind::Sum, n.b.multiply(weights, n.b.select(is, logs, zero)), {1}));
  StringRef reduction = n.text("reduction", "mean");
  if (reduction == "none")
    return each;
  SmallVector<int64_t> all = firstNumbers(tensorOf(each).getRank());
  Value sum = n.b.reduce(ReductionKind::Sum, each, all);
  if (reduction == "sum")
    return sum;
  return n.b.divide(sum, n.b.reduce(ReductionKind::Sum, weights, firstNumbers(static_cast<int64_t>(shape.size()))));
}

LogicalResult negativeLogLikelihood(Node &n) {
  FailureOr<Value> loss = lossOf(n, n.in(0), n.in(1));
  return failed(loss) ? failure() : n.give(*loss);
}

LogicalResult softmaxCrossEntropy(Node &n) {
  if (n.rank(0) < 2)
    return n.refuse("its operand has no classes");
  Value logs = LogSoftmaxOp::create(n.b.builder, n.b.location, n.in(0), 1);
  FailureOr<Value> loss = lossOf(n, logs, n.in(1));
  return failed(loss) ? failure() : n.give(ValueRange{*loss, logs});
}

constexpr OnnxRule rules[] = {
    {"NegativeLogLikelihoodLoss", negativeLogLikelihood},
    {"SoftmaxCrossEntropyLoss", softmaxCrossEntropy},
};

} // namespace

ArrayRef<OnnxRule> onnxLossRules() { return rules; }

} // namespace dgc::import
