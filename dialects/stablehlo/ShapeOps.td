// Ops that make, move, repeat or choose elements and compute nothing.

#ifndef DGC_STABLEHLO_SHAPE_OPS_TD
#define DGC_STABLEHLO_SHAPE_OPS_TD

include "dialects/stablehlo/Base.td"

def StableHLO_ConstantOp : StableHLO_PureOp<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let arguments = (ins ElementsAttr:$value);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def StableHLO_IotaOp : StableHLO_PureOp<"iota"> {
  let arguments = (ins I64Attr:$iota_dimension);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def StableHLO_BitcastConvertOp : StableHLO_PureOp<"bitcast_convert"> {
  let arguments = (ins StableHLO_Tensor:$operand);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StableHLO_BroadcastOp : StableHLO_PureOp<"broadcast", [SameOperandsAndResultElementType]> {
  let description = "The sizes come before those of the operand.";
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$broadcast_sizes);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "$operand `,` `sizes` `=` $broadcast_sizes attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StableHLO_BroadcastInDimOp : StableHLO_PureOp<"broadcast_in_dim", [SameOperandsAndResultElementType]> {
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $broadcast_dimensions attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_ConcatenateOp : StableHLO_PureOp<"concatenate", [SameOperandsAndResultElementType]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, I64Attr:$dimension);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    custom<Operands>($inputs) `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_DynamicSliceOp : StableHLO_PureOp<"dynamic_slice"> {
  let arguments = (ins StableHLO_Tensor:$operand, Variadic<StableHLO_ScalarInt>:$start_indices,
                       DenseI64ArrayAttr:$slice_sizes);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` custom<Operands>($start_indices) `sizes` `=` $slice_sizes attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

// The static op with a shape, sizes or places that are an operand.
class StableHLO_DynamicShapeOp<string mnemonic> : StableHLO_PureOp<mnemonic> {
  let results = (outs StableHLO_AnyShape:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StableHLO_DynamicBroadcastInDimOp : StableHLO_DynamicShapeOp<"dynamic_broadcast_in_dim"> {
  let arguments = (ins StableHLO_AnyShape:$operand, StableHLO_Sizes:$output_dimensions,
                       DenseI64ArrayAttr:$broadcast_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_expanding_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_nonexpanding_dimensions);
  let assemblyFormat = [{
    $operand `,` $output_dimensions `,` `dims` `=` $broadcast_dimensions attr-dict `:`
    functional-type(operands, results)
  }];
}

def StableHLO_DynamicIotaOp : StableHLO_DynamicShapeOp<"dynamic_iota"> {
  let arguments = (ins StableHLO_Sizes:$output_shape, I64Attr:$iota_dimension);
  let assemblyFormat = [{
    $output_shape `,` `dim` `=` $iota_dimension attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_DynamicPadOp : StableHLO_DynamicShapeOp<"dynamic_pad"> {
  let arguments = (ins StableHLO_AnyShape:$operand, StableHLO_Tensor:$padding_value,
                       StableHLO_Sizes:$edge_padding_low, StableHLO_Sizes:$edge_padding_high,
                       StableHLO_Sizes:$interior_padding);
}

def StableHLO_DynamicReshapeOp : StableHLO_DynamicShapeOp<"dynamic_reshape"> {
  let arguments = (ins StableHLO_AnyShape:$operand, StableHLO_Sizes:$output_shape);
}

def StableHLO_RealDynamicSliceOp : StableHLO_DynamicShapeOp<"real_dynamic_slice"> {
  let arguments = (ins StableHLO_AnyShape:$operand, StableHLO_Sizes:$start_indices, StableHLO_Sizes:$limit_indices,
                       StableHLO_Sizes:$strides);
}

def StableHLO_DynamicUpdateSliceOp
    : StableHLO_PureOp<"dynamic_update_slice", [AllTypesMatch<["operand", "result"]>]> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$update,
                       Variadic<StableHLO_ScalarInt>:$start_indices);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StableHLO_GetDimensionSizeOp : StableHLO_PureOp<"get_dimension_size"> {
  let arguments = (ins StableHLO_Tensor:$operand, I64Attr:$dimension);
  let results = (outs StableHLO_ScalarInt:$result);
  let assemblyFormat = "$operand `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StableHLO_PadOp : StableHLO_PureOp<"pad", [SameOperandsAndResultElementType]> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$padding_value, DenseI64ArrayAttr:$edge_padding_low,
                       DenseI64ArrayAttr:$edge_padding_high, DenseI64ArrayAttr:$interior_padding);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high `,`
    `interior` `=` $interior_padding attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_ReshapeOp : StableHLO_PureOp<"reshape", [SameOperandsAndResultElementType]> {
  let arguments = (ins StableHLO_Tensor:$operand);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StableHLO_ReverseOp : StableHLO_PureOp<"reverse", [SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions attr-dict `:` custom<Signature>(type($operand), type($result))
  }];
  let hasVerifier = 1;
}

def StableHLO_SliceOp : StableHLO_PureOp<"slice", [SameOperandsAndResultElementType]> {
  let description = "`%x [0:4, 0:16:2]`: start, limit and, unless it is 1, stride of each dimension.";
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$start_indices, DenseI64ArrayAttr:$limit_indices,
                       DenseI64ArrayAttr:$strides);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand custom<Ranges>($start_indices, $limit_indices, $strides) attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_TransposeOp : StableHLO_PureOp<"transpose", [SameOperandsAndResultElementType]> {
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "$operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // DGC_STABLEHLO_SHAPE_OPS_TD
