// The model itself: what goes in, what is trained, what comes out.

#ifndef DGC_MODEL_OPS_TD
#define DGC_MODEL_OPS_TD

include "dialects/dgc/Composite.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

def DGC_ModelOp : Op<DGC_Dialect, "model", [IsolatedFromAbove, Symbol, NoTerminator, SingleBlock]> {
  let summary = "a model: forward pass, loss, optimizer";
  let description = [{
    Holds the forward pass of a model, for one device and the global batch, in the order in which it is computed.
    From it `dgc-build-entry-points` makes the functions that run:

    - `train` where there is a loss (which then needs an optimizer),
    - `evaluate` where there is a loss or a metric,
    - `predict` where there is an output.

    Types are not written: every value has the type `!dgc.untyped` until `dgc-infer-types`.

    ```mlir
    dgc.model @line {
      %x = dgc.input "x" : tensor<?x3xf32>
      %y = dgc.input "y" : tensor<?x1xf32>
      %w = dgc.variable "w" zeros : tensor<3x1xf32>
      %b = dgc.variable "b" zeros : tensor<1xf32>
      %prediction = dgc.dense %x, %w, %b
      %loss = dgc.mean_squared_error %prediction, %y
      dgc.loss %loss
      dgc.output "y" %prediction
      dgc.optimizer sgd learning_rate 0.1
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword custom<ModelBody>($body)";
  let hasRegionVerifier = 1;
}

def DGC_InputOp : DGC_ModelMemberOp<"input", [
    DeclareOpInterfaceMethods<DeclaredTypeOpInterface, ["getBatchDim"]>]> {
  let summary = "an input: one global batch of the data set";
  let description = [{
    `%image = dgc.input "image" : tensor<?x28x28xui8>`

    The name is that of the data. The batch dimension is the one written `?`, else the first; `batch N` names
    another. Its size is the global batch: over all workers.
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<I64Attr>:$batch,
                       TypeAttrOf<RankedTensorOf<[DGC_Element]>>:$declared_type);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = "$name (`batch` $batch^)? attr-dict `:` custom<DeclaredType>($declared_type, type($result))";
  let hasVerifier = 1;
}

def DGC_VariableOp : Op<DGC_Dialect, "variable", [
    ParentOneOf<["ModelOp", "RepeatOp", "BlockOp"]>, DeclareOpInterfaceMethods<DeclaredTypeOpInterface>]> {
  let summary = "a value that outlives a step";
  let description = [{
    `%w = dgc.variable "w" glorot_uniform : tensor<784x128xf32>`

    A variable that the loss depends on is trained by the optimizer. One that `dgc.assign` writes is a statistic.
    `frozen` (after the initializer) keeps a variable as it is.

    `%w = dgc.variable "layer.*.w" stacked 1 glorot_uniform : tensor<12x784x128xf32>` is the variables `layer.0.w` to
    `layer.11.w`, one behind the other along the first dimension: those of the rounds of a dgc.repeat that is a loop. Each has
    the initial value that it would have alone, and is saved under its own name. There is a `*` for each dimension that is
    stacked.
  }];
  let arguments = (ins StrAttr:$name, DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$stacked,
                       DGC_InitAttr:$init, UnitAttr:$frozen,
                       TypeAttrOf<RankedTensorOf<[DGC_Element]>>:$declared_type);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = [{
    $name (`stacked` $stacked^)? custom<Init>($init) (`frozen` $frozen^)? attr-dict `:`
    custom<DeclaredType>($declared_type, type($result))
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::StringRef":$name, "InitAttr":$init, "bool":$frozen,
                                 "::mlir::Type":$declared), [{
    build($_builder, $_state, result, $_builder.getStringAttr(name), $_builder.getI64IntegerAttr(0), init,
          frozen ? $_builder.getUnitAttr() : ::mlir::UnitAttr(), ::mlir::TypeAttr::get(declared));
  }]>];
  let extraClassDeclaration = [{
    /// The type of one of the variables that are stacked; of another its own.
    ::mlir::RankedTensorType getPartType();
    /// The name of the first one of these: what holds for it holds for all.
    std::string getPartName();
  }];
  let hasVerifier = 1;
}

def DGC_AssignOp : Op<DGC_Dialect, "assign", [ParentOneOf<["ModelOp", "RepeatOp", "BlockOp"]>]> {
  let summary = "gives a variable a new value at the end of a step";
  let description = [{
    `dgc.assign %mean, %new_mean`, at the end of each step of training. `dgc.assign %cache, %new_cache in predict` is done at
    the end of each batch of predict, and not in training: what is kept from one call to the next.
  }];
  let arguments = (ins DGC_Tensor:$variable, DGC_Tensor:$value, UnitAttr:$in_predict);
  let assemblyFormat = [{
    $variable `,` $value (`in` `predict` $in_predict^)? attr-dict custom<OperandTypes>(type($variable), type($value))
  }];
  let hasVerifier = 1;
}

def DGC_LossOp : DGC_ModelMemberOp<"loss"> {
  let summary = "what training makes small: a scalar";
  let description = "`dgc.loss %loss`";
  let arguments = (ins DGC_FloatTensor:$value);
  let assemblyFormat = "$value attr-dict custom<OperandTypes>(type($value))";
  let hasVerifier = 1;
}

def DGC_MetricOp : DGC_ModelMemberOp<"metric", [AttrSizedOperandSegments]> {
  let summary = "what is reported while training and evaluating";
  let description = [{
    `dgc.metric "accuracy" %accuracy`. Over several batches it is the mean over their examples.

    `dgc.metric "precision" %right over %predicted` is a quotient: over several batches, the sum of the first divided by the
    sum of the second, 0 where that is 0. Both are sums over the examples of a batch, as dgc.precision and dgc.reduce give;
    the entry points have the second as a result "precision.over".

    With `exp` or `sqrt` before the value, what is reported is that of the mean or quotient over all batches:
    `dgc.metric "perplexity" exp %loss`, `dgc.metric "error" sqrt %mean_square`.

    A metric that depends on a dgc.running_sum is only in evaluate, and what is reported is its value after the last batch.

    A metric may be a tensor of up to 4096 elements, as the confusion matrix of a running sum: all of this holds for each
    element, and of a quotient both tensors have one shape. What has a value for each example is a dgc.output instead.

    `dgc.metric "auc" area_under_curve %logits labels %labels` is the exact area under the receiver operating characteristic
    of all examples of an evaluation: how often the logit of a positive element is larger than that of a negative one, over
    all pairs of them, where a pair of equal logits counts as half. A label is positive as for dgc.threshold_counts, and an
    element whose logit is NaN is left out. 0 where there are no positives or no negatives. Such a metric is only in evaluate,
    where the logits and the labels are results: "auc" and "auc.labels". dgc-run keeps both of all examples until the last
    batch, some bytes for each.
  }];
  let arguments = (ins StrAttr:$name, UnitAttr:$exp, UnitAttr:$sqrt, UnitAttr:$area_under_curve, DGC_FloatTensor:$value,
                       Optional<DGC_FloatTensor>:$over, Optional<DGC_NumberTensor>:$labels);
  let assemblyFormat = [{
    $name (`exp` $exp^)? (`sqrt` $sqrt^)? (`area_under_curve` $area_under_curve^)? $value (`over` $over^)?
    (`labels` $labels^)? attr-dict
    custom<OperandTypes>(type($value), type($over), ref($over), type($labels), ref($labels))
  }];
  let extraClassDeclaration = [{
    /// What a quotient is divided by, or the labels; null for other metrics.
    ::mlir::Value getSecond();
    /// Its name among the results of an entry point.
    std::string getSecondName() { return (getName() + (getLabels() ? ".labels" : ".over")).str(); }
  }];
  let hasVerifier = 1;
}

def DGC_RunningSumOp : DGC_Op<"running_sum", [HasParent<"ModelOp">]> {
  let summary = "the sum over the batches of an evaluation so far";
  let description = [{
    ```mlir
    %batch = dgc.confusion_matrix %logits, %labels
    %counts = dgc.running_sum "counts" %batch
    %f1 = dgc.macro_f1 %counts
    dgc.metric "f1" %f1
    ```

    The sum of a tensor of f32 or f64 over the batches of this evaluation, up to and including the one that is computed:
    what a metric needs that is a function of sums over all examples, and no mean or quotient. It is 0 before the first
    batch of each evaluation. Only `evaluate` has it, and with it the metrics that depend on it; a loss, an output and what is
    assigned cannot depend on it. Sums of f32 count exactly up to 2^24.

    It is a state of the role `total`, which no checkpoint has. Its name is one among those of the variables. Calls (dgc-run
    --feed) are one evaluation.
  }];
  let arguments = (ins StrAttr:$name, DGC_NumberTensor:$value);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$name $value attr-dict custom<OperandTypes>(type($value))";
  let hasVerifier = 1;
}

def DGC_OutputOp : DGC_ModelMemberOp<"output"> {
  let summary = "a result of predict";
  let description = "`dgc.output \"logits\" %logits`";
  let arguments = (ins StrAttr:$name, DGC_Tensor:$value);
  let assemblyFormat = "$name $value attr-dict custom<OperandTypes>(type($value))";
}

def DGC_StateOp : Op<DGC_Dialect, "state", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "state of a program, shared by its entry points";
  let description = [{
    `dgc.state @w weight glorot_uniform rng 0 : tensor<784x128xf32>`

    What became of a variable (`weight`, `statistic`), belongs to the optimizer (`slot`) or is the sum of a
    dgc.running_sum (`total`), which begins anew with each evaluation. Functions take it as an argument with `dgc.state = @w` and return its new value as a result with the same attribute. `rng` is the part of
    the random-number key that distinguishes this state from others. A state that `begins as "w"` takes the value of that one
    where a checkpoint has none for it.

    `dgc.state @"layer.*.w" weight glorot_uniform rng 2 stacked [5] : tensor<12x784x128xf32>` is that of a stacked variable:
    one more along the first dimension has an `rng` that is 5 larger.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DGC_StateRoleAttr:$role,
                       DGC_InitAttr:$init, I64Attr:$rng_id, TypeAttrOf<RankedTensorOf<[DGC_Element]>>:$type,
                       OptionalAttr<StrAttr>:$begins_as, OptionalAttr<DenseI64ArrayAttr>:$rng_strides);
  let assemblyFormat = [{
    $sym_name `` $role custom<Init>($init) `rng` $rng_id (`stacked` $rng_strides^)? (`begins` `as` $begins_as^)? attr-dict
    `:` $type
  }];
  let builders = [OpBuilder<(ins "::mlir::StringRef":$name, "StateRole":$role, "InitAttr":$init, "int64_t":$rngId,
                                 "::mlir::Type":$type, "::mlir::StringAttr":$beginsAs), [{
    build($_builder, $_state, $_builder.getStringAttr(name), StateRoleAttr::get($_builder.getContext(), role), init,
          $_builder.getI64IntegerAttr(rngId), ::mlir::TypeAttr::get(type), beginsAs, ::mlir::DenseI64ArrayAttr());
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
    /// How many of the first dimensions are those of a stacked variable.
    int64_t getNumStacked() { return getRngStrides() ? getRngStrides()->size() : 0; }
    /// The name of the first one of what is stacked; of another its own.
    std::string getPartName();
    /// Fan in and fan out of weights of this shape, of a part of a stacked one.
    std::pair<int64_t, int64_t> getFans();
  }];
}

#endif // DGC_MODEL_OPS_TD
