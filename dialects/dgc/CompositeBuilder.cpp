// Writing decompositions.

#include "dialects/dgc/CompositeBuilder.h"

using namespace mlir;
using namespace dgc;

Value CompositeBuilder::exponentialMinusOne(Value x) { return ExponentialMinusOneOp::create(builder, location, x); }
Value CompositeBuilder::logistic(Value x) { return LogisticOp::create(builder, location, x); }
Value CompositeBuilder::erf(Value x) { return ErfOp::create(builder, location, x); }
Value CompositeBuilder::softplus(Value x) { return SoftplusOp::create(builder, location, x); }

Value CompositeBuilder::splat(double value, ArrayRef<int64_t> shape, Type element) {
  return TensorBuilder::splat(value, RankedTensorType::get(shape, element));
}

Value CompositeBuilder::constant(ArrayRef<int64_t> shape, Type element, ArrayRef<double> values) {
  SmallVector<Attribute> elements;
  for (double value : values)
    elements.push_back(isa<FloatType>(element) ? TypedAttr(FloatAttr::get(element, value))
                                               : IntegerAttr::get(element, static_cast<int64_t>(value)));
  return ConstantOp::create(builder, location, DenseElementsAttr::get(RankedTensorType::get(shape, element), elements));
}

Value CompositeBuilder::iota(ArrayRef<int64_t> shape, Type element, int64_t dim) {
  return IotaOp::create(builder, location, RankedTensorType::get(shape, element), dim, Value());
}

Value CompositeBuilder::broadcastScalar(Value scalar, ArrayRef<int64_t> shape) {
  return shape.empty() ? scalar : broadcast(scalar, shape, {});
}

Value CompositeBuilder::broadcastLast(Value vector, ArrayRef<int64_t> shape) {
  return broadcast(vector, shape, {int64_t(shape.size()) - 1});
}

Value CompositeBuilder::spread(Value x, Value like, ArrayRef<int64_t> reduced) {
  SmallVector<int64_t> dims;
  for (int64_t i = 0, rank = tensorOf(like).getRank(); i < rank; ++i)
    if (!llvm::is_contained(reduced, i))
      dims.push_back(i);
  return broadcast(x, shapeOf(like), dims);
}

Value CompositeBuilder::stopGradient(Value x) { return StopGradientOp::create(builder, location, x); }

// The result does not depend on what is subtracted: no gradient goes through that.
Value CompositeBuilder::logSumExp(Value x, int64_t dim) {
  Value largest = stopGradient(reduce(ReductionKind::Max, x, {dim}));
  Value total = sum(exponential(subtract(x, spread(largest, x, {dim}))), {dim});
  return add(log(total), largest);
}

// The first of the largest has the least index of those that equal the maximum.
Value CompositeBuilder::argmax(Value x, int64_t dim) {
  Value largest = spread(reduce(ReductionKind::Max, x, {dim}), x, {dim});
  Value indices = iota(shapeOf(x), builder.getI32Type(), dim);
  Value none = splat(double(shapeOf(x)[dim]), indices);
  return reduce(ReductionKind::Min, select(equal(x, largest), indices, none), {dim});
}

Type dgc::computeType(Type element) {
  return element.isF16() || element.isBF16() ? Float32Type::get(element.getContext()) : element;
}

SmallVector<int64_t> dgc::leadingDims(int64_t rank, int64_t keep) {
  return llvm::to_vector(llvm::seq<int64_t>(0, std::max<int64_t>(rank - keep, 0)));
}
