// Layers for images: convolution and pooling.

#ifndef DGC_IMAGE_OPS_TD
#define DGC_IMAGE_OPS_TD

include "dialects/dgc/Composite.td"

class DGC_ConvOp<string mnemonic, string dims> : DGC_CompositeOp<mnemonic, [DGC_LowPrecision]> {
  let arguments = (ins DGC_FloatTensor:$input, DGC_FloatTensor:$weights, Optional<DGC_FloatTensor>:$bias,
                       OptionalAttr<DenseI64ArrayAttr>:$strides, OptionalAttr<DGC_PaddingAttr>:$padding,
                       OptionalAttr<DenseI64ArrayAttr>:$dilation, OptionalAttr<I64Attr>:$groups);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $weights (`,` $bias^)? `` custom<ConvClauses>("}] # dims # [{", $strides, $padding, $dilation, $groups)
    attr-dict custom<OperandTypes>(type($input), type($weights), type($bias), ref($bias))
  }];
}

def DGC_Conv1DOp : DGC_ConvOp<"conv1d", "1"> {
  let summary = "one-dimensional convolution, with an optional bias";
  let description = [{
    `%y = dgc.conv1d %x, %w, %b strides 1 padding same dilation 1 groups 1`, as `dgc.conv2d`. Activations are
    `[n, length, channels]`, weights `[length, channels / groups, filters]`; the padding may be `[[low, high]]`.
  }];
}

def DGC_Conv2DOp : DGC_ConvOp<"conv2d", "2"> {
  let summary = "two-dimensional convolution, with an optional bias";
  let description = [{
    `%y = dgc.conv2d %x, %w, %b strides [1, 1] padding same dilation [1, 1] groups 1`

    Activations are `[n, height, width, channels]`, weights `[height, width, channels / groups, filters]`. Every
    clause may be left out, and so may the bias; the padding is then `valid`. One number stands for two equal ones:
    `strides 2` is `strides [2, 2]`. Padding `same` makes the result
    ceil(size / stride) large; `[[low, high], [low, high]]` gives the amounts.
  }];
}

def DGC_Conv3DOp : DGC_ConvOp<"conv3d", "3"> {
  let summary = "three-dimensional convolution, with an optional bias";
  let description = [{
    `%y = dgc.conv3d %x, %w, %b strides [1, 1, 1] padding same dilation [1, 1, 1] groups 1`, as `dgc.conv2d`. Activations
    are `[n, depth, height, width, channels]`, weights `[depth, height, width, channels / groups, filters]`.
  }];
}

def DGC_ConvTranspose2DOp : DGC_CompositeOp<"conv_transpose2d", [DGC_LowPrecision]> {
  let summary = "transposed two-dimensional convolution, with an optional bias";
  let description = [{
    `%y = dgc.conv_transpose2d %x, %w, %b strides 2 padding [[1, 1], [1, 1]] output_padding 1 dilation 1 groups 1`

    Each element of the input adds the weights, times itself, to a window of the result: what the gradient of a
    `dgc.conv2d` with these weights does. Activations are `[n, height, width, channels]`, weights
    `[height, width, filters / groups, channels]`. Every clause may be left out, and so may the bias. The result is
    (size - 1) stride + (window - 1) dilation + 1 - low - high + output_padding large, the output padding being less than
    the stride; with padding `same` it is size * stride.
  }];
  let arguments = (ins DGC_FloatTensor:$input, DGC_FloatTensor:$weights, Optional<DGC_FloatTensor>:$bias,
                       OptionalAttr<DenseI64ArrayAttr>:$strides, OptionalAttr<DGC_PaddingAttr>:$padding,
                       OptionalAttr<DenseI64ArrayAttr>:$output_padding, OptionalAttr<DenseI64ArrayAttr>:$dilation,
                       OptionalAttr<I64Attr>:$groups);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $weights (`,` $bias^)? ``
    custom<ConvTransposeClauses>($strides, $padding, $output_padding, $dilation, $groups) attr-dict
    custom<OperandTypes>(type($input), type($weights), type($bias), ref($bias))
  }];
}

class DGC_PoolOp<string mnemonic, list<Trait> traits = []> : DGC_CompositeOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<WindowAttributeOpInterface>], traits)> {
  let arguments = (ins DGC_FloatTensor:$input, DenseI64ArrayAttr:$window, OptionalAttr<DenseI64ArrayAttr>:$strides,
                       OptionalAttr<DGC_PaddingAttr>:$padding);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $input `window` custom<Window>($window) `` custom<PoolClauses>($strides, $padding) attr-dict custom<OperandTypes>(type($input))
  }];
}

def DGC_MaxPoolOp : DGC_PoolOp<"max_pool", [DGC_AnyPrecision]> {
  let summary = "largest element of each window";
  let description = [{
    `%y = dgc.max_pool %x window [2, 2] strides [2, 2] padding valid`, over `[n, height, width, channels]`. Without
    strides the windows do not overlap; the padding is `valid` unless given. `window 2` is `window [2, 2]`, and so for
    the strides.
  }];
}

def DGC_AvgPoolOp : DGC_PoolOp<"avg_pool"> {
  let summary = "mean of each window";
  let description = [{
    `%y = dgc.avg_pool %x window [2, 2]`, as `dgc.max_pool`. Padding does not count: the mean is that of the elements
    that are there.
  }];
}

class DGC_GlobalPoolOp<string mnemonic, list<Trait> traits = []> : DGC_CompositeOp<mnemonic, traits> {
  let arguments = (ins DGC_FloatTensor:$input);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict custom<OperandTypes>(type($input))";
}

def DGC_GlobalAvgPoolOp : DGC_GlobalPoolOp<"global_avg_pool"> {
  let summary = "mean of each channel of each example";
  let description = "`%y = dgc.global_avg_pool %x`: `[n, .., channels] -> [n, channels]`";
}

def DGC_GlobalMaxPoolOp : DGC_GlobalPoolOp<"global_max_pool", [DGC_AnyPrecision]> {
  let summary = "largest element of each channel of each example";
  let description = [{
    `%y = dgc.global_max_pool %x`: `[n, .., channels] -> [n, channels]`. Where several elements are the largest, each gets
    an equal part of the gradient.
  }];
}

def DGC_UpsampleOp : DGC_CompositeOp<"upsample", [DGC_AnyPrecision]> {
  let summary = "repeats each pixel";
  let description = [{
    `%y = dgc.upsample %x by 2`: `[n, height, width, channels] -> [n, 2 height, 2 width, channels]`, each pixel in a
    square of two by two.
  }];
  let arguments = (ins DGC_Tensor:$input, I64Attr:$factor);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = "$input `by` $factor attr-dict custom<OperandTypes>(type($input))";
}

#endif // DGC_IMAGE_OPS_TD
