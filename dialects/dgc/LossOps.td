// Losses and metrics: means over the global batch.

#ifndef DGC_LOSS_OPS_TD
#define DGC_LOSS_OPS_TD

include "dialects/dgc/Composite.td"

// `valid` (given by dgc-build-entry-points) says how many examples of the batch are real: the mean is over these.
class DGC_BatchLossOp<string mnemonic, list<Trait> traits = []>
    : DGC_BatchMeanOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<DecomposableOpInterface, ["keepForGradient"]>,
        DeclareOpInterfaceMethods<DifferentiableOpInterface>])> {
  let extraClassDefinition = inferredDefinition # validDefinition # [{
    bool $cppClass::keepForGradient() { return true; }
  }];
}

def DGC_CrossEntropyOp : DGC_BatchLossOp<"cross_entropy", [DeclareOpInterfaceMethods<ChoosingOpInterface>]> {
  let summary = "mean cross-entropy of logits against labels";
  let description = [{
    `%loss = dgc.cross_entropy %logits, %labels`

    The logits are what comes before softmax: softmax must not be applied to them first. Their last dimension is the
    class. The labels are the numbers of the classes, of any integer type and the shape of the logits without the last
    dimension; or distributions over the classes, of the shape of the logits. The result is the mean over all examples
    (and over the dimensions between batch and class, as the tokens of a text).

    With `label_smoothing 0.1` the labels that count are 0.9 times those that are given plus 0.1 times the distribution
    that has the same probability for each class.
  }];
  let arguments = (ins DGC_FloatTensor:$logits, DGC_NumberTensor:$labels, Optional<DGC_CountScalar>:$valid,
                       OptionalAttr<F64Attr>:$label_smoothing);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $logits `,` $labels `` custom<LabelSmoothing>($label_smoothing) (`valid` $valid^)? attr-dict custom<OperandTypes>(type($logits), type($labels))
  }];
}

def DGC_MeanSquaredErrorOp : DGC_BatchLossOp<"mean_squared_error"> {
  let summary = "mean of the squared differences";
  let description = "`%loss = dgc.mean_squared_error %prediction, %target`, over all elements of all examples.";
  let arguments = (ins DGC_FloatTensor:$prediction, DGC_FloatTensor:$target, Optional<DGC_CountScalar>:$valid);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $prediction `,` $target (`valid` $valid^)? attr-dict custom<OperandTypes>(type($prediction), type($target))
  }];
}

// The mean of a function of a prediction and a target, over all elements of all examples.
class DGC_ElementLossOp<string mnemonic> : DGC_BatchMeanOp<mnemonic, [DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let arguments = (ins DGC_FloatTensor:$prediction, DGC_FloatTensor:$target, Optional<DGC_CountScalar>:$valid);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $prediction `,` $target (`valid` $valid^)? attr-dict custom<OperandTypes>(type($prediction), type($target))
  }];
}

def DGC_MeanAbsoluteErrorOp : DGC_ElementLossOp<"mean_absolute_error"> {
  let summary = "mean of the absolute differences";
  let description = "`%loss = dgc.mean_absolute_error %prediction, %target`, over all elements of all examples.";
}

def DGC_HuberLossOp : DGC_ElementLossOp<"huber_loss"> {
  let summary = "mean of squares of small differences and absolute values of large ones";
  let description = [{
    `%loss = dgc.huber_loss %prediction, %target delta 1.0`: with d the difference, the mean over all elements of all
    examples of d^2 / 2 where |d| is at most delta, else of delta (|d| - delta / 2). Delta is above 0, and 1 if it is left out.
  }];
  let arguments = (ins DGC_FloatTensor:$prediction, DGC_FloatTensor:$target, Optional<DGC_CountScalar>:$valid,
                       OptionalAttr<F64Attr>:$delta);
  let assemblyFormat = [{
    $prediction `,` $target `` custom<Delta>($delta) (`valid` $valid^)? attr-dict
    custom<OperandTypes>(type($prediction), type($target))
  }];
}

def DGC_BinaryCrossEntropyOp : DGC_ElementLossOp<"binary_cross_entropy"> {
  let summary = "mean cross-entropy of logits against probabilities, each by itself";
  let description = [{
    `%loss = dgc.binary_cross_entropy %logits, %target`

    The logits are what comes before sigmoid: sigmoid must not be applied to them first. The target has a probability
    (a label: 0 or 1) for each logit. The mean is over all elements of all examples.
  }];
}

def DGC_KlDivergenceOp : DGC_BatchMeanOp<"kl_divergence", [DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "mean divergence (Kullback-Leibler) of distributions";
  let description = [{
    `%loss = dgc.kl_divergence %log_probabilities, %target`: the sum of target (log target - log_probabilities) along the last
    dimension, its mean over all examples (and over the dimensions between). Both are distributions over the last
    dimension, the first as logarithms (dgc.log_softmax). A target of 0 adds 0.
  }];
  let arguments = (ins DGC_FloatTensor:$log_probabilities, DGC_FloatTensor:$target, Optional<DGC_CountScalar>:$valid);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $log_probabilities `,` $target (`valid` $valid^)? attr-dict
    custom<OperandTypes>(type($log_probabilities), type($target))
  }];
}

def DGC_AccuracyOp : DGC_BatchMeanOp<"accuracy", [DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "how often the largest logit is that of the label";
  let description = [{
    `%accuracy = dgc.accuracy %logits, %labels`, with integer labels of the shape of the logits without the last
    dimension. Of equal logits the first counts as the largest. A number between 0 and 1; it has no gradient.
  }];
  let arguments = (ins DGC_FloatTensor:$logits, DGC_IntTensor:$labels, Optional<DGC_CountScalar>:$valid);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $logits `,` $labels (`valid` $valid^)? attr-dict custom<OperandTypes>(type($logits), type($labels))
  }];
}

#endif // DGC_LOSS_OPS_TD
