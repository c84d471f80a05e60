// Convolution and its two gradients, each an op of its own so that a library can be called for it directly.

#ifndef DGC_CONVOLUTION_OPS_TD
#define DGC_CONVOLUTION_OPS_TD

include "dialects/dgc/Structured.td"

// The dimension lists have one entry per spatial dimension (`padding` two: low, high); empty: strides and
// dilations of 1, no padding.
class DGC_ConvolutionLikeOp<string mnemonic>
    : DGC_StructuredOp<mnemonic, [DGC_StandaloneKernel, DGC_LowPrecision, DeclareOpInterfaceMethods<DifferentiableOpInterface>,
                                  DeclareOpInterfaceMethods<MovingOpInterface, ["takeWindows"]>,
                                  DeclareOpInterfaceMethods<LocalizableOpInterface>]> {
  let results = (outs DGC_NumberTensor:$result);
  string window = [{
    (`strides` $strides^)? (`padding` custom<Padding>($padding)^)? (`dilation` $dilation^)?
    (`lhs_dilation` $lhs_dilation^)? (`groups` $groups^)? attr-dict
  }];
  let extraClassDeclaration = inferredDeclaration # [{
    /// The sizes of this convolution, defaults filled in.
    ::dgc::ConvolutionGeometry getGeometry();
  }];
}

def DGC_ConvolutionOp : DGC_ConvolutionLikeOp<"convolution"> {
  let summary = "convolution";
  let description = [{
    Slides the weights over the input. The layout is fixed: the input is batch, spatial dimensions, channels; the
    weights are spatial dimensions, input channels / groups, output channels; the result is batch, spatial
    dimensions, output channels. The input is dilated by `lhs_dilation` (zeros between its elements), padded with
    zeros, and the weights are dilated by `dilation`. The i-th of `groups` equal groups of output channels sees
    the i-th group of input channels only. The weights are not mirrored.

    ```mlir
    %y = dgc.convolution %x, %w strides [2, 2] padding [[1, 1], [1, 1]]
       : tensor<8x28x28x1xf32>, tensor<3x3x1x32xf32>   // tensor<8x14x14x32xf32>
    ```
  }];
  let arguments = (ins DGC_NumberTensor:$input, DGC_NumberTensor:$weights, DGC_DimList:$strides,
                       DGC_DimList:$padding, DGC_DimList:$dilation, DGC_DimList:$lhs_dilation,
                       DefaultValuedOptionalAttr<I64Attr, "1">:$groups);
  let assemblyFormat = "$input `,` $weights " # window # " custom<OperandTypes>(type($input), type($weights))";
}

def DGC_ConvolutionInputGradOp : DGC_ConvolutionLikeOp<"convolution_input_grad"> {
  let summary = "gradient of a convolution with respect to its input";
  let description = [{
    Given the gradient of the result of a `dgc.convolution` with these attributes and the weights, computes the
    gradient of its input, whose spatial sizes are `input_size`.

    ```mlir
    %dx = dgc.convolution_input_grad %dy, %w input_size [28, 28] strides [2, 2] padding [[1, 1], [1, 1]]
        : tensor<8x14x14x32xf32>, tensor<3x3x1x32xf32>   // tensor<8x28x28x1xf32>
    ```
  }];
  let arguments = (ins DGC_NumberTensor:$result_gradient, DGC_NumberTensor:$weights, DenseI64ArrayAttr:$input_size,
                       DGC_DimList:$strides, DGC_DimList:$padding, DGC_DimList:$dilation, DGC_DimList:$lhs_dilation,
                       DefaultValuedOptionalAttr<I64Attr, "1">:$groups);
  let assemblyFormat = "$result_gradient `,` $weights `input_size` $input_size " # window #
                       " custom<OperandTypes>(type($result_gradient), type($weights))";
}

def DGC_ConvolutionWeightGradOp : DGC_ConvolutionLikeOp<"convolution_weight_grad"> {
  let summary = "gradient of a convolution with respect to its weights";
  let description = [{
    Given the input of a `dgc.convolution` with these attributes and the gradient of its result, computes the
    gradient of its weights, whose spatial sizes are `kernel_size`: a sum over the batch.

    ```mlir
    %dw = dgc.convolution_weight_grad %x, %dy kernel_size [3, 3] strides [2, 2] padding [[1, 1], [1, 1]]
        : tensor<8x28x28x1xf32>, tensor<8x14x14x32xf32>   // tensor<3x3x1x32xf32>
    ```
  }];
  let arguments = (ins DGC_NumberTensor:$input, DGC_NumberTensor:$result_gradient, DenseI64ArrayAttr:$kernel_size,
                       DGC_DimList:$strides, DGC_DimList:$padding, DGC_DimList:$dilation, DGC_DimList:$lhs_dilation,
                       DefaultValuedOptionalAttr<I64Attr, "1">:$groups);
  let assemblyFormat = "$input `,` $result_gradient `kernel_size` $kernel_size " # window #
                       " custom<OperandTypes>(type($input), type($result_gradient))";
}

#endif // DGC_CONVOLUTION_OPS_TD
