// ONNX ops that take parts of tensors and put more around them.

#include "compiler/import/onnx/Node.h"

#include <numeric>

using namespace mlir;

namespace dgc::import {
namespace {

LogicalResult split(Node &n) {
  FailureOr<int64_t> dim = n.dim(n.integer("axis", 0), n.rank(0));
  FailureOr<SmallVector<int64_t>> sizes = n.list(1, "split");
  if (failed(dim) || failed(sizes))
    return failure();
  const int64_t size = n.shape(0)[*dim], count = n.numResults();
  if (sizes->empty()) { // equal parts, the last of which may be smaller
    const int64_t part = llvm::divideCeil(size, count);
    for (int64_t i = 0; i < count; ++i)
      sizes->push_back(std::min(part, size - part * i));
  }
  if (std::accumulate(sizes->begin(), sizes->end(), int64_t{0}) != size ||
      llvm::any_of(*sizes, [](int64_t part) { return part < 0; }))
    return n.refuse("the parts are not those of a dimension of " + Twine(size));
  SmallVector<int64_t> starts(n.rank(0), 0), limits(n.shape(0));
  SmallVector<Item> parts;
  for (int64_t part : *sizes) {
    limits[*dim] = starts[*dim] + part;
    SmallVector<int64_t> shape(n.shape(0));
    shape[*dim] = part;
    parts.push_back(part == 0 ? Item::of(n.nothing(shape)) : Item::of(n.b.slice(n.in(0), starts, limits)));
    starts[*dim] = limits[*dim];
  }
  return n.giveItems(parts);
}

LogicalResult slice(Node &n) {
  FailureOr<SmallVector<int64_t>> from = n.list(1, "starts"), to = n.list(2, "ends");
  if (failed(from) || failed(to))
    return failure();
  SmallVector<int64_t> dims = firstNumbers(static_cast<int64_t>(from->size())), steps(from->size(), 1);
  if (n.hasAttribute("axes")) // before version 10
    dims = n.integers("axes");
  for (auto [input, list, what] : {std::tuple(3U, &dims, "axes"), std::tuple(4U, &steps, "steps")})
    if (n.has(input)) {
      FailureOr<SmallVector<int64_t>> given = n.integers(input, what);
      if (failed(given))
        return failure();
      *list = *given;
    }
  if (to->size() != from->size() || dims.size() != from->size() || steps.size() != from->size())
    return n.refuse("has lists of different lengths");
  SmallVector<int64_t> starts(n.rank(0), 0), limits(n.shape(0)), strides(n.rank(0), 1), reversed;
  for (auto [start, end, number, step] : llvm::zip_equal(*from, *to, dims, steps)) {
    FailureOr<int64_t> dim = n.dim(number, n.rank(0));
    if (failed(dim) || step == 0 || step == INT64_MIN)
      return failed(dim) ? failure() : n.refuse("a step of " + Twine(step));
    const int64_t size = n.shape(0)[*dim];
    if (size == 0)
      return n.give(n.constant(0));
    auto wrapped = [&](int64_t at, int64_t low, int64_t high) {
      return std::clamp(at < 0 ? at + size : at, low, high);
    };
    if (step > 0) {
      starts[*dim] = wrapped(start, 0, size);
      limits[*dim] = wrapped(end, 0, size);
      strides[*dim] = step;
    } else { // backwards: the same elements in their order, reversed
      const int64_t last = wrapped(start, 0, size - 1), before = end < -size ? -1 : wrapped(end, -1, size - 1);
      const int64_t count = last > before ? llvm::divideCeil(last - before, -step) : 0;
      strides[*dim] = -step;
      starts[*dim] = last + (count - 1) * step;
      limits[*dim] = last + 1;
      reversed.push_back(*dim);
    }
    if (limits[*dim] <= starts[*dim]) {
      SmallVector<int64_t> shape(n.shape(0)); // of the other dimensions: no element is left in any case
      shape[*dim] = 0;
      return n.rank(0) == 1
                 ? n.give(n.nothing(shape))
                 : n.refuse("nothing is left of dimension " + Twine(*dim) + ": tensors have at least one element");
    }
  }
  if (DenseElementsAttr known = n.constant(0); known && n.rank(0) == 1 && known.getElementType().isInteger(64)) {
    SmallVector<int64_t> all(known.getValues<int64_t>()), chosen;
    for (int64_t i = starts[0]; i < limits[0]; i += strides[0])
      chosen.push_back(all[i]);
    if (!reversed.empty())
      std::reverse(chosen.begin(), chosen.end());
    return n.giveIntegers(chosen);
  }
  Value part = n.b.slice(n.in(0), starts, limits, strides);
  if (!reversed.empty())
    part = ReverseOp::create(n.b.builder, n.b.location, part, reversed);
  return n.give(part);
}

/// The elements of a dimension in the order of `places`.
Value gatherDim(Node &n, Value x, ArrayRef<int64_t> places, int64_t dim) {
  Value indices = n.constantOfIntegers(places, {static_cast<int64_t>(places.size())});
  return GatherOp::create(n.b.builder, n.b.location, x, indices, Value(), dim);
}

LogicalResult pad(Node &n) {
  FailureOr<SmallVector<int64_t>> pads = n.list(1, "pads");
  if (failed(pads))
    return failure();
  SmallVector<int64_t> dims = firstNumbers(n.rank(0));
  if (n.has(3)) {
    FailureOr<SmallVector<int64_t>> given = n.integers(3, "axes");
    if (failed(given))
      return failure();
    dims.clear();
    for (int64_t number : *given) {
      FailureOr<int64_t> dim = n.dim(number, n.rank(0));
      if (failed(dim))
        return failure();
      dims.push_back(*dim);
    }
  }
  if (pads->size() != 2 * dims.size())
    return n.refuse("'pads' has " + Twine(pads->size()) + " entries");
  SmallVector<int64_t> low(n.rank(0), 0), high(n.rank(0), 0), starts(n.rank(0), 0), limits(n.shape(0));
  for (auto [i, dim] : llvm::enumerate(dims)) {
    int64_t before = (*pads)[i], after = (*pads)[i + dims.size()];
    starts[dim] = std::max<int64_t>(0, -before);
    limits[dim] -= std::max<int64_t>(0, -after);
    low[dim] = std::max<int64_t>(0, before);
    high[dim] = std::max<int64_t>(0, after);
    if (starts[dim] >= limits[dim])
      return n.refuse("nothing is left of dimension " + Twine(dim));
  }
  Value x = n.b.slice(n.in(0), starts, limits);
  StringRef mode = n.text("mode", "constant");
  if (mode == "constant") {
    if (n.hasAttribute("value")) // before version 11
      return n.give(n.b.pad(x, n.b.constant(RankedTensorType::get({}, elementOf(x)), n.number("value", 0)), low, high));
    Value value =
        n.has(2) ? n.b.reshape(n.in(2), {}) : n.splat(0, n.b.constant(RankedTensorType::get({}, elementOf(x)), 0));
    return n.give(n.b.pad(x, value, low, high));
  }
  if (mode != "reflect" && mode != "edge" && mode != "wrap")
    return n.refuse("mode '" + mode + "'");
  for (int64_t dim = 0; dim < n.rank(0); ++dim) {
    if (low[dim] == 0 && high[dim] == 0)
      continue;
    const int64_t size = tensorOf(x).getDimSize(dim);
    SmallVector<int64_t> places;
    for (int64_t i = -low[dim]; i < size + high[dim]; ++i) {
      const int64_t period = std::max<int64_t>(1, 2 * (size - 1)), at = ((i % period) + period) % period;
      if (mode == "edge")
        places.push_back(std::clamp<int64_t>(i, 0, size - 1));
      else if (mode == "wrap")
        places.push_back(((i % size) + size) % size);
      else
        places.push_back(at < size ? at : period - at);
    }
    x = gatherDim(n, x, places, dim);
  }
  return n.give(x);
}

/// The middle of each dimension, or zeros around it.
LogicalResult centerCropPad(Node &n) {
  FailureOr<SmallVector<int64_t>> sizes = n.integers(1, "shape");
  if (failed(sizes))
    return failure();
  SmallVector<int64_t> numbers = n.hasAttribute("axes") ? n.integers("axes") : firstNumbers(n.rank(0));
  if (numbers.size() != sizes->size())
    return n.refuse("there is not one size for each dimension");
  SmallVector<int64_t> starts(n.rank(0), 0), limits(n.shape(0)), low(n.rank(0), 0), high(n.rank(0), 0);
  for (auto [number, wanted] : llvm::zip_equal(numbers, *sizes)) {
    FailureOr<int64_t> dim = n.dim(number, n.rank(0));
    if (failed(dim) || wanted < 1)
      return failed(dim) ? failure() : n.refuse("nothing is left of dimension " + Twine(*dim));
    const int64_t more = wanted - n.shape(0)[*dim];
    if (more < 0) {
      starts[*dim] = -more / 2;
      limits[*dim] = starts[*dim] + wanted;
    } else {
      low[*dim] = more / 2;
      high[*dim] = more - low[*dim];
    }
  }
  Value part = n.b.slice(n.in(0), starts, limits);
  return n.give(n.b.padZero(part, low, high));
}

/// The entries of a dimension whose condition holds: it has to be known, as the number of them is the shape.
LogicalResult compress(Node &n) {
  FailureOr<SmallVector<int64_t>> conditions = n.integers(1, "condition");
  if (failed(conditions))
    return failure();
  Value x = n.in(0);
  int64_t dim = 0;
  if (n.hasAttribute("axis")) {
    FailureOr<int64_t> given = n.dim(n.integer("axis", 0), n.rank(0));
    if (failed(given))
      return failure();
    dim = *given;
  } else {
    x = n.b.reshape(x, {n.type(0).getNumElements()});
  }
  SmallVector<int64_t> places;
  for (auto [i, condition] : llvm::enumerate(*conditions))
    if (condition != 0)
      places.push_back(static_cast<int64_t>(i));
  if (places.empty() || places.back() >= tensorOf(x).getDimSize(dim))
    return n.refuse(places.empty() ? "nothing is left: tensors have at least one element"
                                   : "its condition is longer than dimension " + Twine(dim));
  return n.give(gatherDim(n, x, places, dim));
}

/// The first entries of each example in the opposite order, as many as its length says.
LogicalResult reverseSequence(Node &n) {
  const int64_t batch = n.integer("batch_axis", 1), time = n.integer("time_axis", 0);
  if (n.rank(0) < 2 || batch < 0 || time < 0 || batch > 1 || time > 1 || batch == time || n.rank(1) != 1 ||
      n.shape(1)[0] != n.shape(0)[batch])
    return n.refuse("batch and time are not its first two dimensions, or its lengths do not fit");
  SmallVector<int64_t> shape(n.shape(0)), places{shape[0], shape[1]}, flat{shape[0] * shape[1]};
  flat.append(shape.begin() + 2, shape.end());
  auto type = RankedTensorType::get(places, n.b.builder.getI64Type());
  auto numbers = [&](int64_t dim) -> Value { return IotaOp::create(n.b.builder, n.b.location, type, dim, Value()); };
  Value at = numbers(time), lengths = n.b.broadcast(n.b.convert(n.in(1), n.b.builder.getI64Type()), places, {batch});
  Value mirrored = n.b.subtract(n.b.subtract(lengths, at), n.splat(1, at));
  at = n.b.select(n.b.compare(ComparisonDirection::LT, at, lengths), mirrored, at);
  Value row = n.b.add(n.b.multiply(time == 0 ? at : numbers(0), n.splat(static_cast<double>(shape[1]), at)),
                      time == 0 ? numbers(1) : at);
  return n.give(GatherOp::create(n.b.builder, n.b.location, n.b.reshape(n.in(0), flat), row, Value(), 0));
}

constexpr OnnxRule rules[] = {
    {"CenterCropPad", centerCropPad},     {"Compress", compress}, {"Pad", pad},
    {"ReverseSequence", reverseSequence}, {"Slice", slice},       {"Split", split},
};

} // namespace

ArrayRef<OnnxRule> onnxSlicingRules() { return rules; }

} // namespace dgc::import
