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

// Normalization over all dimensions but `feature_index`, which has an element of each of the other operands.
class StableHLO_BatchNormOp<string mnemonic> : StableHLO_PureOp<mnemonic> { let hasVerifier = 1; }

def StableHLO_BatchNormTrainingOp : StableHLO_BatchNormOp<"batch_norm_training"> {
  let arguments = (ins StableHLO_FloatTensor:$operand, StableHLO_FloatTensor:$scale, StableHLO_FloatTensor:$offset,
                       F32Attr:$epsilon, I64Attr:$feature_index);
  let results = (outs StableHLO_FloatTensor:$output, StableHLO_FloatTensor:$batch_mean,
                      StableHLO_FloatTensor:$batch_var);
}

def StableHLO_BatchNormInferenceOp : StableHLO_BatchNormOp<"batch_norm_inference"> {
  let arguments = (ins StableHLO_FloatTensor:$operand, StableHLO_FloatTensor:$scale, StableHLO_FloatTensor:$offset,
                       StableHLO_FloatTensor:$mean, StableHLO_FloatTensor:$variance, F32Attr:$epsilon,
                       I64Attr:$feature_index);
  let results = (outs StableHLO_FloatTensor:$output);
}

def StableHLO_BatchNormGradOp : StableHLO_BatchNormOp<"batch_norm_grad"> {
  let arguments = (ins StableHLO_FloatTensor:$operand, StableHLO_FloatTensor:$scale, StableHLO_FloatTensor:$mean,
                       StableHLO_FloatTensor:$variance, StableHLO_FloatTensor:$grad_output, F32Attr:$epsilon,
                       I64Attr:$feature_index);
  let results = (outs StableHLO_FloatTensor:$grad_operand, StableHLO_FloatTensor:$grad_scale,
                      StableHLO_FloatTensor:$grad_offset);
}

def StableHLO_MapOp : StableHLO_Op<"map", [RecursiveMemoryEffects, SameOperandsAndResultShape, SingleBlock]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, DenseI64ArrayAttr:$dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let regions = (region AnyRegion:$computation);
  let hasVerifier = 1;
}

#endif // DGC_STABLEHLO_REDUCTION_OPS_TD
