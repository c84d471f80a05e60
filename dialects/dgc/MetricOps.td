// Metrics: how often predictions are right.

#ifndef DGC_METRIC_OPS_TD
#define DGC_METRIC_OPS_TD

include "dialects/dgc/Composite.td"

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

def DGC_TopKAccuracyOp : DGC_BatchMeanOp<"top_k_accuracy", [DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "how often the logit of the label is among the largest";
  let description = [{
    `%accuracy = dgc.top_k_accuracy %logits, %labels k 5`, with operands as of dgc.accuracy, which is the same for `k 1`. Of
    equal logits the first counts as the largest. It has no gradient.
  }];
  let arguments = (ins DGC_FloatTensor:$logits, DGC_IntTensor:$labels, I64Attr:$k, Optional<DGC_CountScalar>:$valid);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $logits `,` $labels `k` $k (`valid` $valid^)? attr-dict custom<OperandTypes>(type($logits), type($labels))
  }];
}

// Two counts over all examples, whose quotient is the metric.
class DGC_CountsOp<string mnemonic> : DGC_CompositeOp<mnemonic, [], 2> {
  let arguments = (ins DGC_FloatTensor:$logits, DGC_NumberTensor:$labels, OptionalAttr<F64Attr>:$threshold,
                       OptionalAttr<I64Attr>:$class_number);
  let results = (outs DGC_FloatTensor:$numerator, DGC_FloatTensor:$denominator);
  let assemblyFormat = [{
    $logits `,` $labels `` custom<Threshold>($threshold) (`class` $class_number^)? attr-dict
    custom<OperandTypes>(type($logits), type($labels))
  }];
}

def DGC_PrecisionOp : DGC_CountsOp<"precision"> {
  let summary = "how many of those that are predicted are right, as two counts";
  let description = [{
    ```mlir
    %right, %predicted = dgc.precision %logits, %labels
    dgc.metric "precision" %right over %predicted
    ```

    Counts the elements that are predicted to be positive, and those of them that are. An element is predicted where its
    logit is above 0, or above that of `threshold 0.5`; it is positive where its label, of the same shape, is not 0 (a float:
    above 0.5). Several labels for an example count together (micro average).

    With `class 3` the logits are `[batch, .., classes]` and the labels numbers of classes, as of dgc.accuracy: predicted is
    what has its largest logit at class 3. (Over all classes together, precision, recall and F1 are the accuracy.)

    The quotient is formed of the counts over all batches: a metric of this kind is no mean of means.
  }];
}

def DGC_RecallOp : DGC_CountsOp<"recall"> {
  let summary = "how many of those that there are are predicted, as two counts";
  let description = [{
    `%right, %positive = dgc.recall %logits, %labels`, as dgc.precision, with the number of elements that are positive.
  }];
}

def DGC_F1ScoreOp : DGC_CountsOp<"f1_score"> {
  let summary = "the harmonic mean of precision and recall, as two counts";
  let description = [{
    `%twice, %both = dgc.f1_score %logits, %labels`, as dgc.precision: twice the number of elements that are predicted and
    positive, and the sum of the number of those that are predicted and of those that are positive.
  }];
}

#endif // DGC_METRIC_OPS_TD
