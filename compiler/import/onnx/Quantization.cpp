// Quantized tensors of ONNX: integers of 8 or 16 bits with a scale and a zero point.

#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Window.h"

using namespace mlir;

namespace dgc::import {
namespace {

/// The least and the largest integer of a type of at most 16 bits.
std::pair<double, double> rangeOf(Type element) {
  const unsigned width = element.getIntOrFloatBitWidth();
  const bool isUnsigned = element.isUnsignedInteger();
  return {isUnsigned ? 0 : -static_cast<double>(1 << (width - 1)),
          static_cast<double>((1 << (isUnsigned ? width : width - 1)) - 1)};
}
bool isQuantized(Type element) {
  return isa<IntegerType>(element) && (element.getIntOrFloatBitWidth() == 8 || element.getIntOrFloatBitWidth() == 16);
}

/// Rounded, moved by the zero point, and kept in the range of the type. The zero point is of floats, or null.
Value quantized(Node &n, Value x, Value zero, Type to) {
  Value y = RoundNearestEvenOp::create(n.b.builder, n.b.location, x);
  y = zero ? n.b.add(y, zero) : y;
  auto [low, high] = rangeOf(to);
  return n.b.convert(n.b.minimum(n.b.maximum(y, n.splat(low, y)), n.splat(high, y)), to);
}

/// A scale or zero point for the operand: one for all, one for each entry of a dimension, or one for each block of it.
FailureOr<Value> spread(Node &n, unsigned input, ArrayRef<int64_t> shape, Type element) {
  Value x = n.b.convert(n.in(input), element);
  const int64_t block = n.integer("block_size", 0), rank = n.rank(input);
  if (n.type(input).getNumElements() == 1 && block == 0)
    return n.b.broadcast(n.b.reshape(x, {}), shape, {});
  FailureOr<int64_t> dim = n.dim(n.integer("axis", 1), static_cast<int64_t>(shape.size()));
  if (failed(dim))
    return failure();
  if (rank == 1 && block == 0 && n.shape(input)[0] == shape[*dim])
    return n.b.broadcast(x, shape, {*dim});
  SmallVector<int64_t> blocks(shape);
  if (block > 0)
    blocks[*dim] = llvm::divideCeil(shape[*dim], block);
  if (block <= 0 || n.shape(input) != ArrayRef(blocks))
    return n.refuse("operand " + Twine(input) + " does not fit");
  SmallVector<int64_t> wide(blocks), dims = firstNumbers(rank), starts(rank, 0), repeated(blocks);
  wide.insert(wide.begin() + *dim + 1, block);
  for (int64_t i = *dim + 1; i < rank; ++i)
    ++dims[i];
  repeated[*dim] = blocks[*dim] * block;
  return n.b.slice(n.b.reshape(n.b.broadcast(x, wide, dims), repeated), starts, shape);
}

LogicalResult quantize(Node &n) {
  Type to = IntegerType::get(n.b.builder.getContext(), 8, IntegerType::Unsigned);
  if (n.has(2)) {
    to = n.type(2).getElementType();
  } else if (n.integer("output_dtype", 0) != 0) {
    FailureOr<Type> given = n.elementType("output_dtype", 0);
    if (failed(given))
      return failure();
    to = *given;
  }
  if (!isQuantized(to))
    return n.refuse("integers of 8 or 16 bits are supported");
  Type element = elementOf(n.in(0));
  if (!isa<FloatType>(element) || element.getIntOrFloatBitWidth() < 32)
    element = n.b.builder.getF32Type();
  SmallVector<int64_t> shape(n.shape(0));
  FailureOr<Value> scale = spread(n, 1, shape, element), zero = n.has(2) ? spread(n, 2, shape, element) : Value();
  if (failed(scale) || failed(zero))
    return failure();
  return n.give(quantized(n, n.b.divide(n.b.convert(n.in(0), element), *scale), *zero, to));
}

LogicalResult dequantize(Node &n) {
  Type element = elementOf(n.in(1)), wide = element;
  if (!isa<IntegerType>(elementOf(n.in(0))) || !isa<FloatType>(element))
    return n.refuse("its operand has no integers, or its scale no floating-point numbers");
  if (n.integer("output_dtype", 0) != 0) {
    FailureOr<Type> given = n.elementType("output_dtype", 0);
    if (failed(given))
      return failure();
    element = *given;
  }
  if (wide.getIntOrFloatBitWidth() < 32)
    wide = n.b.builder.getF32Type();
  SmallVector<int64_t> shape(n.shape(0));
  Type i32 = n.b.builder.getI32Type();
  FailureOr<Value> scale = spread(n, 1, shape, wide), zero = n.has(2) ? spread(n, 2, shape, i32) : Value();
  if (failed(scale) || failed(zero))
    return failure();
  Value x = n.b.convert(n.in(0), i32);
  x = *zero ? n.b.subtract(x, *zero) : x;
  return n.give(n.b.convert(n.b.multiply(n.b.convert(x, wide), *scale), element));
}

/// In uint8, with a scale and a zero point for which the range of the operand and 0 have integers.
LogicalResult dynamicQuantize(Node &n) {
  Value x = n.in(0), zero = n.b.constant(RankedTensorType::get({}, elementOf(x)), 0);
  SmallVector<int64_t> all = firstNumbers(n.rank(0));
  Value low = n.b.minimum(n.b.reduce(ReductionKind::Min, x, all), zero);
  Value high = n.b.maximum(n.b.reduce(ReductionKind::Max, x, all), zero);
  Value range = n.b.subtract(high, low), most = n.splat(255, range);
  Value scale = n.b.divide(n.b.select(n.b.equal(range, zero), n.splat(1, range), range), most);
  Value point = n.b.subtract(zero, n.b.divide(low, scale));
  point = RoundNearestEvenOp::create(n.b.builder, n.b.location, n.b.minimum(n.b.maximum(point, zero), most));
  Type to = IntegerType::get(n.b.builder.getContext(), 8, IntegerType::Unsigned);
  auto wide = [&](Value scalar) { return n.b.broadcast(scalar, n.shape(0), {}); };
  return n.give(ValueRange{quantized(n, n.b.divide(x, wide(scale)), wide(point), to), scale, n.b.convert(point, to)});
}

/// An operand without its zero point, in i32: one for all, or one for each entry of a dimension.
FailureOr<Value> centered(Node &n, unsigned input, unsigned point, int64_t dim) {
  Type i32 = n.b.builder.getI32Type();
  if (!isa<IntegerType>(elementOf(n.in(input))))
    return n.refuse("operand " + Twine(input) + " has no integers");
  Value x = n.b.convert(n.in(input), i32);
  if (!n.has(point))
    return x;
  Value zero = n.b.convert(n.in(point), i32);
  const int64_t count = n.type(point).getNumElements(), rank = tensorOf(x).getRank();
  if (count == 1)
    return n.b.subtract(x, n.b.broadcast(n.b.reshape(zero, {}), tensorOf(x).getShape(), {}));
  if (n.rank(point) != 1 || dim >= rank || count != tensorOf(x).getDimSize(dim))
    return n.refuse("operand " + Twine(point) + " does not fit");
  return n.b.subtract(x, n.b.broadcast(zero, tensorOf(x).getShape(), {dim}));
}

/// A product of matrices in i32; leading dimensions have to be the same, or only those of the first.
FailureOr<Value> product(Node &n, Value x, Value y) {
  const int64_t xRank = tensorOf(x).getRank(), yRank = tensorOf(y).getRank();
  if (xRank < 2 || yRank < 2 ||
      (yRank != 2 && tensorOf(x).getShape().drop_back(2) != tensorOf(y).getShape().drop_back(2)) ||
      tensorOf(x).getShape().back() != tensorOf(y).getDimSize(yRank - 2))
    return n.refuse("its shapes do not fit");
  SmallVector<int64_t> batch = firstNumbers(yRank - 2);
  return n.b.dot(x, y, batch, batch, {xRank - 1}, {yRank - 2});
}

LogicalResult matmulInteger(Node &n) {
  FailureOr<Value> x = centered(n, 0, 2, n.rank(0) - 2), y = centered(n, 1, 3, n.rank(1) - 1);
  if (failed(x) || failed(y))
    return failure();
  FailureOr<Value> all = product(n, *x, *y);
  return failed(all) ? failure() : n.give(*all);
}

/// A convolution in i32.
FailureOr<Value> convolve(Node &n, Value x, Value weights) {
  ArrayRef<int64_t> w = tensorOf(weights).getShape();
  const auto rank = static_cast<int64_t>(w.size());
  const int64_t groups = n.integer("group", 1);
  if (rank < 3 || n.rank(0) != rank || groups < 1 || w[1] * groups != n.shape(0)[1] || w[0] % groups != 0)
    return n.refuse("its channels are not those of its weights");
  FailureOr<Window> window = windowOf(n, SmallVector<int64_t>(w.drop_front(2)));
  if (failed(window))
    return failure();
  SmallVector<int64_t> order = firstNumbers(rank);
  std::rotate(order.begin(), order.begin() + 2, order.end());
  std::swap(order[rank - 2], order[rank - 1]);
  Value y = ConvolutionOp::create(
      n.b.builder, n.b.location, channelsLast(n, x), n.b.transpose(weights, order), window->strides, window->padding,
      window->dilations, SmallVector<int64_t>(static_cast<size_t>(window->rank()), 1), static_cast<uint64_t>(groups));
  return channelsSecond(n, y);
}

LogicalResult convolutionInteger(Node &n) {
  FailureOr<Value> x = centered(n, 0, 2, n.rank(0)), w = centered(n, 1, 3, 0);
  FailureOr<Value> y = failed(x) || failed(w) ? FailureOr<Value>() : convolve(n, *x, *w);
  return failed(y) ? failure() : n.give(*y);
}

/// A product of i32 times the scales of its operands, as the result has them: scales of the second operand along `dim`.
LogicalResult requantize(Node &n, Value sum, unsigned firstScale, unsigned secondScale, unsigned resultScale,
                         int64_t dim) {
  Type f32 = n.b.builder.getF32Type(), to = n.type(resultScale + 1).getElementType();
  if (!isQuantized(to))
    return n.refuse("integers of 8 or 16 bits are supported");
  ArrayRef<int64_t> shape = tensorOf(sum).getShape();
  auto one = [&](unsigned input) -> FailureOr<Value> {
    Value x = n.b.convert(n.in(input), f32);
    const int64_t count = n.type(input).getNumElements();
    if (count == 1)
      return n.b.broadcast(n.b.reshape(x, {}), shape, {});
    if (input != secondScale || n.rank(input) != 1 || count != shape[dim])
      return n.refuse("operand " + Twine(input) + " does not fit");
    return n.b.broadcast(x, shape, {dim});
  };
  FailureOr<Value> first = one(firstScale), second = one(secondScale), result = one(resultScale),
                   zero = one(resultScale + 1);
  if (failed(first) || failed(second) || failed(result) || failed(zero))
    return failure();
  Value factor = n.b.divide(n.b.multiply(*first, *second), *result);
  return n.give(quantized(n, n.b.multiply(n.b.convert(sum, f32), factor), *zero, to));
}

LogicalResult quantizedMatmul(Node &n) {
  FailureOr<Value> x = centered(n, 0, 2, n.rank(0) - 2), y = centered(n, 3, 5, n.rank(3) - 1);
  FailureOr<Value> sum = failed(x) || failed(y) ? FailureOr<Value>() : product(n, *x, *y);
  return failed(sum) ? failure() : requantize(n, *sum, 1, 4, 6, tensorOf(*sum).getRank() - 1);
}

LogicalResult quantizedConvolution(Node &n) {
  FailureOr<Value> x = centered(n, 0, 2, n.rank(0)), w = centered(n, 3, 5, 0);
  FailureOr<Value> sum = failed(x) || failed(w) ? FailureOr<Value>() : convolve(n, *x, *w);
  if (failed(sum))
    return failure();
  Value y = *sum;
  if (n.has(8))
    y = n.b.add(y, n.b.broadcast(n.in(8), tensorOf(y).getShape(), {1}));
  return requantize(n, y, 1, 4, 6, 1);
}

constexpr OnnxRule rules[] = {
    {"ConvInteger", convolutionInteger},
    {"DequantizeLinear", dequantize},
    {"DynamicQuantizeLinear", dynamicQuantize},
    {"MatMulInteger", matmulInteger},
    {"QLinearConv", quantizedConvolution},
    {"QLinearMatMul", quantizedMatmul},
    {"QuantizeLinear", quantize},
};

} // namespace

ArrayRef<OnnxRule> onnxQuantizationRules() { return rules; }

} // namespace dgc::import
