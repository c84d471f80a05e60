// ONNX ops that choose elements by number.

#include "compiler/import/onnx/Node.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace dgc::import {
namespace {

/// Numbers from 0 on: a negative one counts from the end.
Value wrapped(Node &n, Value numbers, int64_t size) {
  if (elementOf(numbers).isUnsignedInteger())
    return numbers;
  Value zero = n.splat(0, numbers), all = n.splat(static_cast<double>(size), numbers);
  return n.b.select(n.b.compare(ComparisonDirection::LT, numbers, zero), n.b.add(numbers, all), numbers);
}

/// Slices of a tensor; of truth values as well.
Value slicesOf(Node &n, Value x, Value numbers, int64_t dim) {
  const bool isBool = elementOf(x).isInteger(1);
  Value from = isBool ? n.b.convert(x, n.b.builder.getI8Type()) : x;
  Value chosen = GatherOp::create(n.b.builder, n.b.location, from, numbers, Value(), dim);
  return isBool ? n.b.convert(chosen, n.b.builder.getI1Type()) : chosen;
}

LogicalResult gather(Node &n) {
  FailureOr<int64_t> dim = n.dim(n.integer("axis", 0), n.rank(0));
  if (failed(dim))
    return failure();
  DenseElementsAttr known = n.constant(0), places = n.constant(1);
  const bool isKnown = known && places && n.rank(0) == 1 && n.rank(1) <= 1 && known.getElementType().isInteger(64) &&
                       (places.getElementType().isInteger(64) || places.getElementType().isInteger(32));
  if (isKnown) {
    SmallVector<int64_t> all(known.getValues<int64_t>()), chosen;
    for (const APInt &place : places.getValues<APInt>()) {
      FailureOr<int64_t> at = n.dim(place.getSExtValue(), static_cast<int64_t>(all.size()));
      if (failed(at))
        return failure();
      chosen.push_back(all[*at]);
    }
    auto type = RankedTensorType::get(cast<ShapedType>(places.getType()).getShape(), n.b.builder.getI64Type());
    return n.give(DenseElementsAttr::get(type, ArrayRef<int64_t>(chosen)));
  }
  // The result has the dimensions of the numbers in place of the one that they choose from.
  return n.give(slicesOf(n, n.in(0), wrapped(n, n.in(1), n.shape(0)[*dim]), *dim));
}

/// Columns of a matrix; of a vector, which is one row.
LogicalResult extractFeatures(Node &n) {
  const int64_t rank = n.rank(0), count = n.type(1).getNumElements();
  if (rank < 1)
    return n.refuse("its operand is a scalar");
  Value x = rank == 1 ? n.b.reshape(n.in(0), {1, n.shape(0)[0]}) : n.in(0), places = n.b.reshape(n.in(1), {count});
  return n.give(slicesOf(n, x, places, tensorOf(x).getRank() - 1));
}

/// The place in a flat tensor of what `components` number, one for each leading dimension.
Value flatPlaces(Node &n, ArrayRef<Value> components, ArrayRef<int64_t> shape) {
  Value place;
  for (auto [component, size] : llvm::zip_equal(components, shape.take_front(components.size()))) {
    Value at = wrapped(n, component, size);
    place = place ? n.b.add(n.b.multiply(place, static_cast<double>(size)), at) : at;
  }
  return place;
}

SmallVector<int64_t> flatShape(ArrayRef<int64_t> shape, int64_t leading) {
  SmallVector<int64_t> flat{1};
  for (int64_t size : shape.take_front(leading))
    flat[0] *= size;
  flat.append(shape.begin() + leading, shape.end());
  return flat;
}

/// Component `i` of vectors in the last dimension.
Value component(Node &n, Value vectors, int64_t i) {
  SmallVector<int64_t> limits(tensorOf(vectors).getShape()), starts(limits.size(), 0);
  starts.back() = i;
  limits.back() = i + 1;
  SmallVector<int64_t> shape(ArrayRef(limits).drop_back());
  return n.b.reshape(n.b.slice(vectors, starts, limits), shape);
}

/// The components of index vectors, behind those of the batch dimensions.
FailureOr<SmallVector<Value>> components(Node &n, int64_t batchDims) {
  if (n.rank(1) < 1)
    return n.refuse("its indices are a scalar");
  const int64_t length = n.shape(1).back();
  if (batchDims + length > n.rank(0) || batchDims >= n.rank(1))
    return n.refuse("its index vectors are longer than the operand has dimensions");
  SmallVector<Value> all;
  auto type = RankedTensorType::get(n.shape(1).drop_back(), elementOf(n.in(1)));
  for (int64_t dim = 0; dim < batchDims; ++dim)
    all.push_back(IotaOp::create(n.b.builder, n.b.location, type, dim, Value()));
  for (int64_t i = 0; i < length; ++i)
    all.push_back(component(n, n.in(1), i));
  return all;
}

LogicalResult gatherND(Node &n) {
  FailureOr<SmallVector<Value>> parts = components(n, n.integer("batch_dims", 0));
  if (failed(parts))
    return failure();
  SmallVector<int64_t> shape(n.shape(0));
  Value flat = n.b.reshape(n.in(0), flatShape(shape, static_cast<int64_t>(parts->size())));
  return n.give(slicesOf(n, flat, flatPlaces(n, *parts, shape), 0));
}

/// For each element of the indices the numbers of it, that of `dim` in place of its own.
SmallVector<Value> elementPlaces(Node &n, Value indices, int64_t dim) {
  SmallVector<Value> all;
  for (int64_t i = 0; i < tensorOf(indices).getRank(); ++i)
    all.push_back(i == dim ? indices : Value(IotaOp::create(n.b.builder, n.b.location, tensorOf(indices), i, Value())));
  return all;
}

LogicalResult gatherElements(Node &n) {
  FailureOr<int64_t> dim = n.dim(n.integer("axis", 0), n.rank(0));
  if (failed(dim) || n.rank(1) != n.rank(0))
    return failed(dim) ? failure() : n.refuse("its indices have another rank");
  SmallVector<int64_t> shape(n.shape(0));
  Value flat = n.b.reshape(n.in(0), flatShape(shape, n.rank(0)));
  return n.give(slicesOf(n, flat, flatPlaces(n, elementPlaces(n, n.in(1), *dim), shape), 0));
}

/// The depth of a one-hot: of any type.
FailureOr<SmallVector<int64_t>> depthOf(Node &n) {
  if (!isa<FloatType>(n.type(1).getElementType()))
    return n.integers(1, "depth");
  FailureOr<SmallVector<double>> given = n.numbers(1, "depth");
  if (failed(given))
    return failure();
  return llvm::map_to_vector(*given, [](double x) { return x >= 1 && x < 1e9 ? static_cast<int64_t>(x) : 0; });
}

LogicalResult oneHot(Node &n) {
  FailureOr<SmallVector<int64_t>> depth = depthOf(n);
  FailureOr<int64_t> dim = n.dim(n.integer("axis", -1), n.rank(0) + 1);
  if (failed(depth) || failed(dim))
    return failure();
  if (depth->size() != 1 || depth->front() < 1)
    return n.refuse("its depth is no positive number");
  SmallVector<int64_t> shape(n.shape(0)), dims;
  shape.insert(shape.begin() + *dim, depth->front());
  for (int64_t i = 0; i < n.rank(0); ++i)
    dims.push_back(i < *dim ? i : i + 1);
  Value numbers = wrapped(n, n.in(0), depth->front());
  Value classes =
      IotaOp::create(n.b.builder, n.b.location, RankedTensorType::get(shape, n.b.builder.getI64Type()), *dim, Value());
  Value is = n.b.equal(n.b.broadcast(n.b.convert(numbers, n.b.builder.getI64Type()), shape, dims), classes);
  Value off = n.b.reshape(n.b.slice(n.in(2), {0}, {1}), {}), on = n.b.reshape(n.b.slice(n.in(2), {1}, {2}), {});
  return n.give(n.b.select(is, n.b.broadcast(on, shape, {}), n.b.broadcast(off, shape, {})));
}

/// Combines the updates with the rows of the operand that have their places: every row with every update, of which the
/// others are the identity.
Value combineAll(Node &n, ReductionKind kind, Value operand, Value places, Value updates) {
  SmallVector<int64_t> wide(tensorOf(updates).getShape()), dims{0};
  wide.insert(wide.begin() + 1, tensorOf(operand).getDimSize(0));
  for (int64_t i = 2; i < static_cast<int64_t>(wide.size()); ++i)
    dims.push_back(i);
  auto type = RankedTensorType::get({wide[0], wide[1]}, elementOf(places));
  Value rows = IotaOp::create(n.b.builder, n.b.location, type, 1, Value());
  Value is = n.b.equal(n.b.broadcast(places, {wide[0], wide[1]}, {0}), rows);
  Value none = n.b.broadcast(n.b.identity(kind, elementOf(operand)), wide, {});
  Value each = n.b.select(n.b.broadcast(is, wide, {0, 1}), n.b.broadcast(updates, wide, dims), none);
  return combine(n.b, kind, operand, n.b.reduce(kind, each, {0}));
}

/// The operand with updates at places of the flat operand. Of places that are the same, which the specification does not allow
/// unless they are combined, the last one counts, as in other runtimes; not where it would take long to find.
LogicalResult scatter(Node &n, Value places, Value updates, int64_t leading) {
  StringRef reduction = n.text("reduction", "none");
  auto kind = llvm::StringSwitch<std::optional<ReductionKind>>(reduction)
                  .Case("max", ReductionKind::Max)
                  .Case("min", ReductionKind::Min)
                  .Case("mul", ReductionKind::Product)
                  .Default(std::nullopt);
  if (reduction != "none" && reduction != "add" && !kind)
    return n.refuse("reduction '" + reduction + "'");
  SmallVector<int64_t> shape(n.shape(0)), flat = flatShape(shape, leading), rows{1};
  for (int64_t size : tensorOf(places).getShape())
    rows[0] *= size;
  places = n.b.reshape(places, rows);
  rows.append(flat.begin() + 1, flat.end());
  updates = n.b.reshape(updates, rows);
  Value operand = n.b.reshape(n.in(0), flat);
  if (kind)
    return n.give(n.b.reshape(combineAll(n, *kind, operand, places, updates), shape));
  auto sum = [&](Value what) -> Value {
    return ScatterAddOp::create(n.b.builder, n.b.location, places, what, Value(), 0, flat[0]);
  };
  if (reduction == "add")
    return n.give(n.b.reshape(n.b.add(operand, sum(updates)), shape));
  // The number of the update of each slice, from 1 on.
  Value numbers =
      IotaOp::create(n.b.builder, n.b.location, RankedTensorType::get({rows[0]}, n.b.builder.getI32Type()), 0, Value());
  numbers = n.b.add(numbers, n.splat(1, numbers));
  Value none = n.b.splat(0, RankedTensorType::get({flat[0]}, n.b.builder.getI32Type()));
  constexpr int64_t kMostCompared = int64_t(1) << 28;
  Value number =
      rows[0] <= kMostCompared / flat[0] ? combineAll(n, ReductionKind::Max, none, places, numbers) : sum(numbers);
  Value chosen = slicesOf(n, updates, n.b.subtract(number, n.splat(1, number)), 0);
  Value isUpdated = n.b.compare(ComparisonDirection::GT, number, n.splat(0, number));
  return n.give(n.b.reshape(n.b.select(n.b.broadcast(isUpdated, flat, {0}), chosen, operand), shape));
}

LogicalResult scatterND(Node &n) {
  FailureOr<SmallVector<Value>> parts = components(n, 0);
  if (failed(parts))
    return failure();
  return scatter(n, flatPlaces(n, *parts, n.shape(0)), n.in(2), static_cast<int64_t>(parts->size()));
}

LogicalResult scatterElements(Node &n) {
  FailureOr<int64_t> dim = n.dim(n.integer("axis", 0), n.rank(0));
  if (failed(dim) || n.rank(1) != n.rank(0))
    return failed(dim) ? failure() : n.refuse("its indices have another rank");
  return scatter(n, flatPlaces(n, elementPlaces(n, n.in(1), *dim), n.shape(0)), n.in(2), n.rank(0));
}

LogicalResult topK(Node &n) {
  FailureOr<SmallVector<int64_t>> k = n.version() < 10 ? SmallVector<int64_t>{n.integer("k", 0)} : n.integers(1, "k");
  FailureOr<int64_t> dim = n.dim(n.integer("axis", -1), n.rank(0));
  if (failed(k) || failed(dim))
    return failure();
  if (k->front() < 1 || k->front() > std::min(kMostLargest, n.shape(0)[*dim]))
    return n.refuse("with k = " + Twine(k->front()) + "; 1 to " + Twine(kMostLargest) + " are supported");
  Value x = n.in(0);
  const bool isLargest = n.integer("largest", 1) != 0;
  if (!isLargest && !isa<FloatType>(elementOf(x)))
    return n.refuse("the smallest integers");
  SmallVector<int64_t> order = firstNumbers(n.rank(0)); // the dimension last; to and fro by the same exchange
  std::swap(order[*dim], order.back());
  Value last = n.b.transpose(isLargest ? x : n.b.negate(x), order);
  auto [values, places] = largestElements(n.b, last, k->front(), n.b.builder.getI64Type());
  Value sorted = n.b.transpose(values, order);
  return n.give(ValueRange{isLargest ? sorted : n.b.negate(sorted), n.b.transpose(places, order)});
}

constexpr OnnxRule rules[] = {
    {"ai.onnx.ml.ArrayFeatureExtractor", extractFeatures},
    {"Gather", gather},
    {"GatherElements", gatherElements},
    {"GatherND", gatherND},
    {"OneHot", oneHot},
    {"Scatter", scatterElements},
    {"ScatterElements", scatterElements},
    {"ScatterND", scatterND},
    {"TopK", topK},
};

} // namespace

ArrayRef<OnnxRule> onnxIndexRules() { return rules; }

} // namespace dgc::import
