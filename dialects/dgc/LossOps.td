// Losses: means over the global batch.

#ifndef DGC_LOSS_OPS_TD
#define DGC_LOSS_OPS_TD

include "dialects/dgc/Composite.td"

// A mean over the batch with a gradient of its own, where the op says so (keepForGradient). Several operands are optional.
class DGC_BatchLossOp<string mnemonic, list<Trait> traits = []>
    : DGC_BatchMeanOp<mnemonic, !listconcat(traits, [
        AttrSizedOperandSegments,
        DeclareOpInterfaceMethods<DecomposableOpInterface, ["keepForGradient"]>,
        DeclareOpInterfaceMethods<DifferentiableOpInterface>])>;

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

    Places with the label N of `ignore_index N` count neither in the sum nor in the number that it is divided by: the mean is
    over the other places of the global batch, and 0 where there are none. N need not be a class, as in `ignore_index -100`;
    labels of inputs are then not checked to be classes.

    `weights %w` has a weight for each class, `sample_weights %s` one for each example, `[batch]`, or for each place, as
    `[batch, tokens]`. The result is the weighted mean as of PyTorch: the sum of all losses, each times the weight of its
    label and of its place, divided by the sum of these weights; 0 where that is 0. In distributions, weights of classes
    multiply the probabilities and are no part of the divisor.
  }];
  let arguments = (ins DGC_FloatTensor:$logits, DGC_NumberTensor:$labels, Optional<DGC_FloatTensor>:$weights,
                       Optional<DGC_FloatTensor>:$sample_weights, Optional<DGC_CountScalar>:$valid,
                       OptionalAttr<F64Attr>:$label_smoothing, OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $logits `,` $labels `` custom<LabelSmoothing>($label_smoothing) (`ignore_index` $ignore_index^)? (`weights` $weights^)?
    (`sample_weights` $sample_weights^)? (`valid` $valid^)? attr-dict
    custom<OperandTypes>(type($logits), type($labels), type($weights), ref($weights), type($sample_weights),
                         ref($sample_weights))
  }];
}

// The mean of a function of a prediction and a target, over all elements of all examples.
class DGC_ElementLossOp<string mnemonic> : DGC_BatchMeanOp<mnemonic, [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let arguments = (ins DGC_FloatTensor:$prediction, DGC_FloatTensor:$target, Optional<DGC_FloatTensor>:$sample_weights,
                       Optional<DGC_CountScalar>:$valid);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $prediction `,` $target (`sample_weights` $sample_weights^)? (`valid` $valid^)? attr-dict
    custom<OperandTypes>(type($prediction), type($target), type($sample_weights), ref($sample_weights))
  }];
}

def DGC_MeanSquaredErrorOp : DGC_BatchLossOp<"mean_squared_error"> {
  let summary = "mean of the squared differences";
  let description = [{
    `%loss = dgc.mean_squared_error %prediction, %target`, over all elements of all examples.

    With `sample_weights %s`, which this and the other losses of elements take, each element has the weight of its example:
    `%s` is `[batch]`, or has more of the leading dimensions of the prediction. The result is the weighted mean
    sum(weight * loss) / sum(weight), over all elements; 0 where the sum of the weights is 0.
  }];
  let arguments = (ins DGC_FloatTensor:$prediction, DGC_FloatTensor:$target, Optional<DGC_FloatTensor>:$sample_weights,
                       Optional<DGC_CountScalar>:$valid);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $prediction `,` $target (`sample_weights` $sample_weights^)? (`valid` $valid^)? attr-dict
    custom<OperandTypes>(type($prediction), type($target), type($sample_weights), ref($sample_weights))
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
  let arguments = (ins DGC_FloatTensor:$prediction, DGC_FloatTensor:$target, Optional<DGC_FloatTensor>:$sample_weights,
                       Optional<DGC_CountScalar>:$valid, OptionalAttr<F64Attr>:$delta);
  let assemblyFormat = [{
    $prediction `,` $target `` custom<Delta>($delta) (`sample_weights` $sample_weights^)? (`valid` $valid^)? attr-dict
    custom<OperandTypes>(type($prediction), type($target), type($sample_weights), ref($sample_weights))
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

def DGC_KlDivergenceOp : DGC_BatchMeanOp<"kl_divergence", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "mean divergence (Kullback-Leibler) of distributions";
  let description = [{
    `%loss = dgc.kl_divergence %log_probabilities, %target`: the sum of target (log target - log_probabilities) along the last
    dimension, its mean over all examples (and over the dimensions between). Both are distributions over the last
    dimension, the first as logarithms (dgc.log_softmax). A target of 0 adds 0. `sample_weights` as of
    dgc.mean_squared_error, for each sum.
  }];
  let arguments = (ins DGC_FloatTensor:$log_probabilities, DGC_FloatTensor:$target,
                       Optional<DGC_FloatTensor>:$sample_weights, Optional<DGC_CountScalar>:$valid);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $log_probabilities `,` $target (`sample_weights` $sample_weights^)? (`valid` $valid^)? attr-dict
    custom<OperandTypes>(type($log_probabilities), type($target), type($sample_weights), ref($sample_weights))
  }];
}

