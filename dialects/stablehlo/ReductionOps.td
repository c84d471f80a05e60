// Ops that combine or order elements with a function that is given as a region.

#ifndef DGC_STABLEHLO_REDUCTION_OPS_TD
#define DGC_STABLEHLO_REDUCTION_OPS_TD

include "dialects/stablehlo/Base.td"

def StableHLO_ReduceOp : StableHLO_Op<"reduce", [RecursiveMemoryEffects, SameVariadicOperandSize, SingleBlock]> {
  let description = [{
    `(%x init: %c) applies stablehlo.add across dimensions = [1]` where the region is one op of its two arguments, else
    `(%x init: %c), (%y init: %d) across dimensions = [1]` and behind the types
    `reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<i32>, %s: tensor<i32>) {..}`, a pair for each operand.
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, Variadic<StableHLO_Tensor>:$init_values,
                       DenseI64ArrayAttr:$dimensions);
  let results = (outs Variadic<StableHLO_Tensor>:$results);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def StableHLO_ReduceWindowOp
    : StableHLO_Op<"reduce_window", [RecursiveMemoryEffects, SameVariadicOperandSize, SingleBlock]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, Variadic<StableHLO_Tensor>:$init_values,
                       DenseI64ArrayAttr:$window_dimensions, OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$base_dilations,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dilations, StableHLO_Padding:$padding);
  let results = (outs Variadic<StableHLO_Tensor>:$results);
  let regions = (region AnyRegion:$body);
  let hasVerifier = 1;
}

def StableHLO_SelectAndScatterOp : StableHLO_Op<"select_and_scatter", [RecursiveMemoryEffects, SingleBlock]> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$source, StableHLO_Tensor:$init_value,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides, StableHLO_Padding:$padding);
  let results = (outs StableHLO_Tensor:$result);
  let regions = (region AnyRegion:$select, AnyRegion:$scatter);
  let hasVerifier = 1;
}

def StableHLO_SortOp : StableHLO_Op<"sort", [RecursiveMemoryEffects, SameOperandsAndResultShape, SingleBlock]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, DefaultValuedOptionalAttr<I64Attr, "-1">:$dimension,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_stable);
  let results = (outs Variadic<StableHLO_Tensor>:$results);
  let regions = (region AnyRegion:$comparator);
  let hasVerifier = 1;
}

def StableHLO_MapOp : StableHLO_Op<"map", [RecursiveMemoryEffects, SameOperandsAndResultShape, SingleBlock]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, DenseI64ArrayAttr:$dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let regions = (region AnyRegion:$computation);
  let hasVerifier = 1;
}

#endif // DGC_STABLEHLO_REDUCTION_OPS_TD
