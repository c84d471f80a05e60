// From the batch normalizations of StableHLO to formulas of dgc.

#include "compiler/import/Patterns.h"
#include "dialects/dgc/CompositeBuilder.h"

using namespace mlir;

namespace dgc::import {

namespace {

/// A value in what it is computed in.
Value wide(TensorBuilder &b, Value x) { return b.convert(x, computeType(elementOf(x))); }

/// The features of a tensor: the dimension that is kept, and what has an element for each.
struct Features {
  TensorBuilder &b;
  Value like;
  int64_t dim;
  double epsilon;

  template <class Op>
  Features(Op op, TensorBuilder &b)
      : b(b), like(wide(b, op.getOperand())), dim(static_cast<int64_t>(op.getFeatureIndex())),
        epsilon(op.getEpsilon().convertToDouble()) {}

  SmallVector<int64_t> others() const {
    SmallVector<int64_t> dims = firstNumbers(tensorOf(like).getRank());
    dims.erase(dims.begin() + dim);
    return dims;
  }
  double count() const {
    return static_cast<double>(tensorOf(like).getNumElements()) / static_cast<double>(tensorOf(like).getDimSize(dim));
  }
  Value spread(Value vector) const { return b.broadcast(vector, tensorOf(like).getShape(), {dim}); }
  Value sum(Value x) const { return b.reduce(ReductionKind::Sum, x, others()); }
  Value mean(Value x) const { return b.multiply(sum(x), 1 / count()); }
  /// 1 / sqrt(variance + epsilon)
  Value inverseDeviation(Value variance) const { return b.rsqrt(b.add(variance, b.splat(epsilon, variance))); }
  Value normalize(Value x, Value mean, Value variance, Value scale, Value offset) const {
    Value factor = b.multiply(inverseDeviation(variance), scale);
    return b.add(b.multiply(b.subtract(x, spread(mean)), spread(factor)), spread(offset));
  }
};

struct TrainingLowering : Lowering<stablehlo::BatchNormTrainingOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::BatchNormTrainingOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    const Features features(op, b);
    Value x = features.like, mean = features.mean(x), centred = b.subtract(x, features.spread(mean));
    Value variance = features.mean(b.multiply(centred, centred));
    Value y = features.normalize(x, mean, variance, wide(b, op.getScale()), wide(b, op.getOffset()));
    for (Value each : {y, mean, variance})
      results.push_back(b.convert(each, elementOf(op.getOperand())));
    return success();
  }
};

struct InferenceLowering : Lowering<stablehlo::BatchNormInferenceOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::BatchNormInferenceOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    const Features features(op, b);
    Value y = features.normalize(features.like, wide(b, op.getMean()), wide(b, op.getVariance()),
                                 wide(b, op.getScale()), wide(b, op.getOffset()));
    results.push_back(b.convert(y, elementOf(op.getOperand())));
    return success();
  }
};

// With n the normalized operand and f = 1 / sqrt(variance + epsilon): scale * f * (dy - mean(dy) - n * mean(dy * n)).
struct GradLowering : Lowering<stablehlo::BatchNormGradOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::BatchNormGradOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &) const override {
    const Features features(op, b);
    Value factor = features.inverseDeviation(wide(b, op.getVariance())), gradient = wide(b, op.getGradOutput());
    Value centred = b.subtract(features.like, features.spread(wide(b, op.getMean())));
    Value normalized = b.multiply(centred, features.spread(factor));
    Value ofOffset = features.sum(gradient), ofScale = features.sum(b.multiply(gradient, normalized));
    const double share = 1 / features.count();
    Value along = b.multiply(normalized, features.spread(b.multiply(ofScale, share)));
    Value rest = b.subtract(b.subtract(gradient, features.spread(b.multiply(ofOffset, share))), along);
    Value ofOperand = b.multiply(rest, features.spread(b.multiply(factor, wide(b, op.getScale()))));
    for (Value each : {ofOperand, ofScale, ofOffset})
      results.push_back(b.convert(each, elementOf(op.getOperand())));
    return success();
  }
};

} // namespace

void addBatchNormPatterns(RewritePatternSet &patterns) {
  patterns.add<TrainingLowering, InferenceLowering, GradLowering>(patterns.getContext());
}

} // namespace dgc::import
