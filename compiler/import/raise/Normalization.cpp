// Layer, RMS, group and batch normalization, as JAX writes them.

#include "compiler/import/raise/Expression.h"
#include "dialects/dgc/CompositeBuilder.h"

using namespace mlir;
using namespace dgc;

namespace dgc::import::raise {

namespace {
/// (input - mean) / sqrt(variance + epsilon) * scale + offset; what is not there is null.
struct Normalization {
  Value input;
  std::optional<Expression> mean, variance, scale, offset;
  double epsilon = 0;
};
} // namespace

/// variance + epsilon, either way round.
static bool isGuardedVariance(const Expression &x, Normalization &found) {
  return anyOrder<AddOp>(x, [&](const Expression &variance, const Expression &epsilon) {
    std::optional<double> number = epsilon.number();
    if (!number || *number < 0)
      return false;
    found.variance = variance.stripped();
    found.epsilon = *number;
    return true;
  });
}

/// Takes 1 / sqrt(variance + epsilon) out of the product.
static bool takeInverseDeviation(Product &product, Normalization &found) {
  if (product.divisors.size() == 1 && product.divisors.front().as<SqrtOp>()) {
    const bool isGuarded = isGuardedVariance(product.divisors.front().operand(0), found);
    product.divisors.clear();
    return isGuarded;
  }
  return product.divisors.empty() && product.take([&](const Expression &factor) {
    return factor.as<RsqrtOp>() && isGuardedVariance(factor.operand(0), found);
  });
}

/// The value without what is added along the dimensions `dims` alone.
static Expression withoutOffset(const Expression &y, ArrayRef<int64_t> dims, Normalization &found) {
  Expression rest = y;
  (void)anyOrder<AddOp>(y, [&](const Expression &product, const Expression &offset) {
    if (!offset.isAlong(dims) || product.isAlong(dims))
      return false;
    found.offset = offset.stripped();
    rest = product;
    return true;
  });
  return rest;
}

/// The input as a value of the shape of the op: what moves no element may be in front of it.
static bool takeInput(Expression input, Normalization &found) {
  while (!input.isWhole()) {
    Expression inner = input.stripped();
    if (inner.value == input.value)
      return false;
    input = inner;
  }
  found.input = input.value;
  return true;
}

/// (input - mean) / sqrt(variance + epsilon) * scale + offset
static bool takeCentred(const Expression &y, ArrayRef<int64_t> dims, Normalization &found) {
  Product product = Product::of(withoutOffset(y, dims, found));
  if (product.coefficient != 1 || !takeInverseDeviation(product, found))
    return false;
  found.scale = product.take([&](const Expression &factor) { return factor.isAlong(dims); });
  if (product.factors.size() != 1 || !product.divisors.empty())
    return false;
  Expression input = product.factors.front();
  if (input.as<SubtractOp>()) {
    found.mean = input.operand(1).stripped();
    input = input.operand(0);
  }
  return takeInput(input, found);
}

/// The mean that a variance is about: of its squares of x - mean, or of which it takes the square away.
static std::optional<Expression> meanOfVariance(const Expression &variance) {
  if (variance.as<MaximumOp>()) {
    std::optional<Expression> mean;
    (void)anyOrder<MaximumOp>(variance, [&](const Expression &zero, const Expression &inner) {
      return zero.number() == 0 && (mean = meanOfVariance(inner)).has_value();
    });
    return mean;
  }
  if (variance.as<SubtractOp>())
    return variance.operand(1).as<MultiplyOp>() ? std::optional(variance.operand(1).operand(0).stripped())
                                                : std::nullopt;
  std::optional<Expression> square = variance.mean();
  if (!square || !square->as<MultiplyOp>() || !square->operand(0).as<SubtractOp>())
    return std::nullopt;
  return square->operand(0).operand(1).stripped();
}

/// Whether `x` is -mean times the inverse deviation and the scale; notes the mean.
static bool takeShift(const Expression &x, Normalization &found) {
  Normalization again;
  Product product = Product::of(x);
  if (!takeInverseDeviation(product, again) || again.epsilon != found.epsilon || !again.variance->is(*found.variance))
    return false;
  if (found.scale && !product.take([&](const Expression &factor) { return factor.is(*found.scale); }))
    return false;
  found.mean = meanOfVariance(*found.variance);
  const Product mean = found.mean ? Product::of(*found.mean) : Product();
  // A mean is a sum times a number.
  return product.factors.size() == 1 && product.divisors.empty() && mean.factors.size() == 1 && mean.divisors.empty() &&
         product.factors.front().is(mean.factors.front()) &&
         isAbout(product.coefficient, -mean.coefficient, elementOf(x.value));
}

/// input * factor + (offset - mean * factor) with factor = scale / sqrt(variance + epsilon), as Keras writes it.
static bool takeFolded(const Expression &y, ArrayRef<int64_t> dims, Normalization &found) {
  return anyOrder<AddOp>(y, [&](const Expression &scaled, const Expression &shift) {
    Normalization parts;
    Product product = Product::of(scaled);
    if (product.coefficient != 1 || !takeInverseDeviation(product, parts))
      return false;
    parts.scale = product.take([&](const Expression &factor) { return factor.isAlong(dims); });
    if (product.factors.size() != 1 || !product.divisors.empty() || !takeInput(product.factors.front(), parts))
      return false;
    const bool isShifted =
        takeShift(shift, parts) || anyOrder<AddOp>(shift, [&](const Expression &inner, const Expression &offset) {
          parts.offset = offset.stripped();
          return offset.isAlong(dims) && takeShift(inner, parts);
        });
    if (isShifted)
      found = parts;
    return isShifted;
  });
}

/// Takes apart what ends in `op`, with the scale and the offset along the dimensions `dims`.
static std::optional<Normalization> takeApart(Operation *op, ArrayRef<int64_t> dims) {
  const Expression y = Expression::of(op->getResult(0));
  Normalization found;
  if (takeFolded(y, dims, found))
    return found;
  found = {};
  return takeCentred(y, dims, found) ? std::optional(found) : std::nullopt;
}

/// Whether `x` is the mean of the square of `of` over all dimensions but `dims`.
static bool isMeanSquare(const Expression &x, const Expression &of, ArrayRef<int64_t> dims) {
  std::optional<Expression> square = x.mean();
  return square && x.changesAlong(dims) && square->as<MultiplyOp>() && square->operand(0).is(of) &&
         square->operand(1).is(of);
}

static bool isMean(const Expression &x, const Expression &of, ArrayRef<int64_t> dims) {
  std::optional<Expression> terms = x.mean();
  return terms && terms->is(of) && x.changesAlong(dims);
}

/// Whether `variance` is that of `input`, whose mean is `mean`: the mean of the squares of x - mean, or the mean of the squares
/// without the square of the mean, and not below 0.
static bool isVariance(const Expression &variance, const Expression &input, const Expression &mean,
                       ArrayRef<int64_t> dims) {
  if (!variance.changesAlong(dims))
    return false;
  if (auto bounded = variance.as<MaximumOp>())
    return anyOrder<MaximumOp>(variance, [&](const Expression &zero, const Expression &inner) {
      return zero.number() == 0 && isVariance(inner, input, mean, dims);
    });
  if (variance.as<SubtractOp>()) {
    Expression square = variance.operand(1);
    return isMeanSquare(variance.operand(0), input, dims) && square.as<MultiplyOp>() && square.operand(0).is(mean) &&
           square.operand(1).is(mean);
  }
  std::optional<Expression> square = variance.mean();
  if (!square || !square->as<MultiplyOp>() || !square->operand(0).is(square->operand(1)))
    return false;
  Expression centred = square->operand(0);
  return centred.as<SubtractOp>() && centred.operand(0).is(input) &&
         (centred.operand(1).is(mean) || isMean(centred.operand(1), input, dims));
}

/// The parameter, a vector of `size` elements of the last dimension; `otherwise` in each where there is none.
static Value parameter(CompositeBuilder &b, const std::optional<Expression> &x, int64_t size, Type element,
                       double otherwise) {
  if (!x)
    return b.splat(otherwise, ArrayRef{size}, element);
  if (std::optional<double> number = x->number())
    return b.splat(*number, ArrayRef{size}, element);
  if (tensorOf(x->value).getNumElements() == 1) // one for all
    return b.broadcast(b.reshape(x->value, {}), {size}, {});
  return b.reshape(x->value, {size});
}

/// The values that the composite takes in place of what is between them and `op`.
static SmallVector<Value> inputsOf(const Normalization &parts) {
  SmallVector<Value> inputs{parts.input};
  for (const std::optional<Expression> &each : {parts.scale, parts.offset})
    if (each && !each->number())
      inputs.push_back(each->value);
  return inputs;
}

/// Whether what is centred and scaled is `input`, by its own mean and variance over all dimensions but `dims`.
static bool isNormalized(const Normalization &parts, const Expression &input, ArrayRef<int64_t> dims) {
  return parts.mean && isMean(*parts.mean, input, dims) && isVariance(*parts.variance, input, *parts.mean, dims);
}

/// Replaces `op` by a normalization of `parts` with scale and offset, where nothing else uses what is between.
template <class Op, class... Args>
static bool replace(Operation *op, OpBuilder &builder, const Normalization &parts, Args... args) {
  if (!isClosed(op, inputsOf(parts)))
    return false;
  builder.setInsertionPoint(op);
  CompositeBuilder b(builder, op->getLoc());
  Type element = elementOf(parts.input);
  const int64_t size = shapeOf(op->getResult(0)).back();
  Value scale = parameter(b, parts.scale, size, element, 1), offset = parameter(b, parts.offset, size, element, 0);
  Value result =
      Op::create(builder, op->getLoc(), parts.input, scale, offset, args..., builder.getF64FloatAttr(parts.epsilon))
          .getResult();
  op->getResult(0).replaceAllUsesWith(result);
  return true;
}

static bool raiseRmsNorm(Operation *op, OpBuilder &builder, const Normalization &parts) {
  if (parts.offset || !isClosed(op, inputsOf(parts)))
    return false;
  builder.setInsertionPoint(op);
  CompositeBuilder b(builder, op->getLoc());
  Value scale = parameter(b, parts.scale, shapeOf(parts.input).back(), elementOf(parts.input), 1);
  auto norm = RmsNormOp::create(builder, op->getLoc(), parts.input, scale, builder.getF64FloatAttr(parts.epsilon));
  op->getResult(0).replaceAllUsesWith(norm.getResult());
  return true;
}

/// Along the last dimension, or of each channel of each example.
static bool raiseLayerNorm(Operation *op, OpBuilder &builder, const Normalization &parts, int64_t last) {
  Expression input = Expression::of(parts.input);
  const SmallVector<int64_t> others = firstNumbers(last);
  if (isNormalized(parts, input, others))
    return replace<LayerNormOp>(op, builder, parts);
  if (last > 1 && isNormalized(parts, input, {0, last}))
    return replace<InstanceNormOp>(op, builder, parts);
  return !parts.mean && isMeanSquare(*parts.variance, input, others) && raiseRmsNorm(op, builder, parts);
}

//===----------------------------------------------------------------------===//
// Groups of channels
//===----------------------------------------------------------------------===//

/// Whether `split` is the shape with its last dimension as groups of channels.
static bool isSplitOf(ArrayRef<int64_t> split, ArrayRef<int64_t> shape) {
  return split.size() == shape.size() + 1 && split.drop_back(2) == shape.drop_back() &&
         split.back() * split[split.size() - 2] == shape.back();
}

/// The value of each group, `[n, groups]`, that `x` repeats for each channel of it: `[n, groups, channels / groups]`, reshaped.
static Value ofGroups(const Expression &x, int64_t last) {
  Expression merged = x.stripped();
  auto reshape = merged.value.getDefiningOp<ReshapeOp>();
  auto repeat = reshape ? reshape.getOperand().getDefiningOp<BroadcastInDimOp>() : BroadcastInDimOp();
  // The first dimension is the examples, of which there may be one.
  const bool isFirst = reshape && tensorOf(reshape.getResult()).getRank() == 2 && merged.place.front() <= 0;
  if (!repeat || !isFirst || merged.place.back() != last || !isSplitOf(repeat.getShape(), shapeOf(reshape)) ||
      repeat.getBroadcastDimensions() != ArrayRef<int64_t>(firstNumbers(tensorOf(reshape.getResult()).getRank())))
    return {};
  return repeat.getOperand();
}

/// Mean and variance as they stand in the space of the split input, in place of what repeats them for each channel.
static bool inSplitSpace(Normalization &parts, const Expression &split, int64_t last) {
  auto move = [&](std::optional<Expression> &x) {
    Value value = x ? ofGroups(*x, last) : Value();
    if (!value || tensorOf(value).getRank() != 2)
      return false;
    x = split.with(value);
    x->place = {shapeOf(value)[0] == 1 ? -1 : 0, shapeOf(value)[1] == 1 ? -1 : last};
    return true;
  };
  return move(parts.mean) && move(parts.variance);
}

/// The reshape of the value into groups of channels, if there is one.
static ReshapeOp splitOf(Value value) {
  for (Operation *user : value.getUsers())
    if (auto reshape = dyn_cast<ReshapeOp>(user); reshape && isSplitOf(shapeOf(reshape), shapeOf(value)))
      return reshape;
  return {};
}

/// Statistics of groups are repeated for each channel, and the input is normalized in its own shape: flax.
static bool raiseRepeatedGroups(Operation *op, OpBuilder &builder, Normalization parts, int64_t last) {
  ReshapeOp split = last < 2 ? ReshapeOp() : splitOf(parts.input);
  if (!split)
    return false;
  Expression input = Expression::of(split.getResult());
  const int64_t groups = shapeOf(split)[last];
  return inSplitSpace(parts, input, last) && isNormalized(parts, input, {0, last}) &&
         replace<GroupNormOp>(op, builder, parts, builder.getI64IntegerAttr(groups));
}

/// The input is normalized in groups, reshaped back, and scaled.
static bool raiseSplitGroups(Operation *op, OpBuilder &builder, int64_t last) {
  Normalization outer;
  Product product = Product::of(withoutOffset(Expression::of(op->getResult(0)), last, outer));
  outer.scale = product.take([&](const Expression &factor) { return factor.isAlong(last); });
  if (product.coefficient != 1 || product.factors.size() != 1 || !product.divisors.empty())
    return false;
  Expression merged = product.factors.front();
  auto reshape = merged.as<ReshapeOp>();
  Operation *normalized = reshape ? reshape.getOperand().getDefiningOp() : nullptr;
  if (!normalized || normalized->getNumResults() != 1 || !merged.isWhole() ||
      !isSplitOf(shapeOf(reshape.getOperand()), shapeOf(merged.value)))
    return false;
  std::optional<Normalization> parts = takeApart(normalized, {});
  auto split = parts ? parts->input.getDefiningOp<ReshapeOp>() : ReshapeOp();
  if (!split || parts->scale || parts->offset || split.getOperand().getType() != op->getResult(0).getType() ||
      !isNormalized(*parts, Expression::of(parts->input), {0, last}))
    return false;
  outer.input = split.getOperand();
  outer.epsilon = parts->epsilon;
  return replace<GroupNormOp>(op, builder, outer, builder.getI64IntegerAttr(shapeOf(split)[last]));
}

//===----------------------------------------------------------------------===//
// Statistics of the batch
//===----------------------------------------------------------------------===//

namespace {
/// next = momentum * running + (1 - momentum) * statistic
struct RunningStatistic {
  AddOp next;
  Value running;
  double momentum = 0;

