// Metrics: how often predictions are right.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/BatchMean.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/LossUtil.h"
#include <limits>

using namespace mlir;
using namespace dgc;

static ParseResult parseThreshold(OpAsmParser &parser, FloatAttr &threshold) {
  return parseOptionalNumber(parser, "threshold", threshold);
}
static void printThreshold(OpAsmPrinter &printer, Operation *, FloatAttr threshold) {
  printOptionalNumber(printer, "threshold", threshold);
}

#define GET_OP_CLASSES
#include "dialects/dgc/MetricOps.cpp.inc"

namespace dgc {
void registerMetricOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/MetricOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// AccuracyOp
//===----------------------------------------------------------------------===//

LogicalResult AccuracyOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType logits = typeOf(adaptor.getLogits());
  types.push_back(meanType(logits));
  return checkLabels(location, getOperationName(), logits, typeOf(adaptor.getLabels()));
}

SmallVector<int64_t> AccuracyOp::getCountedDims(unsigned index) {
  return index > 1 ? SmallVector<int64_t>() : leadingDims(tensorOf(getLogits()).getRank());
}

FailureOr<SmallVector<Value>> AccuracyOp::decompose(OpBuilder &builder) { return decomposeWithCount(builder, {}); }

FailureOr<SmallVector<Value>> AccuracyOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Type element = computeType(elementOf(getLogits()));
  Value best = b.argmax(b.convert(getLogits(), element), tensorOf(getLogits()).getRank() - 1);
  Value hit = b.compare(ComparisonDirection::EQ, best, b.convert(getLabels(), builder.getI32Type()));
  return SmallVector<Value>{meanOver(b, b.convert(hit, element), count, getValid())};
}

//===----------------------------------------------------------------------===//
// TopKAccuracyOp
//===----------------------------------------------------------------------===//

LogicalResult TopKAccuracyOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType logits = typeOf(adaptor.getLogits());
  types.push_back(meanType(logits));
  if (failed(checkLabels(location, getOperationName(), logits, typeOf(adaptor.getLabels()))))
    return failure();
  const auto k = static_cast<int64_t>(adaptor.getK());
  if (k < 1 || k > logits.getShape().back())
    return emitOptionalError(location, "'dgc.top_k_accuracy' looks at the ", k, " largest of ",
                             logits.getShape().back(), " logits: k must be from 1 to ", logits.getShape().back());
  return success();
}

SmallVector<int64_t> TopKAccuracyOp::getCountedDims(unsigned index) {
  return index > 1 ? SmallVector<int64_t>() : leadingDims(tensorOf(getLogits()).getRank());
}

FailureOr<SmallVector<Value>> TopKAccuracyOp::decompose(OpBuilder &builder) { return decomposeWithCount(builder, {}); }

// A logit goes before that of the label if it is larger, or equal and of an earlier class. A label that is no class is
// behind all.
FailureOr<SmallVector<Value>> TopKAccuracyOp::decomposeWithCount(OpBuilder &builder, Value count) {
  CompositeBuilder b(builder, getLoc());
  Type i32 = builder.getI32Type();
  Value x = b.convert(getLogits(), computeType(elementOf(getLogits())));
  const int64_t last = tensorOf(x).getRank() - 1;
  Value lowest = b.splat(-std::numeric_limits<double>::infinity(), x);
  Value picked = b.reduce(ReductionKind::Max, b.select(isLabel(b, getLabels(), x), x, lowest), {last});
  Value ofLabel = b.spread(picked, x, {last}), label = b.spread(b.convert(getLabels(), i32), x, {last});
  Value isEarlier = b.compare(ComparisonDirection::LT, b.iota(shapeOf(x), i32, last), label);
  auto counts = [&](ComparisonDirection direction) { return b.convert(b.compare(direction, x, ofLabel), i32); };
  Value before = b.sum(b.select(isEarlier, counts(ComparisonDirection::GE), counts(ComparisonDirection::GT)), {last});
  Value hit = b.compare(ComparisonDirection::LT, before, b.splat(double(getK()), before));
  return SmallVector<Value>{meanOver(b, b.convert(hit, elementOf(x)), count, getValid())};
}

