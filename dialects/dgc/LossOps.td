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
  }];
  let arguments = (ins DGC_FloatTensor:$logits, DGC_NumberTensor:$labels, Optional<DGC_CountScalar>:$valid);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $logits `,` $labels (`valid` $valid^)? attr-dict custom<OperandTypes>(type($logits), type($labels))
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
