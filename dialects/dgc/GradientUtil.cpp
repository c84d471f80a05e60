// Short ways to build gradients.

#include "dialects/dgc/GradientUtil.h"

using namespace mlir;
using namespace mlir::dgc;

/// Builds an op of one result by its name; its type is inferred.
static Value build(OpBuilder &builder, Location location, StringRef name, ValueRange operands,
                   ArrayRef<NamedAttribute> attributes = {}) {
  OperationState state(location, name, operands, {}, attributes);
  auto infer = state.name.getInterface<InferTypeOpInterface>();
  if (!infer ||
      failed(infer->inferReturnTypes(builder.getContext(), location, operands,
                                     state.attributes.getDictionary(builder.getContext()), nullptr, {}, state.types)))
    llvm::report_fatal_error("this build has no op " + name);
  return builder.create(state)->getResult(0);
}

Value GradientBuilder::constant(Type type, double value) {
  auto tensor = withoutEncoding(cast<RankedTensorType>(type));
  Attribute element;
  if (auto floating = dyn_cast<FloatType>(tensor.getElementType()))
    element = FloatAttr::get(floating, value);
  else
    element = IntegerAttr::get(tensor.getElementType(), int64_t(value));
  return ConstantOp::create(builder, location, DenseElementsAttr::get(tensor, element));
}

Value GradientBuilder::add(Value a, Value b) { return AddOp::create(builder, location, a, b); }
Value GradientBuilder::multiply(Value a, Value b) { return MultiplyOp::create(builder, location, a, b); }
Value GradientBuilder::divide(Value a, Value b) { return DivideOp::create(builder, location, a, b); }
Value GradientBuilder::negate(Value a) { return NegateOp::create(builder, location, a); }
Value GradientBuilder::equal(Value a, Value b) {
  return CompareOp::create(builder, location, a, b, ComparisonDirection::EQ);
}
Value GradientBuilder::select(Value condition, Value a, Value b) {
  return SelectOp::create(builder, location, condition, a, b);
}
Value GradientBuilder::convert(Value a, Type element) { return ConvertOp::create(builder, location, a, element); }

Value GradientBuilder::broadcast(Value a, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  return build(builder, location, "dgc.broadcast_in_dim", a,
               {builder.getNamedAttr("shape", builder.getDenseI64ArrayAttr(shape)),
                builder.getNamedAttr("broadcast_dimensions", builder.getDenseI64ArrayAttr(dims))});
}

Value GradientBuilder::transpose(Value a, ArrayRef<int64_t> permutation) {
  if (llvm::is_sorted(permutation))
    return a;
  return build(builder, location, "dgc.transpose", a,
               builder.getNamedAttr("permutation", builder.getDenseI64ArrayAttr(permutation)));
}

Value GradientBuilder::reduce(ReductionKind kind, Value a, ArrayRef<int64_t> dims) {
  return ReduceOp::create(builder, location, kind, a, dims);
}

Value GradientBuilder::dot(Value a, Value b, ArrayRef<int64_t> aBatch, ArrayRef<int64_t> bBatch,
                           ArrayRef<int64_t> aContract, ArrayRef<int64_t> bContract) {
  return DotGeneralOp::create(builder, location, a, b, aBatch, bBatch, aContract, bContract);
}

Value GradientBuilder::reduceWindow(ReductionKind kind, Value a, ArrayRef<int64_t> window, ArrayRef<int64_t> strides,
                                    ArrayRef<int64_t> padding) {
  return ReduceWindowOp::create(builder, location, kind, a, window, strides, padding);
}

Value GradientBuilder::pad(Value a, ArrayRef<int64_t> low, ArrayRef<int64_t> high, ArrayRef<int64_t> interior) {
  Value zero = constant(RankedTensorType::get({}, cast<RankedTensorType>(a.getType()).getElementType()), 0.0);
  return build(builder, location, "dgc.pad", {a, zero},
               {builder.getNamedAttr("edge_padding_low", builder.getDenseI64ArrayAttr(low)),
                builder.getNamedAttr("edge_padding_high", builder.getDenseI64ArrayAttr(high)),
                builder.getNamedAttr("interior_padding", builder.getDenseI64ArrayAttr(interior))});
}
