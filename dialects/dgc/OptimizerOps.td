// The optimizer of a model, how optimizers are written, and the updates that they become.

#ifndef DGC_OPTIMIZER_OPS_TD
#define DGC_OPTIMIZER_OPS_TD

include "dialects/dgc/Composite.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def DGC_OptimizerOp : DGC_ModelMemberOp<"optimizer", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "how the variables of a model are trained";
  let description = [{
    ```mlir
    dgc.optimizer sgd learning_rate 0.1 momentum 0.9 nesterov weight_decay 1.0e-4
    dgc.optimizer adamw learning_rate 1.0e-3 cosine steps 10000 final 0.0 warm_up 500 weight_decay 0.01 clip_global_norm 1.0
        for "*.bias,*norm*" weight_decay 0.0
        for "embedding.*" frozen
        for "head.*" learning_rate_factor 10.0
    dgc.optimizer @mine learning_rate 0.1
    ```

    It is one of the optimizers below, each with fields of its own, or a `dgc.optimizer_def` of the module. All have

    | field | default | meaning |
    |---|---|---|
    | `learning_rate` | required | a number, then optionally a schedule: `linear steps N final F`, `cosine steps N final F`, `polynomial steps N final F power P`, `step every N times F`, `exponential every N times F` or a `dgc.schedule_def`, `@NAME(FIELD VALUE ..)`, and `warm_up N` |
    | `clip_global_norm` | off | scales all gradients down together so that their common norm is at most this |

    | `average` | off | `average 0.999` keeps a moving average of each weight, `WEIGHT.average`, and `evaluate` and `predict` use that. After step t it is d * average + (1 - d) * weight with d = min(0.999, t / (t + 1)): until the decay is reached, the mean of all weights so far |

    `for "PATTERN,PATTERN"` comes last. What follows it is for the variables of these names: fields of the optimizer, a
    `learning_rate_factor`, or `frozen`. The last one that matches holds.

    | optimizer | field | default | meaning |
    |---|---|---|---|
    | all | `weight_decay` | 0 | sgd, adam, rmsprop and adagrad add weight_decay * w to the gradient; the others take learning_rate * weight_decay * w from the weight |
    | sgd | `momentum` | 0 | v = momentum * v + gradient; w = w - learning_rate * v |
    | | `nesterov` | off | w = w - learning_rate * (gradient + momentum * v) |
    | adam, adamw | `beta1`, `beta2` | 0.9, 0.999 | decay of the means of the gradient and of its square |
    | | `epsilon` | 1e-8 | added to the square root |
    | rmsprop | `alpha`, `epsilon` | 0.99, 1e-8 | decay of the mean of the square; added to its root |
    | | `centered` | off | the root is that of the variance |
    | | `momentum` | 0 | as of sgd, of the quotient |
    | adagrad | `epsilon`, `initial_accumulator` | 1e-10, 0 | added to the root of the sum of squares; where this sum begins |
    | | `learning_rate_decay` | 0 | the learning rate is divided by 1 + t * learning_rate_decay |
    | adafactor | `beta2_decay` | -0.8 | the mean of squares takes t^beta2_decay of the new one |
    | | `epsilon1`, `epsilon2` | 2^-23, 1e-3 | the least root of a mean of squares; the least root mean square of a weight |
    | | `threshold` | 1 | the most root mean square of an update |
    | lamb | `beta1`, `beta2`, `epsilon` | 0.9, 0.999, 1e-6 | as of adam |
    | lion | `beta1`, `beta2` | 0.9, 0.99 | the part of the mean in the step, and its decay |
    | muon | `momentum`, `nesterov` | 0.95, on | the decay of the mean of the gradient; `nesterov false` |
    | | `epsilon` | 1e-7 | the least norm that a matrix is divided by |

    adafactor keeps a mean of squares for each row and each column; of vectors and scalars, for each element. muon is for
    matrices; other weights are trained by adamw, of which it has the fields, too.
  }];
  let arguments = (ins DGC_OptimizerReference:$definition, DGC_ScheduleAttr:$learning_rate, DictionaryAttr:$fields,
                       OptionalAttr<F64Attr>:$clip_global_norm, OptionalAttr<F64Attr>:$average,
                       OptionalAttr<TypedArrayAttrBase<DGC_WeightGroupAttr, "weights by name">>:$groups);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How the variable `name` is trained: the last group that has it; null for none.
    WeightGroupAttr groupOf(::llvm::StringRef name);
    /// Whether a group freezes the variable.
    bool freezes(::llvm::StringRef name);
    /// The fields for the variable: those of its group, and the others of the optimizer.
    ::mlir::DictionaryAttr fieldsFor(::llvm::StringRef name);
  }];
}

