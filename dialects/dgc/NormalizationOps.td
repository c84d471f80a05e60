// Normalization along the features and over the batch.

#ifndef DGC_NORMALIZATION_OPS_TD
#define DGC_NORMALIZATION_OPS_TD

include "dialects/dgc/Composite.td"

def DGC_LayerNormOp : DGC_KeptCompositeOp<"layer_norm", [
    DeclareOpInterfaceMethods<SizeDependentOpInterface, ["decomposeWithCount"]>]> {
  let summary = "normalizes along the last dimension";
  let description = [{
    `%y = dgc.layer_norm %x, %scale, %offset epsilon 1.0e-5`:
    (x - mean) / sqrt(variance + epsilon) * scale + offset, mean and variance along the last dimension.
  }];
  let arguments = (ins DGC_FloatTensor:$input, DGC_FloatTensor:$scale, DGC_FloatTensor:$offset,
                       OptionalAttr<F64Attr>:$epsilon);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $scale `,` $offset `` custom<Epsilon>($epsilon) attr-dict
    custom<OperandTypes>(type($input), type($scale), type($offset))
  }];
}

def DGC_RmsNormOp : DGC_KeptCompositeOp<"rms_norm", [
    DeclareOpInterfaceMethods<SizeDependentOpInterface, ["decomposeWithCount"]>]> {
  let summary = "divides by the root of the mean square along the last dimension";
  let description = [{
    `%y = dgc.rms_norm %x, %scale epsilon 1.0e-5`: x / sqrt(mean(x^2) + epsilon) * scale, the mean along the last
    dimension.
  }];
  let arguments = (ins DGC_FloatTensor:$input, DGC_FloatTensor:$scale, OptionalAttr<F64Attr>:$epsilon);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $scale `` custom<Epsilon>($epsilon) attr-dict custom<OperandTypes>(type($input), type($scale))
  }];
}

def DGC_GroupNormOp : DGC_CompositeOp<"group_norm"> {
  let summary = "normalizes groups of channels of each example";
  let description = [{
    `%y = dgc.group_norm %x, %scale, %offset groups 8 epsilon 1.0e-5`, over `[n, .., channels]`:
    (x - mean) / sqrt(variance + epsilon) * scale + offset, mean and variance of each example and group, over the
    channels of the group and all dimensions between.
  }];
  let arguments = (ins DGC_FloatTensor:$input, DGC_FloatTensor:$scale, DGC_FloatTensor:$offset, I64Attr:$groups,
                       OptionalAttr<F64Attr>:$epsilon);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $scale `,` $offset `groups` $groups `` custom<Epsilon>($epsilon) attr-dict
    custom<OperandTypes>(type($input), type($scale), type($offset))
  }];
}

def DGC_InstanceNormOp : DGC_CompositeOp<"instance_norm"> {
  let summary = "normalizes each channel of each example";
  let description = [{
    `%y = dgc.instance_norm %x, %scale, %offset epsilon 1.0e-5`, over `[n, .., channels]`:
    (x - mean) / sqrt(variance + epsilon) * scale + offset, mean and variance of each example and channel, over all
    dimensions between.
  }];
  let arguments = (ins DGC_FloatTensor:$input, DGC_FloatTensor:$scale, DGC_FloatTensor:$offset,
                       OptionalAttr<F64Attr>:$epsilon);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $scale `,` $offset `` custom<Epsilon>($epsilon) attr-dict
    custom<OperandTypes>(type($input), type($scale), type($offset))
  }];
}

def DGC_BatchNormOp : DGC_KeptCompositeOp<"batch_norm", [DGC_AnyPrecisionOfFirst,
    DeclareOpInterfaceMethods<BatchMeanOpInterface>,
    DeclareOpInterfaceMethods<SizeDependentOpInterface, ["decomposeWithCount"]>,
    DeclareOpInterfaceMethods<ModeOpInterface, ["getRunningStatistics"]>], 3> {
  let summary = "normalizes each channel over the batch";
  let description = [{
    ```mlir
    %y, %mean_next, %variance_next = dgc.batch_norm %x, %scale, %offset, %mean, %variance momentum 0.9 epsilon 1.0e-5
    dgc.assign %mean, %mean_next
    dgc.assign %variance, %variance_next
    ```

    In training, (x - mean) / sqrt(variance + epsilon) * scale + offset with mean and variance of each channel (the
    last dimension) over the global batch and the other dimensions; the two last results are the running statistics,
    momentum * running + (1 - momentum) * batch. Otherwise the running statistics are used, and returned as they are.
    A model with a loss that leaves the running statistics as they were initialized is an error: both are assigned, or
    their variables are `frozen`. Padding rows of a short batch do not count. Variances are those of the population (divided by n). An input of f16 or
    bf16 is computed in f32 and rounded once; the other operands are of its type, or f32.
  }];
  let arguments = (ins DGC_FloatTensor:$input, DGC_FloatTensor:$scale, DGC_FloatTensor:$offset,
                       DGC_FloatTensor:$mean, DGC_FloatTensor:$variance, Optional<DGC_CountScalar>:$valid,
                       OptionalAttr<F64Attr>:$momentum, OptionalAttr<F64Attr>:$epsilon, UnitAttr:$training);
  let results = (outs DGC_FloatTensor:$result, DGC_FloatTensor:$next_mean, DGC_FloatTensor:$next_variance);
  let assemblyFormat = [{
    $input `,` $scale `,` $offset `,` $mean `,` $variance `` custom<BatchNormClauses>($momentum, $epsilon)
    (`training` $training^)? (`valid` $valid^)? attr-dict
    custom<OperandTypes>(type($input), type($scale), type($offset), type($mean), type($variance))
  }];
}

#endif // DGC_NORMALIZATION_OPS_TD
