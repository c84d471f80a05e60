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

def DGC_ConfusionMatrixOp : DGC_CompositeOp<"confusion_matrix"> {
  let summary = "how often each class is predicted for each label";
  let description = [{
    `%counts = dgc.confusion_matrix %logits, %labels`, with operands as of dgc.accuracy: a `tensor<classes x classes x f32>`
    that has in row i, column j the number of examples with the label i whose largest logit is that of class j, the first one
    of equal logits. A label that is no class is not counted. It has no gradient.

    What is made of the counts over all batches takes their dgc.running_sum, and so does a metric that reports them:

    ```mlir
    %batch = dgc.confusion_matrix %logits, %labels
    %counts = dgc.running_sum "counts" %batch
    dgc.metric "confusion" %counts
    ```
  }];
  let arguments = (ins DGC_FloatTensor:$logits, DGC_IntTensor:$labels);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $logits `,` $labels attr-dict custom<OperandTypes>(type($logits), type($labels))
  }];
}

def DGC_MacroF1Op : DGC_CompositeOp<"macro_f1"> {
  let summary = "the mean of the F1 scores of the classes";
  let description = [{
    ```mlir
    %batch = dgc.confusion_matrix %logits, %labels
    %counts = dgc.running_sum "counts" %batch
    %f1 = dgc.macro_f1 %counts
    ```

    The F1 score of a class is twice its number of examples that are predicted right, divided by the sum of the number of its
    examples and of that of its predictions; 0 for a class without either. It has no gradient.
  }];
  let arguments = (ins DGC_FloatTensor:$counts);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$counts attr-dict custom<OperandTypes>(type($counts))";
}

def DGC_ClassF1Op : DGC_CompositeOp<"class_f1"> {
  let summary = "the F1 score of each class";
  let description = [{
    `%scores = dgc.class_f1 %counts`, with counts as of dgc.macro_f1, which is the mean of these: a vector with an element for
    each class, which a dgc.metric reports as a list. It has no gradient.
  }];
  let arguments = (ins DGC_FloatTensor:$counts);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$counts attr-dict custom<OperandTypes>(type($counts))";
}

def DGC_ThresholdCountsOp : DGC_CompositeOp<"threshold_counts", [], 2> {
  let summary = "how many positives and negatives are at or above each of several thresholds";
  let description = [{
    ```mlir
    %tp, %fp = dgc.threshold_counts %logits, %labels thresholds 200
    %all_tp = dgc.running_sum "tp" %tp
    %all_fp = dgc.running_sum "fp" %fp
    %auc = dgc.area_under_curve %all_tp, %all_fp
    ```

    Element k of the first result is the number of positive elements whose sigmoid is at least k / (thresholds - 1), of the
    second that of negative ones. An element is positive where its label, of the shape of the logits, is not 0 (a float:
    above 0.5), as of dgc.precision. The first threshold, 0, counts all but NaN; the last one, 1, logits of infinity alone. The
    logits are compared with log(p / (1 - p)) of each threshold p, so that no sigmoid is rounded. It has no gradient.

    The area is that of a curve through these points. `dgc.metric "auc" area_under_curve %logits labels %labels` reports the
    exact one, which can be part of no other value.
  }];
  let arguments = (ins DGC_FloatTensor:$logits, DGC_NumberTensor:$labels, I64Attr:$thresholds);
  let results = (outs DGC_FloatTensor:$true_positives, DGC_FloatTensor:$false_positives);
  let assemblyFormat = [{
    $logits `,` $labels `thresholds` $thresholds attr-dict custom<OperandTypes>(type($logits), type($labels))
  }];
}

def DGC_AreaUnderCurveOp : DGC_CompositeOp<"area_under_curve"> {
  let summary = "the area under the receiver operating characteristic";
  let description = [{
    `%auc = dgc.area_under_curve %tp, %fp`, of counts as dgc.threshold_counts gives them, over all batches: the area under the
    rate of true positives over that of false ones, which are the counts divided by the first of them. Between two thresholds,
    and from the last one to the origin, the curve is a line. 0 where there are no positives or no negatives. It has no
    gradient.
  }];
  let arguments = (ins DGC_FloatTensor:$true_positives, DGC_FloatTensor:$false_positives);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $true_positives `,` $false_positives attr-dict
    custom<OperandTypes>(type($true_positives), type($false_positives))
  }];
}

def DGC_R2SumsOp : DGC_CompositeOp<"r2_sums", [
    DeclareOpInterfaceMethods<SizeDependentOpInterface, ["decomposeWithCount"]>]> {
  let summary = "the sums that a coefficient of determination is made of";
  let description = [{
    ```mlir
    %batch = dgc.r2_sums %prediction, %target
    %sums = dgc.running_sum "r2" %batch
    %r2 = dgc.r2_score %sums
    ```

    A `tensor<4xf64>`: the sums over all elements of (target - prediction)^2, of the target and of its square, and the number of
    elements. It has no gradient.
  }];
  let arguments = (ins DGC_FloatTensor:$prediction, DGC_FloatTensor:$target);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $prediction `,` $target attr-dict custom<OperandTypes>(type($prediction), type($target))
  }];
}

def DGC_R2ScoreOp : DGC_CompositeOp<"r2_score"> {
  let summary = "the coefficient of determination";
  let description = [{
    `%r2 = dgc.r2_score %sums`, of the four sums of dgc.r2_sums over all batches: 1 - sum((target - prediction)^2) /
    sum((target - mean)^2), where the mean is that of all targets. 0 where the targets are all equal. It has no gradient.
  }];
  let arguments = (ins DGC_FloatTensor:$sums);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$sums attr-dict custom<OperandTypes>(type($sums))";
}

#endif // DGC_METRIC_OPS_TD