def DGC_OptimizerDefOp : Op<DGC_Dialect, "optimizer_def", [
    IsolatedFromAbove, Symbol, HasParent<"::mlir::ModuleOp">, SingleBlockImplicitTerminator<"ReturnOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "an optimizer, as a function of one weight";
  let description = [{
    ```mlir
    dgc.optimizer_def @signed(%w, %g, %rate, %step)
        parameters ("beta" %beta = 0.9 in [0.0, 1.0), "weight_decay" %decay = 0.0 in [0.0, inf))
        state ("momentum" %m) {
      %kept = dgc.multiply %m, %beta
      %part = dgc.subtract 1.0, %beta
      %new = dgc.multiply %g, %part
      %mean = dgc.add %kept, %new
      %sign = dgc.sign %mean
      %decayed = dgc.multiply %w, %decay
      %direction = dgc.add %sign, %decayed
      %move = dgc.multiply %direction, %rate
      %w1 = dgc.subtract %w, %move
      dgc.return %w1, %mean
    }
    ```

    It is declared next to the model, whose `dgc.optimizer @signed learning_rate 0.1 beta 0.8` gives the values of its
    parameters. It is written out for each weight: `%w` is the weight, `%g` its gradient, `%rate` the learning rate, an f32
    scalar, `%step` the number of the step from 0 on, an i64 scalar, and what `state` names are tensors that are kept from
    step to step, zeros at first, or `= NUMBER`, or the value of a parameter, `= "NAME"`. `dgc.return` gives the new weight
    and new states, in this order. Floats of 16 bits are f32 here. A scalar that meets a float of more bits becomes one.

    - A parameter is a number, as if it were written in its place. What is computed of numbers alone is a number, in f64, and
      so is `dgc.size %w dim -1`. A `dgc.select` by such a truth is one of its operands, and the other is not computed.
    - `"nesterov" %n = false` is a truth, which a model gives as the word `nesterov`. `needs "momentum"` after a parameter: it
      makes no sense where `momentum` is 0. After a state: the state is there only where `momentum` is not 0.
    - `in [0.0, 1.0)` is the range of a parameter, `inf` an open end.
    - `"row" %r reduced [-1]` is a state of the shape of the weight in which the last dimension has the size 1.
    - `rank in [2, inf) else adamw`, before the parameters: other weights are trained by another optimizer, whose fields this
      one has, too. It is one of the language or, as `@other`, of the module.

    Its ops are those of a model without variables; it may call blocks. The optimizers of the language are written so, in
    `dialects/dgc/Optimizers.mlir`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypedArrayAttrBase<DGC_ParameterAttr, "parameters">:$parameters,
                       TypedArrayAttrBase<DGC_OptimizerStateAttr, "states">:$states,
                       OptionalAttr<DGC_IntervalAttr>:$rank, OptionalAttr<DGC_OptimizerReference>:$otherwise);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of arguments before states and parameters.
    static constexpr unsigned firstState = 4;
    /// Whether each element of what it gives depends on those at the same place alone, and on scalars.
    bool isElementwise();
  }];
}

def DGC_SizeOp : Op<DGC_Dialect, "size", [Pure, ParentOneOf<["OptimizerDefOp", "RepeatOp"]>]> {
  let summary = "the size of a dimension, as a number";
  let description = "`%n = dgc.size %w dim -1`, in a dgc.optimizer_def. -1 is the last dimension.";
  let arguments = (ins DGC_Untyped:$operand, I64Attr:$dim);
  let results = (outs DGC_Untyped:$result);
  let assemblyFormat = "$operand `dim` $dim attr-dict";
}

def DGC_ClipByGlobalNormOp : DGC_CompositeOp<"clip_by_global_norm"> {
  let summary = "scales tensors so that their common norm is at most a number";
  let description = [{
    `%a, %b = dgc.clip_by_global_norm %g, %h max 1.0 : tensor<4x8xf32>, tensor<8xf32>` multiplies every tensor by
    max / larger of max and the square root of the sum of all squares.
  }];
  let arguments = (ins Variadic<DGC_FloatTensor>:$gradients, F64Attr:$max);
  let results = (outs Variadic<DGC_FloatTensor>:$clipped);
  let assemblyFormat = "$gradients `max` custom<Number>($max) attr-dict `:` type($gradients)";
}

def DGC_ApplyOptimizerOp : DGC_CompositeOp<"apply_optimizer", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one step of an optimizer, for one weight";
  let description = [{
    `%w1, %v1 = dgc.apply_optimizer sgd (%w, %g, %rate, %step) state (%v) momentum 0.9 : TYPES`, with the types of the weight,
    the gradient, the rate and the states. Is the body of the `dgc.optimizer_def`, with the fields as its parameters; see
    there. The states are those that there are with these fields.
  }];
  let arguments = (ins DGC_OptimizerReference:$definition, DictionaryAttr:$fields, DGC_FloatTensor:$weight,
                       DGC_FloatTensor:$gradient, DGC_FloatTensor:$rate, DGC_StepScalar:$step,
                       Variadic<DGC_FloatTensor>:$states);
  let results = (outs DGC_FloatTensor:$new_weight, Variadic<DGC_FloatTensor>:$new_states);
  let assemblyFormat = [{
    custom<OptimizerReference>($definition) `(` $weight `,` $gradient `,` $rate `,` $step `)`
    (`state` `(` $states^ `)`)? `` custom<OptimizerFields>($fields) attr-dict
    custom<OperandTypes>(type($weight), type($gradient), type($rate), type($states), ref($states))
  }];
  let extraClassDeclaration = inferredDeclaration # [{
    /// Whether each element of what it gives depends on those at the same place alone, and on scalars.
    bool isElementwise();
  }];
}

#endif // DGC_OPTIMIZER_OPS_TD