//===----------------------------------------------------------------------===//
// PrecisionOp, RecallOp, F1ScoreOp
//===----------------------------------------------------------------------===//

template <typename Adaptor>
static LogicalResult inferCounts(std::optional<Location> location, StringRef name, Adaptor adaptor,
                                 SmallVectorImpl<Type> &types) {
  RankedTensorType logits = typeOf(adaptor.getLogits()), labels = typeOf(adaptor.getLabels());
  types.append(2, meanType(logits));
  if (!adaptor.getClassNumber()) {
    if (logits.getShape() == labels.getShape() && logits.getRank() > 0)
      return success();
    return emitOptionalError(location, "'", name, "' has labels of type ", labels, " for logits of type ", logits,
                             ": there is a label for each logit, [batch, ..]; for logits of classes say which one: "
                             "class 1");
  }
  if (adaptor.getThreshold())
    return emitOptionalError(location, "'", name,
                             "' has a threshold and a class: with a class, what has its largest "
                             "logit there is predicted");
  if (failed(checkLabels(location, name, logits, labels)))
    return failure();
  const int64_t number = *adaptor.getClassNumber(), classes = logits.getShape().back();
  if (number < 0 || number >= classes)
    return emitOptionalError(location, "'", name, "' is of class ", number, "; the logits have ", classes,
                             ", from 0 on");
  return success();
}

namespace {
/// 1 where an element is predicted, positive, both; else 0.
struct Predictions {
  Value predicted, positive, both;

  template <typename OpT> Predictions(CompositeBuilder &b, OpT op) {
    Type element = computeType(elementOf(op.getLogits()));
    Value x = b.convert(op.getLogits(), element), labels = op.getLabels();
    auto ones = [&](ComparisonDirection direction, Value value, double than) {
      return b.convert(b.compare(direction, value, b.splat(than, value)), element);
    };
    if (std::optional<int64_t> number = op.getClassNumber()) {
      predicted = ones(ComparisonDirection::EQ, b.argmax(x, tensorOf(x).getRank() - 1), double(*number));
      positive = ones(ComparisonDirection::EQ, b.convert(labels, b.builder.getI32Type()), double(*number));
    } else {
      predicted = ones(ComparisonDirection::GT, x, op.getThreshold() ? op.getThreshold()->convertToDouble() : 0);
      const bool isFloat = isa<FloatType>(elementOf(labels));
      positive = isFloat ? ones(ComparisonDirection::GT, labels, 0.5) : ones(ComparisonDirection::NE, labels, 0);
    }
    both = b.multiply(predicted, positive);
  }
};
} // namespace

/// The sums of both over all examples.
static SmallVector<Value> totals(CompositeBuilder &b, Value numerators, Value denominators) {
  SmallVector<int64_t> dims = allDims(tensorOf(numerators).getRank());
  return {b.sum(numerators, dims), b.sum(denominators, dims)};
}

LogicalResult PrecisionOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferCounts(location, getOperationName(), adaptor, types);
}

FailureOr<SmallVector<Value>> PrecisionOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Predictions made(b, *this);
  return totals(b, made.both, made.predicted);
}

LogicalResult RecallOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferCounts(location, getOperationName(), adaptor, types);
}

FailureOr<SmallVector<Value>> RecallOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Predictions made(b, *this);
  return totals(b, made.both, made.positive);
}

LogicalResult F1ScoreOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferCounts(location, getOperationName(), adaptor, types);
}

FailureOr<SmallVector<Value>> F1ScoreOp::decompose(OpBuilder &builder) {
  CompositeBuilder b(builder, getLoc());
  Predictions made(b, *this);
  return totals(b, b.multiply(made.both, 2), b.add(made.predicted, made.positive));
}
