// The optimizer of a model, and the updates that it becomes.

#ifndef DGC_OPTIMIZER_OPS_TD
#define DGC_OPTIMIZER_OPS_TD

include "dialects/dgc/Composite.td"

def DGC_OptimizerOp : DGC_ModelMemberOp<"optimizer"> {
  let summary = "how the variables of a model are trained";
  let description = [{
    ```mlir
    dgc.optimizer sgd learning_rate 0.1 momentum 0.9 nesterov weight_decay 1.0e-4
    dgc.optimizer adam learning_rate 1.0e-3 beta1 0.9 beta2 0.999 epsilon 1.0e-8
    dgc.optimizer adamw learning_rate 1.0e-3 cosine steps 10000 final 0.0 warm_up 500 weight_decay 0.01 clip_global_norm 1.0
    ```

    | field | of | default | meaning |
    |---|---|---|---|
    | `learning_rate` | all | required | a number, then optionally a schedule: `cosine steps N final F` or `step every N times F`, and `warm_up N` |
    | `weight_decay` | all | 0 | sgd and adam add weight_decay * w to the gradient; adamw takes learning_rate * weight_decay * w from the weight |
    | `clip_global_norm` | all | off | scales all gradients down together so that their common norm is at most this |
    | `momentum` | sgd | 0 | v = momentum * v + gradient; w = w - learning_rate * v |
    | `nesterov` | sgd | off | w = w - learning_rate * (gradient + momentum * v) |
    | `beta1`, `beta2` | adam, adamw | 0.9, 0.999 | decay of the means of the gradient and of its square |
    | `epsilon` | adam, adamw | 1e-8 | added to the square root |
  }];
  let arguments = (ins DGC_OptimizerKindAttr:$kind, DGC_ScheduleAttr:$learning_rate, OptionalAttr<F64Attr>:$momentum,
                       UnitAttr:$nesterov, OptionalAttr<F64Attr>:$weight_decay, OptionalAttr<F64Attr>:$beta1,
                       OptionalAttr<F64Attr>:$beta2, OptionalAttr<F64Attr>:$epsilon,
                       OptionalAttr<F64Attr>:$clip_global_norm);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def DGC_LearningRateOp : DGC_CompositeOp<"learning_rate"> {
  let summary = "the learning rate of a training step";
  let description = "`%lr = dgc.learning_rate %step 0.1 cosine steps 1000 final 0.0`: an f32 scalar.";
  let arguments = (ins DGC_StepScalar:$step, DGC_ScheduleAttr:$schedule);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$step custom<Schedule>($schedule) attr-dict";
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

def DGC_ApplySGDOp : DGC_CompositeOp<"apply_sgd", [DGC_ElementwiseUpdate]> {
  let summary = "one step of stochastic gradient descent";
  let description = [{
    `%w1, %v1 = dgc.apply_sgd %w, %g, %lr, %v momentum 0.9 nesterov weight_decay 1.0e-4 : TYPES`, and without momentum
    `%w1 = dgc.apply_sgd %w, %g, %lr : TYPES`. See `dgc.optimizer` for the formulas.
  }];
  let arguments = (ins DGC_FloatTensor:$weight, DGC_FloatTensor:$gradient, DGC_FloatTensor:$rate,
                       Optional<DGC_FloatTensor>:$velocity, OptionalAttr<F64Attr>:$momentum,
                       UnitAttr:$nesterov, OptionalAttr<F64Attr>:$weight_decay);
  let results = (outs DGC_FloatTensor:$new_weight, Optional<DGC_FloatTensor>:$new_velocity);
  let assemblyFormat = [{
    $weight `,` $gradient `,` $rate (`,` $velocity^)? `` custom<SGDClauses>($momentum, $nesterov, $weight_decay) attr-dict
    custom<OperandTypes>(type($weight), type($gradient), type($rate), type($velocity), ref($velocity))
  }];
}

def DGC_ApplyAdamOp : DGC_CompositeOp<"apply_adam", [DGC_ElementwiseUpdate], 3> {
  let summary = "one step of Adam, or of AdamW";
  let description = [{
    `%w1, %m1, %v1 = dgc.apply_adam %w, %g, %m, %v, %lr, %step beta1 0.9 beta2 0.999 epsilon 1.0e-8 : TYPES`, with t the
    step counted from 1:

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g^2
        w = w - lr * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon)

    `weight_decay D` adds D * w to g; with `decoupled` (AdamW) lr * D * w is taken from w instead.
  }];
  let arguments = (ins DGC_FloatTensor:$weight, DGC_FloatTensor:$gradient, DGC_FloatTensor:$mean,
                       DGC_FloatTensor:$square, DGC_FloatTensor:$rate, DGC_StepScalar:$step, F64Attr:$beta1,
                       F64Attr:$beta2, F64Attr:$epsilon, OptionalAttr<F64Attr>:$weight_decay,
                       UnitAttr:$decoupled);
  let results = (outs DGC_FloatTensor:$new_weight, DGC_FloatTensor:$new_mean, DGC_FloatTensor:$new_square);
  let assemblyFormat = [{
    $weight `,` $gradient `,` $mean `,` $square `,` $rate `,` $step 
    `` custom<AdamClauses>($beta1, $beta2, $epsilon, $weight_decay, $decoupled) attr-dict
    custom<OperandTypes>(type($weight), type($gradient), type($mean), type($square), type($rate))
  }];
}

#endif // DGC_OPTIMIZER_OPS_TD
