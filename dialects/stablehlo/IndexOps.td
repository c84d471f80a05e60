// Ops that choose elements by numbers that are only known when the program runs.

#ifndef DGC_STABLEHLO_INDEX_OPS_TD
#define DGC_STABLEHLO_INDEX_OPS_TD

include "dialects/stablehlo/Base.td"

def StableHLO_GatherOp : StableHLO_PureOp<"gather"> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_IntTensor:$start_indices,
                       StableHLO_GatherDims:$dimension_numbers, DenseI64ArrayAttr:$slice_sizes,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
}

def StableHLO_DynamicGatherOp : StableHLO_PureOp<"dynamic_gather"> {
  let arguments = (ins StableHLO_AnyShape:$operand, StableHLO_IntTensor:$start_indices, StableHLO_Sizes:$slice_sizes,
                       StableHLO_GatherDims:$dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs StableHLO_AnyShape:$result);
  let hasVerifier = 1;
}

def StableHLO_TorchIndexSelectOp : StableHLO_PureOp<"torch_index_select"> {
  let description = [{
    The slices of the operand along `dim` that the indices choose, in their place. The first `batch_dims` dimensions are those
    of both.
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_IntTensor:$index, I64Attr:$dim, I64Attr:$batch_dims);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $index `,` `dim` `=` $dim `,` `batch_dims` `=` $batch_dims attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_ScatterOp : StableHLO_Op<"scatter", [RecursiveMemoryEffects, SingleBlock, SameVariadicOperandSize]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, StableHLO_IntTensor:$scatter_indices,
                       Variadic<StableHLO_Tensor>:$updates, StableHLO_ScatterDims:$scatter_dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$unique_indices);
  let results = (outs Variadic<StableHLO_Tensor>:$results);
  let regions = (region AnyRegion:$update_computation);
  let hasVerifier = 1;
}

#endif // DGC_STABLEHLO_INDEX_OPS_TD
