#include "compiler/import/Indexing.h"

using namespace mlir;

namespace dgc::import {

Value spread(TensorBuilder &b, Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> order = firstNumbers(static_cast<int64_t>(dims.size()));
  llvm::sort(order, [&](int64_t i, int64_t j) { return dims[i] < dims[j]; });
  return b.broadcast(b.transpose(x, order), shape, llvm::map_to_vector(order, [&](int64_t i) { return dims[i]; }));
}

Value indicesAlong(TensorBuilder &b, ArrayRef<int64_t> shape, Type element, int64_t dim) {
  return IotaOp::create(b.builder, b.location, RankedTensorType::get(shape, element), dim, Value());
}

Value clampIndex(TensorBuilder &b, Value x, int64_t most, Type element) {
  auto type = cast<IntegerType>(elementOf(x));
  APInt largest = type.isUnsigned() ? APInt::getMaxValue(type.getWidth()) : APInt::getSignedMaxValue(type.getWidth());
  auto limit = static_cast<int64_t>(std::min<uint64_t>(largest.getZExtValue(), static_cast<uint64_t>(most)));
  auto splat = [&](int64_t value) -> Value {
    return ConstantOp::create(b.builder, b.location,
                              DenseElementsAttr::get(tensorOf(x), APInt(type.getWidth(), value, false, true)));
  };
  Value clamped = ClampOp::create(b.builder, b.location, x.getType(), splat(0), x, splat(limit));
  return b.convert(clamped, element);
}

Type indexType(TensorBuilder &b, int64_t count) {
  return b.builder.getIntegerType(count < std::numeric_limits<int32_t>::max() ? 32 : 64);
}

Value gatherAlong(TensorBuilder &b, Value x, Value indices, int64_t dim) {
  bool isBool = elementOf(x).isInteger(1);
  Value numbers = isBool ? b.convert(x, b.builder.getI8Type()) : x;
  Value chosen = GatherOp::create(b.builder, b.location, numbers, indices, Value(), dim);
  return isBool ? b.convert(chosen, b.builder.getI1Type()) : chosen;
}

Value flatten(TensorBuilder &b, Value x) { return b.reshape(x, {tensorOf(x).getNumElements()}); }

SmallVector<int64_t> Indexing::batchDims() const {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < window.getRank(); ++dim)
    if (!llvm::is_contained(windowDims, dim))
      dims.push_back(dim);
  return dims;
}

SmallVector<int64_t> Indexing::operandWindowDims() const {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim)
    if (!llvm::is_contained(removed, dim) && !llvm::is_contained(batching, dim))
      dims.push_back(dim);
  return dims;
}

Value Indexing::component(TensorBuilder &b, int64_t i) const {
  auto type = tensorOf(indices);
  if (vectorDim == type.getRank())
    return indices;
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), shape(type.getShape());
  starts[vectorDim] = i;
  limits[vectorDim] = i + 1;
  shape.erase(shape.begin() + vectorDim);
  return b.reshape(b.slice(indices, starts, limits), shape);
}

int64_t Indexing::soleDim() const {
  if (map.size() != 1 || removed.size() != 1 || map != removed)
    return -1;
  for (auto [dim, own] : llvm::zip_equal(operandWindowDims(), windowDims))
    if (operand.getDimSize(dim) != window.getDimSize(own))
      return -1;
  return map[0];
}

Value Indexing::linearIndices(TensorBuilder &b, Value *mask) const {
  Type element = indexType(b, operand.getNumElements());
  ArrayRef<int64_t> shape = window.getShape();
  SmallVector<int64_t> batches = batchDims(), windows = operandWindowDims();
  Value sum;
  int64_t stride = 1;
  for (int64_t dim = operand.getRank() - 1; dim >= 0; --dim) {
    SmallVector<Value> parts;
    int64_t extent = 1;
    const auto *own = llvm::find(windows, dim);
    if (own != windows.end()) {
      int64_t windowDim = windowDims[own - windows.begin()];
      extent = window.getDimSize(windowDim);
      if (extent > 1)
        parts.push_back(indicesAlong(b, shape, element, windowDim));
    }
    if (const auto *at = llvm::find(batching, dim); at != batching.end())
      parts.push_back(indicesAlong(b, shape, element, batches[batchPlace(indexBatching[at - batching.begin()])]));
    if (const auto *at = llvm::find(map, dim); at != map.end()) {
      Value start = component(b, at - map.begin());
      if (mask) {
        // Whether the whole window is inside, before the numbers are narrowed.
        Value wide = b.convert(start, b.builder.getI64Type());
        Value inside = AndOp::create(b.builder, b.location, b.compare(ComparisonDirection::GE, wide, b.splat(0, wide)),
                                     b.compare(ComparisonDirection::LE, wide,
                                               b.splat(static_cast<double>(operand.getDimSize(dim) - extent), wide)));
        inside = spread(b, inside, shape, batches);
        *mask = *mask ? Value(AndOp::create(b.builder, b.location, *mask, inside)) : inside;
      }
      parts.push_back(spread(b, clampIndex(b, start, operand.getDimSize(dim) - extent, element), shape, batches));
    }
    for (Value part : parts) {
      Value scaled = stride == 1 ? part : b.multiply(part, static_cast<double>(stride));
      sum = sum ? b.add(sum, scaled) : scaled;
    }
    stride *= operand.getDimSize(dim);
  }
  return sum ? sum : b.splat(0, RankedTensorType::get(shape, element));
}

Value combineAt(TensorBuilder &b, ReductionKind kind, Value indices, Value updates, int64_t at, int64_t size) {
  if (kind == ReductionKind::Sum)
    return ScatterAddOp::create(b.builder, b.location, indices, updates, Value(), at, size);
  const int64_t rank = tensorOf(indices).getRank();
  SmallVector<int64_t> all(tensorOf(updates).getShape()), behind, added;
  all.insert(all.begin() + at, size);
  for (int64_t i = 0; i < static_cast<int64_t>(all.size()); ++i) {
    if (i != at)
      behind.push_back(i);
    if (i > at && i <= at + rank)
      added.push_back(i);
  }
  if (cast<IntegerType>(elementOf(indices)).getWidth() < 32)
    indices = b.convert(indices, b.builder.getI32Type());
  Value isHere = b.equal(indicesAlong(b, all, elementOf(indices), at), b.broadcast(indices, all, added));
  Value identity = b.broadcast(b.identity(kind, elementOf(updates)), all, {});
  return b.reduce(kind, b.select(isHere, b.broadcast(updates, all, behind), identity), added);
}

} // namespace dgc::import