  static std::optional<RunningStatistic> of(const Expression &statistic);
};
} // namespace

/// The number and the value whose product it is; null where it is none.
static std::pair<double, Value> scaled(const Expression &x) {
  std::pair<double, Value> parts;
  (void)anyOrder<MultiplyOp>(x, [&](const Expression &number, const Expression &value) {
    std::optional<double> factor = number.number();
    if (factor)
      parts = {*factor, value.stripped().value};
    return factor.has_value();
  });
  return parts;
}

std::optional<RunningStatistic> RunningStatistic::of(const Expression &statistic) {
  SmallVector<Operation *> left(statistic.value.getUsers());
  constexpr size_t kMost = 32;
  for (size_t index = 0; index < left.size() && left.size() < kMost; ++index) {
    Operation *op = left[index];
    if (isa<MultiplyOp, SelectOp, ReshapeOp, BroadcastInDimOp>(op))
      llvm::append_range(left, op->getUsers());
    auto next = dyn_cast<AddOp>(op);
    if (!next)
      continue;
    RunningStatistic found;
    const bool isFound = anyOrder<AddOp>(Expression::of(next), [&](const Expression &kept, const Expression &added) {
      const auto [momentum, running] = scaled(kept);
      const auto [share, fresh] = scaled(added);
      if (!running || fresh != statistic.value || !(momentum > 0 && momentum < 1) ||
          std::abs(momentum + share - 1) > 1e-6)
        return false;
      found = {next, running, momentum};
      return true;
    });
    if (isFound && found.running.getType() == next.getType() && tensorOf(found.running).getRank() == 1)
      return found;
  }
  return std::nullopt;
}

// Without running statistics it is left as it is: what evaluates a model would have none to use.
static bool raiseBatchNorm(Operation *op, OpBuilder &builder, const Normalization &parts, int64_t last) {
  if (!isNormalized(parts, Expression::of(parts.input), last))
    return false;
  std::optional<RunningStatistic> mean = RunningStatistic::of(*parts.mean);
  std::optional<RunningStatistic> variance = RunningStatistic::of(*parts.variance);
  if (!mean || !variance || mean->momentum != variance->momentum)
    return false;
  SmallVector<Value> inputs = inputsOf(parts);
  inputs.append({mean->running, variance->running});
  SmallVector<Operation *> roots{op, mean->next, variance->next};
  if (!isClosed(roots, inputs))
    return false;
  // Behind all operands, and before all that uses the results.
  Operation *first = *llvm::min_element(roots, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  for (Value input : inputs)
    if (Operation *source = input.getDefiningOp(); source && !source->isBeforeInBlock(first))
      return false;
  builder.setInsertionPoint(first);
  CompositeBuilder b(builder, op->getLoc());
  Type element = elementOf(parts.input);
  const int64_t size = shapeOf(parts.input).back();
  auto norm = BatchNormOp::create(builder, op->getLoc(), parts.input, parameter(b, parts.scale, size, element, 1),
                                  parameter(b, parts.offset, size, element, 0), mean->running, variance->running,
                                  /*valid=*/Value(), builder.getF64FloatAttr(mean->momentum),
                                  builder.getF64FloatAttr(parts.epsilon), builder.getUnitAttr());
  op->getResult(0).replaceAllUsesWith(norm.getResult());
  mean->next.getResult().replaceAllUsesWith(norm.getNextMean());
  variance->next.getResult().replaceAllUsesWith(norm.getNextVariance());
  return true;
}

bool raiseNormalization(Operation *op, OpBuilder &builder) {
  Value result = op->getResult(0);
  const int64_t last = tensorOf(result).getRank() - 1;
  if (!isa<AddOp, MultiplyOp, DivideOp, ReshapeOp>(op) || last < 1 || !isa<FloatType>(elementOf(result)))
    return false;
  std::optional<Normalization> parts = isa<ReshapeOp>(op) ? std::nullopt : takeApart(op, last);
  if (parts && (raiseBatchNorm(op, builder, *parts, last) || raiseRepeatedGroups(op, builder, *parts, last) ||
                raiseLayerNorm(op, builder, *parts, last)))
    return true;
  return last > 1 && raiseSplitGroups(op, builder, last);
}

} // namespace dgc::import::raise
