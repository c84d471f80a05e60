// Products, convolutions and other ops of linear algebra.

#ifndef DGC_STABLEHLO_CONTRACTION_OPS_TD
#define DGC_STABLEHLO_CONTRACTION_OPS_TD

include "dialects/stablehlo/Base.td"

def StableHLO_DotOp : StableHLO_PureOp<"dot"> {
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs, StableHLO_PrecisionConfig:$precision_config);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs custom<Precision>($precision_config) attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_DotGeneralOp : StableHLO_PureOp<"dot_general"> {
  let description = [{
    `%a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT]`, and where there is
    one `, algorithm = <...>`.
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs, StableHLO_DotDims:$dot_dimension_numbers,
                       StableHLO_PrecisionConfig:$precision_config, OptionalAttr<StableHLO_DotAlgorithm>:$algorithm);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs custom<DotClauses>($dot_dimension_numbers, $precision_config, $algorithm) attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_ConvolutionOp : StableHLO_PureOp<"convolution"> {
  let description = [{
    `(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]],
    lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]}`; each entry of the window may be absent.
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs, OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       StableHLO_Padding:$padding, OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation,
                       OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation, OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
                       StableHLO_ConvDims:$dimension_numbers,
                       ConfinedAttr<I64Attr, [IntPositive]>:$feature_group_count,
                       ConfinedAttr<I64Attr, [IntPositive]>:$batch_group_count,
                       StableHLO_PrecisionConfig:$precision_config);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    `(` $lhs `,` $rhs `)` `dim_numbers` `=` custom<ConvDimensions>($dimension_numbers) `,` `window` `=`
    custom<Window>($window_strides, $padding, $lhs_dilation, $rhs_dilation, $window_reversal)
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_DynamicConvOp : StableHLO_PureOp<"dynamic_conv"> {
  let description = "A convolution whose padding, `[[low, high], ..]`, is an operand.";
  let arguments = (ins StableHLO_AnyShape:$lhs, StableHLO_AnyShape:$rhs, 2DTensorOf<[AnyInteger, Index]>:$d_padding,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides, OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation,
                       OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation, OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
                       StableHLO_ConvDims:$dimension_numbers,
                       ConfinedAttr<I64Attr, [IntPositive]>:$feature_group_count,
                       ConfinedAttr<I64Attr, [IntPositive]>:$batch_group_count,
                       StableHLO_PrecisionConfig:$precision_config);
  let results = (outs StableHLO_AnyShape:$result);
  let hasVerifier = 1;
}

def StableHLO_EinsumOp : StableHLO_PureOp<"einsum"> {
  let description = [{
    `%a, %b, config = "ab,bc->ac"`: the products of the elements that have the same index for each letter, added up over
    letters that the result has not. `...` in each part is the dimensions that have no letter.
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs, StrAttr:$einsum_config);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_UnaryEinsumOp : StableHLO_PureOp<"unary_einsum"> {
  let description = "`%a, config = \"ab->a\"`: einsum of one operand.";
  let arguments = (ins StableHLO_Tensor:$operand, StrAttr:$einsum_config);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "$operand `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StableHLO_CholeskyOp : StableHLO_PureOp<"cholesky", [SameOperandsAndResultShape]> {
  let arguments = (ins StableHLO_FloatOrComplexTensor:$a, DefaultValuedOptionalAttr<BoolAttr, "false">:$lower);
  let results = (outs StableHLO_FloatOrComplexTensor:$result);
  let assemblyFormat = "$a (`,` `lower` `=` $lower^)? attr-dict `:` custom<Signature>(type($a), type($result))";
}

def StableHLO_FftOp : StableHLO_PureOp<"fft"> {
  let arguments = (ins StableHLO_FloatOrComplexTensor:$operand, StableHLO_FftTypeAttr:$fft_type,
                       DenseI64ArrayAttr:$fft_length);
  let results = (outs StableHLO_FloatOrComplexTensor:$result);
  let assemblyFormat = [{
    $operand `,` `type` `=` $fft_type `,` `length` `=` $fft_length attr-dict `:` functional-type(operands, results)
  }];
}

#endif // DGC_STABLEHLO_CONTRACTION_OPS_TD
