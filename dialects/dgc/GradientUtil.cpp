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
Value GradientBuilder::multiply(Value a, Value b) { return build(builder, location, "dgc.multiply", {a, b}); }
Value GradientBuilder::divide(Value a, Value b) { return build(builder, location, "dgc.divide", {a, b}); }
Value GradientBuilder::negate(Value a) { return build(builder, location, "dgc.negate", a); }
Value GradientBuilder::equal(Value a, Value b) { return build(builder, location, "dgc.compare", {a, b}); }
Value GradientBuilder::select(Value condition, Value a, Value b) {
  return build(builder, location, "dgc.select", {condition, a, b});
}
Value GradientBuilder::convert(Value a, Type element) {
  return build(builder, location, "dgc.convert", a, builder.getNamedAttr("element_type", TypeAttr::get(element)));
}

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
