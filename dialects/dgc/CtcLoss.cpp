// dgc.ctc_loss.

#include "dialects/dgc/BatchMean.h"
#include "dialects/dgc/LossUtil.h"
#include <limits>

using namespace mlir;
using namespace dgc;

/// The logarithm of 0, as it is computed with: no sum of logarithms of probabilities gets so far, and differences of two of
/// them are numbers.
static constexpr double kLogOfZero = -1e30;

LogicalResult CtcLossOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType logits = typeOf(adaptor.getLogits()), labels = typeOf(adaptor.getLabels());
  types.push_back(meanType(logits));
  if (logits.getRank() != 3)
    return emitOptionalError(location, "'dgc.ctc_loss' has logits of type ", logits,
                             ", which must be [batch, time, classes]");
  if (labels.getRank() != 2 || labels.getDimSize(0) != logits.getDimSize(0))
    return emitOptionalError(location, "'dgc.ctc_loss' has labels of type ", labels, " for logits of type ", logits,
                             ": labels are [batch, length], with a batch of ", logits.getDimSize(0));
  if (Value lengths = adaptor.getLengths(); lengths && typeOf(lengths).getShape() != logits.getShape().take_front())
    return emitOptionalError(location, "'dgc.ctc_loss' has lengths of type ", typeOf(lengths), ", which must be ",
                             typeOf(lengths).clone(logits.getShape().take_front()), ", one for each example");
  const auto blank = static_cast<int64_t>(adaptor.getBlank());
  if (blank < 0 || blank >= logits.getDimSize(2))
    return emitOptionalError(location, "'dgc.ctc_loss' has the blank ", blank, ", which must be a class: one of 0 to ",
                             logits.getDimSize(2) - 1);
  return success();
}

Value CtcLossOp::getChoosingNumbers() { return getLabels(); }
int64_t CtcLossOp::getNumChoices() { return shapeOf(getLogits()).back(); }

SmallVector<int64_t> CtcLossOp::getCountedDims(unsigned) { return {0}; }

// The places that a path goes through are, in order: blank, label, blank, .., label, blank. Of each place the logarithm of the
// probability of all paths that end there is computed, for one time after the other. Tensors are [batch, places].

/// `x` with each element `places` further, and `free` in the first ones.
static Value movedUp(CompositeBuilder &b, Value x, int64_t places, double free) {
  return b.pad(x, b.scalar(free, elementOf(x)), {0, places}, {0, -places});
}

/// The class of each place, of `labels` as i32.
static Value classesOfPlaces(CompositeBuilder &b, Value labels, int64_t blank) {
  return b.pad(labels, b.scalar(double(blank), elementOf(labels)), {0, 1}, {0, 1}, {0, 1});
}

/// 0 where a path can come from the place two before, leaving out the blank between two different labels; else kLogOfZero.
static Value jumps(CompositeBuilder &b, Value classes, int64_t blank, Type element) {
  Value zero = b.splat(0, shapeOf(classes), element), never = b.splat(kLogOfZero, zero);
  Value isSame = b.equal(classes, movedUp(b, classes, 2, double(blank)));
  Value isBlank = b.equal(classes, b.splat(double(blank), classes));
  return b.select(isBlank, never, b.select(isSame, never, zero));
}

/// Before the first time every path is at the first place, from which it can also go to the first label.
static Value startOfPaths(CompositeBuilder &b, Value jumps) {
  Value places = b.iota(shapeOf(jumps), b.builder.getI32Type(), 1);
  return b.select(b.equal(places, b.splat(0, places)), b.splat(0, jumps), b.splat(kLogOfZero, jumps));
}

/// log(exp(x) + exp(y) + exp(z)), element by element.
static Value addedLogs(CompositeBuilder &b, Value x, Value y, Value z) {
  Value largest = b.stopGradient(b.maximum(b.maximum(x, y), z));
  auto share = [&](Value each) { return b.exponential(b.subtract(each, largest)); };
  return b.add(b.log(b.add(b.add(share(x), share(y)), share(z))), largest);
}

