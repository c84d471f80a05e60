// ONNX ops that are layers: products, normalizations, softmax.

#include "compiler/import/onnx/Node.h"

using namespace mlir;

namespace dgc::import {
namespace {

/// a * b, matrices in the last two dimensions; the others are broadcast.
LogicalResult matmul(Node &n) {
  Value x = n.in(0), y = n.in(1);
  const bool isVectorX = n.rank(0) == 1, isVectorY = n.rank(1) == 1;
  if (n.rank(0) == 0 || n.rank(1) == 0)
    return n.refuse("is of vectors and matrices");
  if (isVectorX)
    x = n.b.reshape(x, {1, n.shape(0)[0]});
  if (isVectorY)
    y = n.b.reshape(y, {n.shape(1)[0], 1});
  SmallVector<int64_t> xs(tensorOf(x).getShape()), ys(tensorOf(y).getShape()), batch;
  ArrayRef<int64_t> xBatch = ArrayRef(xs).drop_back(2), yBatch = ArrayRef(ys).drop_back(2);
  if (!Node::joinShapes(xBatch, yBatch, batch) || xs.back() != ys[ys.size() - 2])
    return n.refuse("shapes do not fit");
  Value result;
  if (yBatch.empty()) { // one matrix for all
    result = n.b.dot(x, y, {}, {}, {static_cast<int64_t>(xs.size()) - 1}, {0});
  } else {
    SmallVector<int64_t> xWide(batch), yWide(batch), dims = firstNumbers(static_cast<int64_t>(batch.size()));
    xWide.append({xs[xs.size() - 2], xs.back()});
    yWide.append({ys[ys.size() - 2], ys.back()});
    const auto rank = static_cast<int64_t>(batch.size());
    result = n.b.dot(n.broadcast(x, xWide), n.broadcast(y, yWide), dims, dims, {rank + 1}, {rank});
  }
  SmallVector<int64_t> shape(batch);
  if (!isVectorX)
    shape.push_back(xs[xs.size() - 2]);
  if (!isVectorY)
    shape.push_back(ys.back());
  return n.give(n.b.reshape(result, shape));
}

LogicalResult gemm(Node &n) {
  if (n.rank(0) != 2 || n.rank(1) != 2)
    return n.refuse("is of matrices");
  Value product =
      n.b.dot(n.in(0), n.in(1), {}, {}, {n.integer("transA", 0) != 0 ? 0 : 1}, {n.integer("transB", 0) != 0 ? 1 : 0});
  const double alpha = n.number("alpha", 1), beta = n.number("beta", 1);
  if (alpha != 1)
    product = n.b.multiply(product, alpha);
  if (!n.has(2))
    return n.give(product);
  Value addend = n.in(2);
  if (beta != 1)
    addend = n.b.multiply(addend, beta);
  return n.give(n.b.add(product, n.broadcast(addend, tensorOf(product).getShape())));
}

/// Calls `function` with the operand and the dimension of a softmax. Version 12 and before took what follows `axis` as one
/// dimension, and what is before it as another.
LogicalResult alongDim(Node &n, llvm::function_ref<Value(Value, int64_t)> function) {
  const bool isOld = n.version() < 13;
  FailureOr<int64_t> dim = n.dim(n.integer("axis", isOld ? 1 : -1), n.rank(0) + (isOld ? 1 : 0));
  if (failed(dim))
    return failure();
  if (!isOld)
    return n.give(function(n.in(0), *dim));
  SmallVector<int64_t> shape(n.shape(0)), flat{1, 1};
  for (auto [i, size] : llvm::enumerate(shape))
    flat[static_cast<int64_t>(i) < *dim ? 0 : 1] *= size;
  return n.give(n.b.reshape(function(n.b.reshape(n.in(0), flat), 1), shape));
}

template <class Op> LogicalResult softmax(Node &n) {
  return alongDim(n, [&](Value x, int64_t dim) -> Value { return Op::create(n.b.builder, n.b.location, x, dim); });
}

/// 1 for the first of the largest elements, 0 for all others.
LogicalResult hardmax(Node &n) {
  return alongDim(n, [&](Value x, int64_t dim) {
    SmallVector<int64_t> shape(tensorOf(x).getShape()), kept(shape);
    kept[dim] = 1;
    auto wide = [&](Value reduced) { return n.broadcast(n.b.reshape(reduced, kept), shape); };
    Value is = n.b.equal(x, wide(n.b.reduce(ReductionKind::Max, x, {dim})));
    auto type = RankedTensorType::get(shape, n.b.builder.getI64Type());
    Value numbers = IotaOp::create(n.b.builder, n.b.location, type, dim, Value());
    Value none = n.splat(static_cast<double>(shape[dim]), numbers);
    Value first = n.b.reduce(ReductionKind::Min, n.b.select(is, numbers, none), {dim});
    return n.b.convert(n.b.equal(numbers, wide(first)), elementOf(x));
  });
}

/// (x - mean) / sqrt(variance + epsilon) over dimensions, computed in f32 at least; and the two numbers, with sizes of 1.
struct Normalized {
  Value value, mean, inverse;
};
Normalized normalized(Node &n, Value x, ArrayRef<int64_t> dims, double epsilon, bool isCentered = true) {
  SmallVector<int64_t> shape(tensorOf(x).getShape()), kept(shape);
  double count = 1;
  for (int64_t dim : dims) {
    kept[dim] = 1;
    count *= static_cast<double>(shape[dim]);
  }
  auto mean = [&](Value of) {
    Value sum = n.b.reduce(ReductionKind::Sum, of, dims);
    return n.b.reshape(n.b.divide(sum, n.splat(count, sum)), kept);
  };
  Normalized result;
  Value centered = x;
  if (isCentered) {
    result.mean = mean(x);
    centered = n.b.subtract(x, n.broadcast(result.mean, shape));
  }
  Value variance = mean(n.b.multiply(centered, centered));
  result.inverse = n.b.rsqrt(n.b.add(variance, n.splat(epsilon, variance)));
  result.value = n.b.multiply(centered, n.broadcast(result.inverse, shape));
  return result;
}

/// In f32 where the type is of 16 bits.
Type wideOf(Node &n, Type element) {
  return element.getIntOrFloatBitWidth() < 32 ? Type(n.b.builder.getF32Type()) : element;
}

LogicalResult layerNormalization(Node &n, bool isCentered) {
  FailureOr<int64_t> first = n.dim(n.integer("axis", -1), n.rank(0));
  if (failed(first))
    return failure();
  const double epsilon = n.number("epsilon", 1e-5);
  Value x = n.in(0);
  const bool isLast = *first == n.rank(0) - 1 && n.rank(1) == 1 && n.shape(1)[0] == n.shape(0).back();
  FloatAttr attribute = n.b.builder.getF64FloatAttr(epsilon);
  if (isLast && !n.wants(1) && !n.wants(2) && (n.has(2) || !isCentered)) {
    if (!isCentered)
      return n.give(RmsNormOp::create(n.b.builder, n.b.location, x, n.in(1), attribute));
    if (n.rank(2) == 1 && n.shape(2)[0] == n.shape(0).back())
      return n.give(LayerNormOp::create(n.b.builder, n.b.location, x, n.in(1), n.in(2), attribute));
  }
  SmallVector<int64_t> dims;
  for (int64_t dim = *first; dim < n.rank(0); ++dim)
    dims.push_back(dim);
  Type element = elementOf(x);
  Normalized all = normalized(n, n.b.convert(x, wideOf(n, element)), dims, epsilon, isCentered);
  Value y = n.b.multiply(n.b.convert(all.value, element), n.broadcast(n.in(1), n.shape(0)));
  if (isCentered && n.has(2))
    y = n.b.add(y, n.broadcast(n.in(2), n.shape(0)));
  return n.give(ValueRange{y, all.mean, all.inverse});
}

/// One number for each channel, dimension 1.
Value perChannel(Node &n, Value x, ArrayRef<int64_t> shape) { return n.b.broadcast(x, shape, {1}); }

LogicalResult batchNormalization(Node &n) {
  if (n.integer("training_mode", 0) != 0 || n.wants(1))
    return n.refuse("in training mode: a model for inference has the statistics of its training");
  if (n.integer("spatial", 1) == 0)
    return n.refuse("with statistics of each place");
  if (n.rank(0) < 2)
    return n.refuse("its operand has no channels");
  Value x = n.in(0), variance = n.in(4);
  Value inverse = n.b.rsqrt(n.b.add(variance, n.splat(n.number("epsilon", 1e-5), variance)));
  Value scale = n.b.multiply(n.in(1), n.b.convert(inverse, elementOf(n.in(1))));
  Value centered = n.b.subtract(x, n.b.convert(perChannel(n, n.in(3), n.shape(0)), elementOf(x)));
  Value scaled = n.b.multiply(centered, n.b.convert(perChannel(n, scale, n.shape(0)), elementOf(x)));
  return n.give(n.b.add(scaled, n.b.convert(perChannel(n, n.in(2), n.shape(0)), elementOf(x))));
}

LogicalResult instanceNormalization(Node &n) {
  if (n.rank(0) < 3)
    return n.refuse("its operand has no channels");
  SmallVector<int64_t> dims;
  for (int64_t dim = 2; dim < n.rank(0); ++dim)
    dims.push_back(dim);
  Value y = normalized(n, n.in(0), dims, n.number("epsilon", 1e-5)).value;
  y = n.b.multiply(y, perChannel(n, n.in(1), n.shape(0)));
  return n.give(n.b.add(y, perChannel(n, n.in(2), n.shape(0))));
}

LogicalResult groupNormalization(Node &n) {
  const int64_t groups = n.integer("num_groups", 1);
  if (n.rank(0) < 2 || groups < 1 || n.shape(0)[1] % groups != 0)
    return n.refuse("its channels are not divided by the groups");
  SmallVector<int64_t> split(n.shape(0)), dims;
  split[1] = groups;
  split.insert(split.begin() + 2, n.shape(0)[1] / groups);
  for (int64_t dim = 2; dim < static_cast<int64_t>(split.size()); ++dim)
    dims.push_back(dim);
  Type element = elementOf(n.in(0));
  Value x = n.b.convert(n.b.reshape(n.in(0), split), wideOf(n, element));
  Value y = n.b.convert(normalized(n, x, dims, n.number("epsilon", 1e-5)).value, element);
  y = n.b.reshape(y, n.shape(0));
  auto wide = [&](Value each) { // one for each group before version 21
    const int64_t count = tensorOf(each).getNumElements(), channels = n.shape(0)[1];
    if (count != channels)
      each = n.b.reshape(n.b.broadcast(each, {count, channels / count}, {0}), {channels});
    return perChannel(n, each, n.shape(0));
  };
  return n.give(n.b.add(n.b.multiply(y, wide(n.in(1))), wide(n.in(2))));
}

LogicalResult lpNormalization(Node &n) {
  FailureOr<int64_t> dim = n.dim(n.integer("axis", -1), n.rank(0));
  if (failed(dim))
    return failure();
  Value x = n.in(0), of = n.integer("p", 2) == 1 ? n.b.abs(x) : n.b.multiply(x, x);
  Value sum = n.b.reduce(ReductionKind::Sum, of, {*dim});
  SmallVector<int64_t> kept(n.shape(0));
  kept[*dim] = 1;
  Value norm = n.integer("p", 2) == 1 ? sum : n.b.sqrt(sum);
  Value wide = n.broadcast(n.b.reshape(norm, kept), n.shape(0)), zero = n.splat(0, x);
  return n.give(n.b.select(n.b.equal(wide, zero), zero, n.b.divide(x, wide))); // zeros remain zeros
}

/// In a model for inference nothing is dropped.
LogicalResult dropout(Node &n) {
  if (n.has(2)) {
    DenseElementsAttr training = n.constant(2);
    if (!training || training.getSplatValue<bool>())
      return n.refuse("in training mode");
  }
  Value mask;
  if (n.wants(1) && n.version() < 10)
    return n.refuse("its mask is used, which has no truth values before version 10");
  if (n.wants(1))
    mask = ConstantOp::create(n.b.builder, n.b.location,
                              DenseElementsAttr::get(RankedTensorType::get(n.shape(0), n.b.builder.getI1Type()), true));
  return n.give(ValueRange{n.in(0), mask});
}

constexpr OnnxRule rules[] = {
    {"BatchNormalization", batchNormalization},
    {"Dropout", dropout},
    {"Gemm", gemm},
    {"GroupNormalization", groupNormalization},
    {"Hardmax", hardmax},
    {"InstanceNormalization", instanceNormalization},
    {"LayerNormalization", [](Node &n) { return layerNormalization(n, /*isCentered=*/true); }},
    {"LogSoftmax", softmax<LogSoftmaxOp>},
    {"LpNormalization", lpNormalization},
    {"MatMul", matmul},
    {"MeanVarianceNormalization",
     [](Node &n) {
       SmallVector<int64_t> dims = n.integers("axes");
       if (!n.hasAttribute("axes"))
         dims = {0, 2, 3};
       return n.give(normalized(n, n.in(0), dims, 1e-9).value);
     }},
    {"RMSNormalization", [](Node &n) { return layerNormalization(n, /*isCentered=*/false); }},
    {"Softmax", softmax<SoftmaxOp>},
};

} // namespace

ArrayRef<OnnxRule> onnxLayerRules() { return rules; }

} // namespace dgc::import
