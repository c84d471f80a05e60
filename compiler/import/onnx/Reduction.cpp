// ONNX ops that combine elements along dimensions.

#include "compiler/import/onnx/Node.h"

using namespace mlir;

namespace dgc::import {
namespace {

/// The dimensions of a reduction, an attribute or an input: all of them where none is given. Empty: nothing is reduced.
FailureOr<SmallVector<int64_t>> dimsOf(Node &n) {
  FailureOr<SmallVector<int64_t>> given =
      n.has(1) ? n.integers(1, "axes") : FailureOr<SmallVector<int64_t>>(n.integers("axes"));
  if (failed(given))
    return failure();
  if (given->empty())
    return n.integer("noop_with_empty_axes", 0) != 0 ? SmallVector<int64_t>() : firstNumbers(n.rank(0));
  SmallVector<int64_t> dims;
  for (int64_t number : *given) {
    FailureOr<int64_t> dim = n.dim(number, n.rank(0));
    if (failed(dim) || llvm::is_contained(dims, *dim))
      return failed(dim) ? failure() : n.refuse("dimension " + Twine(*dim) + " twice");
    dims.push_back(*dim);
  }
  llvm::sort(dims);
  return dims;
}

SmallVector<int64_t> keptShape(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept(shape);
  for (int64_t dim : dims)
    kept[dim] = 1;
  return kept;
}

Value identity(Node &, Value x) { return x; }
Value square(Node &n, Value x) { return n.b.multiply(x, x); }
Value absolute(Node &n, Value x) { return n.b.abs(x); }
Value root(Node &n, Value x) { return n.b.sqrt(x); }
Value logarithm(Node &n, Value x) { return n.b.log(x); }

LogicalResult give(Node &n, Value reduced, ArrayRef<int64_t> dims) {
  if (n.integer("keepdims", 1) != 0)
    reduced = n.b.reshape(reduced, keptShape(n.shape(0), dims));
  return n.give(reduced);
}

using Formula = Value (*)(Node &, Value);
template <ReductionKind kind, Formula before = identity, Formula after = identity> LogicalResult reduce(Node &n) {
  FailureOr<SmallVector<int64_t>> dims = dimsOf(n);
  if (failed(dims))
    return failure();
  Value x = before(n, n.in(0));
  return give(n, after(n, n.b.reduce(kindFor(kind, elementOf(x)), x, *dims)), *dims);
}

LogicalResult mean(Node &n) {
  FailureOr<SmallVector<int64_t>> dims = dimsOf(n);
  if (failed(dims))
    return failure();
  double count = 1;
  for (int64_t dim : *dims)
    count *= static_cast<double>(n.shape(0)[dim]);
  Value sum = n.b.reduce(ReductionKind::Sum, n.in(0), *dims);
  return give(n, n.b.divide(sum, n.splat(count, sum)), *dims);
}

/// With the largest element apart, so that nothing overflows.
LogicalResult logSumExp(Node &n) {
  FailureOr<SmallVector<int64_t>> dims = dimsOf(n);
  if (failed(dims))
    return failure();
  Value x = n.in(0), largest = n.b.reduce(ReductionKind::Max, x, *dims);
  Value wide = n.broadcast(n.b.reshape(largest, keptShape(n.shape(0), *dims)), n.shape(0));
  Value sum = n.b.reduce(ReductionKind::Sum, n.b.exponential(n.b.subtract(x, wide)), *dims);
  return give(n, n.b.add(n.b.log(sum), largest), *dims);
}

template <ReductionKind kind> LogicalResult argument(Node &n) {
  FailureOr<int64_t> dim = n.dim(n.integer("axis", 0), n.rank(0));
  if (failed(dim))
    return failure();
  SmallVector<int64_t> dims{*dim};
  Value x = n.in(0), best = n.b.reduce(kindFor(kind, elementOf(x)), x, dims);
  Value is = n.b.equal(x, n.broadcast(n.b.reshape(best, keptShape(n.shape(0), dims)), n.shape(0)));
  auto type = RankedTensorType::get(n.shape(0), n.b.builder.getI64Type());
  Value numbers = IotaOp::create(n.b.builder, n.b.location, type, *dim, Value());
  const bool isLast = n.integer("select_last_index", 0) != 0;
  Value none = n.splat(isLast ? -1 : static_cast<double>(n.shape(0)[*dim]), numbers);
  return give(n, n.b.reduce(isLast ? ReductionKind::Max : ReductionKind::Min, n.b.select(is, numbers, none), dims),
              dims);
}

/// The sum of all elements up to each: with a triangle of ones.
LogicalResult cumulativeSum(Node &n) {
  FailureOr<SmallVector<int64_t>> axis = n.integers(1, "axis");
  FailureOr<int64_t> dim = failed(axis) || axis->empty() ? FailureOr<int64_t>() : n.dim(axis->front(), n.rank(0));
  if (failed(dim))
    return failure();
  const int64_t size = n.shape(0)[*dim];
  const bool isExclusive = n.integer("exclusive", 0) != 0, isReverse = n.integer("reverse", 0) != 0;
  Value x = n.in(0);
  auto type = RankedTensorType::get({size, size}, n.b.builder.getI64Type());
  Value from = IotaOp::create(n.b.builder, n.b.location, type, 0, Value());
  Value to = IotaOp::create(n.b.builder, n.b.location, type, 1, Value());
  using Direction = ComparisonDirection;
  Value counts = n.b.compare(isReverse ? (isExclusive ? Direction::GT : Direction::GE)
                                       : (isExclusive ? Direction::LT : Direction::LE),
                             from, to);
  Value product =
      n.b.dot(x, n.b.convert(counts, elementOf(x)), {}, {}, {*dim}, {0}); // the dimension is the last one now
  SmallVector<int64_t> order = firstNumbers(n.rank(0) - 1);
  order.insert(order.begin() + *dim, n.rank(0) - 1);
  return n.give(n.b.transpose(product, order));
}

/// The product of all elements up to each: of two, of four, of eight .. of them.
LogicalResult cumulativeProduct(Node &n) {
  FailureOr<SmallVector<int64_t>> axis = n.integers(1, "axis");
  FailureOr<int64_t> dim = failed(axis) || axis->empty() ? FailureOr<int64_t>() : n.dim(axis->front(), n.rank(0));
  if (failed(dim))
    return failure();
  const int64_t size = n.shape(0)[*dim];
  const bool isReverse = n.integer("reverse", 0) != 0;
  auto mirror = [&](Value x) -> Value {
    return isReverse ? Value(ReverseOp::create(n.b.builder, n.b.location, x, SmallVector<int64_t>{*dim})) : x;
  };
  Value x = mirror(n.in(0)), one = n.b.constant(RankedTensorType::get({}, elementOf(x)), 1);
  auto shifted = [&](int64_t count) { // ones, then the elements but for the last ones
    SmallVector<int64_t> starts(n.rank(0), 0), limits(n.shape(0)), low(n.rank(0), 0), high(n.rank(0), 0);
    limits[*dim] = size - count;
    low[*dim] = count;
    return n.b.pad(n.b.slice(x, starts, limits), one, low, high);
  };
  if (n.integer("exclusive", 0) != 0)
    x = size == 1 ? n.splat(1, x) : shifted(1);
  for (int64_t count = 1; count < size; count *= 2)
    x = n.b.multiply(x, shifted(count));
  return n.give(mirror(x));
}

constexpr OnnxRule rules[] = {
    {"ArgMax", argument<ReductionKind::Max>},
    {"ArgMin", argument<ReductionKind::Min>},
    {"CumProd", cumulativeProduct},
    {"CumSum", cumulativeSum},
    {"ReduceL1", reduce<ReductionKind::Sum, absolute>},
    {"ReduceL2", reduce<ReductionKind::Sum, square, root>},
    {"ReduceLogSum", reduce<ReductionKind::Sum, identity, logarithm>},
    {"ReduceLogSumExp", logSumExp},
    {"ReduceMax", reduce<ReductionKind::Max>},
    {"ReduceMean", mean},
    {"ReduceMin", reduce<ReductionKind::Min>},
    {"ReduceProd", reduce<ReductionKind::Product>},
    {"ReduceSum", reduce<ReductionKind::Sum>},
    {"ReduceSumSquare", reduce<ReductionKind::Sum, square>},
};

} // namespace

ArrayRef<OnnxRule> onnxReductionRules() { return rules; }

} // namespace dgc::import