/// The logarithm of the probability of each place at each time: [batch, time, places].
static Value emissions(CompositeBuilder &b, Value logits, Value classes) {
  Value logs = b.subtract(logits, b.spread(b.logSumExp(logits, 2), logits, {2}));
  SmallVector<int64_t> shape(shapeOf(classes));
  shape.push_back(shapeOf(logits).back());
  Value wide = b.broadcast(classes, shape, {0, 1});
  Value chosen = b.convert(b.equal(b.iota(shape, elementOf(classes), 2), wide), elementOf(logits));
  return b.dot(logs, chosen, {0}, {0}, {2}, {2});
}

/// One time further: a path stays at its place, goes to the next one or jumps.
static Value nextPaths(CompositeBuilder &b, Value paths, Value emission, Value jumps) {
  Value jumped = b.add(movedUp(b, paths, 2, kLogOfZero), jumps);
  return b.add(addedLogs(b, paths, movedUp(b, paths, 1, kLogOfZero), jumped), emission);
}

/// The paths after the whole time, or after `lengths`, an i32 of [batch], of it.
static Value scanPaths(CompositeBuilder &b, Value emission, Value jumps, Value lengths) {
  Type i32 = b.builder.getI32Type();
  SmallVector<Value> start{startOfPaths(b, jumps)}, scanned{emission}, invariants{jumps};
  if (lengths) {
    scanned.push_back(b.iota(shapeOf(emission).take_front(2), i32, 1));
    invariants.push_back(lengths);
  }
  auto scan = ScanOp::create(b.builder, b.location, TypeRange{start[0].getType()}, start, scanned, invariants,
                             /*dimension=*/1, /*reverse=*/false, /*count=*/IntegerAttr());
  OpBuilder::InsertionGuard guard(b.builder);
  Block *block = b.builder.createBlock(&scan.getBody());
  auto argument = [&](RankedTensorType type) -> Value { return block->addArgument(type, b.location); };
  Value paths = argument(tensorOf(jumps)), inside = argument(tensorOf(jumps));
  RankedTensorType perExample = RankedTensorType::get(shapeOf(jumps).take_front(), i32);
  Value time = lengths ? argument(perExample) : Value();
  Value next = nextPaths(b, paths, inside, argument(tensorOf(jumps)));
  if (lengths) {
    Value isOver = b.compare(ComparisonDirection::GE, time, argument(perExample));
    next = b.select(b.broadcast(isOver, shapeOf(paths), {0}), paths, next);
  }
  YieldOp::create(b.builder, b.location, ValueRange{next});
  return scan.getResult(0);
}

/// The logarithm of the probability of all paths that end at the last label or the blank behind it: [batch].
static Value endOfPaths(CompositeBuilder &b, Value paths, Value labels, int64_t blank) {
  Type i32 = b.builder.getI32Type();
  Value isLabel = b.compare(ComparisonDirection::NE, labels, b.splat(double(blank), labels));
  Value last = b.multiply(b.sum(b.convert(isLabel, i32), {1}), 2); // the place of the last blank
  Value left = b.subtract(b.spread(last, paths, {1}), b.iota(shapeOf(paths), i32, 1));
  Value never = b.splat(kLogOfZero, paths);
  auto where = [&](int64_t number) { return b.equal(left, b.splat(double(number), left)); };
  return b.logSumExp(b.select(where(0), paths, b.select(where(1), paths, never)), 1);
}

FailureOr<SmallVector<Value>> CtcLossOp::decompose(OpBuilder &builder) { return decomposeWithCount(builder, {}); }

FailureOr<SmallVector<Value>> CtcLossOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  const auto blank = static_cast<int64_t>(getBlank());
  Value logits = b.convert(getLogits(), computeType(elementOf(getLogits())));
  Value labels = b.convert(getLabels(), builder.getI32Type());
  Value classes = classesOfPlaces(b, labels, blank);
  Value allowed = jumps(b, classes, blank, elementOf(logits));
  Value lengths = getLengths() ? b.convert(getLengths(), builder.getI32Type()) : Value();
  Value paths = scanPaths(b, emissions(b, logits, classes), allowed, lengths);
  Value logs = endOfPaths(b, paths, labels, blank);
  Value isPossible = b.compare(ComparisonDirection::GT, logs, b.splat(kLogOfZero / 2, logs));
  Value never = b.splat(std::numeric_limits<double>::infinity(), logs);
  Value losses = b.select(isPossible, b.negate(logs), never);
  return SmallVector<Value>{meanOver(b, losses, count, /*valid=*/{})};
}
