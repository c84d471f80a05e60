// A model taken apart, and the states that its variables become.

#ifndef DGC_PASSES_MODEL_MODELPARTS_H
#define DGC_PASSES_MODEL_MODELPARTS_H

#include "dialects/dgc/DGC.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace dgc {

enum class EntryKind { Train, Evaluate, Predict };

/// A variable of the model and the state that becomes of it.
struct VariableParts {
  VariableOp op;
  StateOp state;
  SmallVector<StateOp, 2> slots; // of the optimizer; trained variables only
  StateOp average;               // the last one of these, where the optimizer keeps one
  Value assigned;                // what dgc.assign writes, or the new value of a running sum, or null
  EntryKind writtenIn = EntryKind::Train;
  bool trained = false;
  Attribute optimizer;   // trained variables only
  DictionaryAttr fields; // of it
};

/// A model taken apart.
struct ModelParts {
  ModelOp op;
  SmallVector<VariableParts> variables;
  SmallVector<InputOp> inputs;
  SmallVector<MetricOp> metrics;
  SmallVector<OutputOp> outputs;
  LossOp loss;
  OptimizerOp optimizer;
  int64_t batch = 0;
  llvm::DenseMap<Operation *, int64_t> rngIds; // of the ops that draw random numbers; in a scan in its first round
  llvm::DenseMap<Operation *, int64_t>
      rngStrides;                         // of scans with such ops: how much larger these are in the next round
  llvm::DenseSet<Operation *> lastValues; // metrics that depend on a running sum

  /// Whether evaluate alone has the metric: it says something of a whole evaluation.
  bool isOfEvaluation(MetricOp metric) const {
    return lastValues.contains(metric.getOperation()) || metric.getAreaUnderCurve();
  }
};

/// The ops of the model that the values depend on.
llvm::SetVector<Operation *> dependences(ArrayRef<Value> values);

/// Fails with a diagnostic where a running sum is used for what it cannot be.
FailureOr<ModelParts> takeApart(ModelOp op, int64_t batch);

/// Decides how each variable is trained.
LogicalResult chooseOptimizers(ModelParts &model);

/// Makes the states of a model in front of it. Random-number ids count variables, then ops, in order.
LogicalResult createStates(ModelParts &model);

} // namespace dgc

#endif // DGC_PASSES_MODEL_MODELPARTS_H
