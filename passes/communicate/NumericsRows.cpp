#include "passes/communicate/NumericsRows.h"

#include "dialects/dist/Dist.h"

using namespace mlir;

namespace dgc {

/// Values of up to so many elements are looked at in one go.
static constexpr int64_t kSmallValue = 256;
/// Elements of a row of a larger one; where no such number divides all elements, it is looked at in one go as well.
static constexpr int64_t kShortestRow = 32, kLongestRow = 512;
/// No index is as large, and an f64 has it exactly.
static constexpr double kNoIndex = 0x1p62;

Value isNaN(CompositeBuilder &b, Value x) { return b.compare(ComparisonDirection::NE, x, x); }
Value isFinite(CompositeBuilder &b, Value x) { return IsFiniteOp::create(b.builder, b.location, x); }
Value both(CompositeBuilder &b, Value x, Value y) { return AndOp::create(b.builder, b.location, x, y); }
Value either(CompositeBuilder &b, Value x, Value y) { return OrOp::create(b.builder, b.location, x, y); }
Value negated(CompositeBuilder &b, Value x) { return NotOp::create(b.builder, b.location, x); }

Value joined(CompositeBuilder &b, ArrayRef<Value> parts, int64_t dim) {
  return parts.size() == 1 ? parts.front() : ConcatenateOp::create(b.builder, b.location, parts, dim).getResult();
}

/// The least of 4 * (start + i) + k over the elements for which `isWrong` holds; `start` is a scalar, null for 0.
static Value firstCode(CompositeBuilder &b, Value x, Value isWrong, Value start) {
  Type i64 = b.builder.getI64Type();
  ArrayRef<int64_t> shape = shapeOf(x);
  Value index = start ? b.broadcastScalar(start, shape) : Value();
  int64_t stride = 1;
  for (int64_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    if (shape[d] == 1)
      continue;
    Value place = b.iota(shape, i64, d);
    place = stride == 1 ? place : b.multiply(place, double(stride));
    index = index ? b.add(index, place) : place;
  }
  index = index ? index : b.splat(0, shape, i64);
  Value isUp = b.compare(ComparisonDirection::GT, x, b.splat(0, x));
  auto number = [&](double value) { return b.splat(value, shape, i64); };
  Value kind = b.select(isNaN(b, x), number(0), b.select(isUp, number(1), number(2)));
  Value code = b.add(b.multiply(index, 4.0), kind);
  return b.reduce(ReductionKind::Min, b.select(isWrong, code, number(kNoIndex)), allDims(shape.size()));
}

NumericsRow buildRow(CompositeBuilder &b, Value x, Value isWrong) {
  Value count = b.reduce(ReductionKind::Sum, b.convert(isWrong, b.builder.getI64Type()), allDims(shapeOf(x).size()));
  return {count, firstCode(b, x, isWrong, Value())};
}

NumericsRow buildRowOfNotFinite(CompositeBuilder &b, Value x) { return buildRow(b, x, negated(b, isFinite(b, x))); }

int64_t rowLengthOf(Value x) {
  const int64_t elements = tensorOf(x).getNumElements();
  if (elements > kSmallValue)
    for (int64_t length = kLongestRow; length >= kShortestRow; --length)
      if (elements % length == 0)
        return length;
  return 0;
}

WrongRows findWrongRows(CompositeBuilder &b, Value x) {
  Type i64 = b.builder.getI64Type(), f32 = b.builder.getF32Type();
  const int64_t length = rowLengthOf(x), rows = tensorOf(x).getNumElements() / length;
  x = b.reshape(x, {rows, length});
  // Sums of f32 are those that kernels add up in lanes. A row has no more elements than an f32 counts.
  Value isWrong = b.select(isFinite(b, x), b.splat(0, shapeOf(x), f32), b.splat(1, shapeOf(x), f32));
  Value counts = b.reduce(ReductionKind::Sum, isWrong, {1});
  Value hasWrong = b.compare(ComparisonDirection::GT, counts, b.splat(0, counts));
  Value places = b.select(hasWrong, b.iota({rows}, i64, 0), b.splat(double(rows - 1), {rows}, i64));
  return {b.reduce(ReductionKind::Sum, b.convert(counts, i64), {0}), b.reduce(ReductionKind::Min, places, {0}), length};
}

NumericsRow buildRowOfFirst(CompositeBuilder &b, Value x, const WrongRows &rows, bool isItself) {
  const int64_t count = tensorOf(x).getNumElements() / rows.length;
  Value row =
      dist::DynamicSliceOp::create(b.builder, b.location, b.reshape(x, {count, rows.length}), rows.first, /*dim=*/0,
                                   /*size=*/1);
  Value isWrong = negated(b, isFinite(b, row));
  Value first = firstCode(b, row, isWrong, b.multiply(rows.first, double(rows.length)));
  return {isItself ? rows.count : b.reduce(ReductionKind::Sum, b.convert(isWrong, b.builder.getI64Type()), {0, 1}),
          first};
}

} // namespace dgc
