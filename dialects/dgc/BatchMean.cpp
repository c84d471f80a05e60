// Means over the real examples of a batch.

#include "dialects/dgc/BatchMean.h"

using namespace mlir;
using namespace dgc;

Value dgc::exampleMask(CompositeBuilder &b, Value valid, ArrayRef<int64_t> shape) {
  if (!valid)
    return {};
  Value numbers = b.iota(shape.take_front(), b.builder.getI32Type(), 0);
  Value mask = b.compare(ComparisonDirection::LT, numbers, b.broadcastScalar(valid, shape.take_front()));
  return shape.size() == 1 ? mask : b.broadcast(mask, shape, {0});
}

Value dgc::maskExamples(CompositeBuilder &b, Value values, Value valid) {
  Value mask = exampleMask(b, valid, shapeOf(values));
  return mask ? b.select(mask, values, b.splat(0, values)) : values;
}

Value dgc::exampleCount(CompositeBuilder &b, Value valid, ArrayRef<int64_t> shape, Type element) {
  if (!valid)
    return b.scalar(double(ShapedType::getNumElements(shape)), element);
  double perExample = double(ShapedType::getNumElements(shape.drop_front()));
  Value count = b.convert(valid, element);
  return perExample == 1 ? count : b.multiply(count, b.scalar(perExample, element));
}

Value dgc::batchMean(CompositeBuilder &b, Value values, Value valid) {
  Value total = b.sum(maskExamples(b, values, valid), allDims(tensorOf(values).getRank()));
  return b.divide(total, exampleCount(b, valid, shapeOf(values), elementOf(values)));
}

Value dgc::meanOver(CompositeBuilder &b, Value values, Value count, Value valid) {
  if (!count)
    return batchMean(b, values, valid);
  return b.divide(b.sum(values, allDims(tensorOf(values).getRank())), b.convert(count, elementOf(values)));
}

Value dgc::quotientOfSums(CompositeBuilder &b, Value numerators, Value denominators, Value valid) {
  auto total = [&](Value values) { return b.sum(maskExamples(b, values, valid), allDims(tensorOf(values).getRank())); };
  Value sum = total(numerators), weight = total(denominators), none = b.equal(weight, b.splat(0, weight));
  return b.select(none, b.splat(0, sum), b.divide(sum, b.select(none, b.splat(1, weight), weight)));
}

Value dgc::batchMeanGradient(CompositeBuilder &b, Value gradient, Value valid, ArrayRef<int64_t> shape, Type element) {
  Value share = b.divide(b.convert(gradient, element), exampleCount(b, valid, shape, element));
  return maskExamples(b, b.broadcastScalar(share, shape), valid);
}