// A mean over the batch that is a decomposition alone: dgc-mask-padding masks the parts and counts the real examples.
class DGC_DecomposedMeanOp<string mnemonic, list<Trait> traits = []>
    : DGC_CompositeOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<SizeDependentOpInterface, ["decomposeWithCount"]>])>;

def DGC_ContrastiveLossOp : DGC_DecomposedMeanOp<"contrastive_loss"> {
  let summary = "how well each example of the batch is told by its pair";
  let description = [{
    `%loss = dgc.contrastive_loss %a, %b temperature 0.07`: `[batch, features]` on both sides. Example i of `%b` is the pair
    of example i of `%a`, all others are what it must be told from (InfoNCE). With the similarities
    s[i, j] = a[i] . b[j] / temperature, it is the mean over i of log(sum of exp(s[i, j]) over j) - s[i, i] (the cross-entropy
    of row i against i) and of the same along columns, as in CLIP; with `one_way` along rows alone. The temperature is above
    0, and 1 if it is left out.

    Rows are compared as they are: divide each by its norm first where similarities are to be cosines, and multiply `%a` by
    a variable to learn a scale. All examples of the global batch are compared, on whichever device they are; padding is
    compared with nothing. With micro-batches all of them wait for each other here: it is computed once, on the whole batch.
  }];
  let arguments = (ins DGC_FloatTensor:$lhs, DGC_FloatTensor:$rhs, OptionalAttr<F64Attr>:$temperature, UnitAttr:$one_way);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `` custom<Temperature>($temperature) (`one_way` $one_way^)? attr-dict
    custom<OperandTypes>(type($lhs), type($rhs))
  }];
}

def DGC_CtcLossOp : DGC_DecomposedMeanOp<"ctc_loss", [
    DGC_DecomposesIntoScan, DeclareOpInterfaceMethods<ChoosingOpInterface>]> {
  let summary = "mean negative logarithm of the probability of labels that no time is known of";
  let description = [{
    `%loss = dgc.ctc_loss %logits, %labels`: connectionist temporal classification (Graves et al., 2006). The logits are
    `[batch, time, classes]`, before softmax; the labels numbers of classes, `[batch, length]`, of any integer type. One
    class is the blank, 0 or that of `blank N`; shorter labels end in blanks. The probability of labels is the sum over all
    paths that become them when repetitions are joined and blanks are left out; it is computed in logarithms, by a dgc.scan
    over the time. The result is the mean of its negative logarithm over all examples: infinite for labels that are too long
    for their time.

    With `lengths %n`, integers of `[batch]`, example i has the first n[i] places of the time alone.
  }];
  let arguments = (ins DGC_FloatTensor:$logits, DGC_IntTensor:$labels, Optional<DGC_IntTensor>:$lengths,
                       DefaultValuedOptionalAttr<I64Attr, "0">:$blank);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $logits `,` $labels (`blank` $blank^)? (`lengths` $lengths^)? attr-dict
    custom<OperandTypes>(type($logits), type($labels), type($lengths), ref($lengths))
  }];
}

#endif // DGC_LOSS_OPS_TD
