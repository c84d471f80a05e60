// Control flow, calls of what is not StableHLO, and random numbers.

#ifndef DGC_STABLEHLO_CONTROL_OPS_TD
#define DGC_STABLEHLO_CONTROL_OPS_TD

include "dialects/stablehlo/Base.td"

def StableHLO_ReturnOp : StableHLO_PureOp<"return", [Terminator]> {
  let arguments = (ins Variadic<StableHLO_Value>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def StableHLO_WhileOp : StableHLO_Op<"while", [RecursiveMemoryEffects, SingleBlock]> {
  let description = "`(%i = %x, %j = %y) : TYPES cond {..} do {..}`: both regions have the arguments `%i` and `%j`.";
  let arguments = (ins Variadic<StableHLO_Value>:$inputs);
  let results = (outs Variadic<StableHLO_Value>:$results);
  let regions = (region AnyRegion:$cond, AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def StableHLO_IfOp : StableHLO_Op<"if", [RecursiveMemoryEffects, SingleBlock]> {
  let arguments = (ins StableHLO_BoolTensor:$pred);
  let results = (outs Variadic<StableHLO_Value>:$results);
  let regions = (region AnyRegion:$true_branch, AnyRegion:$false_branch);
  let hasVerifier = 1;
}

def StableHLO_CaseOp : StableHLO_Op<"case", [RecursiveMemoryEffects, SingleBlock]> {
  let description = "An index that is out of range chooses the last branch.";
  let arguments = (ins StableHLO_IntTensor:$index);
  let results = (outs Variadic<StableHLO_Value>:$results);
  let regions = (region VariadicRegion<AnyRegion>:$branches);
  let hasVerifier = 1;
}

def StableHLO_CompositeOp : StableHLO_PureOp<"composite"> {
  let description = "`\"name\" %x {decomposition = @f}`: the function says what it means.";
  let arguments = (ins Variadic<StableHLO_Value>:$inputs, StrAttr:$name,
                       OptionalAttr<DictionaryAttr>:$composite_attributes, FlatSymbolRefAttr:$decomposition,
                       OptionalAttr<I32Attr>:$version);
  let results = (outs Variadic<StableHLO_Value>:$results);
  let assemblyFormat = "$name $inputs attr-dict `:` functional-type(operands, results)";
}

def StableHLO_CustomCallOp : StableHLO_Op<"custom_call"> {
  let arguments = (ins Variadic<AnyType>:$inputs, StrAttr:$call_target_name,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$has_side_effect,
                       OptionalAttr<AnyAttr>:$backend_config, OptionalAttr<AnyAttr>:$api_version,
                       OptionalAttr<ArrayAttr>:$called_computations, OptionalAttr<ArrayAttr>:$operand_layouts,
                       OptionalAttr<ArrayAttr>:$result_layouts, OptionalAttr<ArrayAttr>:$output_operand_aliases);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    custom<Target>($call_target_name) `(` $inputs `)` attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_OptimizationBarrierOp : StableHLO_PureOp<"optimization_barrier"> {
  let arguments = (ins Variadic<StableHLO_Value>:$operand);
  let results = (outs Variadic<StableHLO_Value>:$result);
  let assemblyFormat = "attr-dict ($operand^ `:` custom<SameTypes>(type($operand), type($result))):(`(` `)`)?";
  let hasVerifier = 1;
}

def StableHLO_TupleOp : StableHLO_PureOp<"tuple"> {
  let arguments = (ins Variadic<StableHLO_Value>:$val);
  let results = (outs AnyTuple:$result);
  let assemblyFormat = "$val attr-dict `:` custom<TupleTypes>(type($val), type($result))";
  let hasVerifier = 1;
}

def StableHLO_GetTupleElementOp : StableHLO_PureOp<"get_tuple_element"> {
  let arguments = (ins AnyTuple:$operand, I32Attr:$index);
  let results = (outs StableHLO_Value:$result);
  let assemblyFormat = "$operand `[` $index `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StableHLO_RngOp : StableHLO_Op<"rng"> {
  let arguments = (ins StableHLO_Tensor:$a, StableHLO_Tensor:$b, StableHLO_IntTensor:$shape,
                       StableHLO_RngDistributionAttr:$rng_distribution);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $shape `,` `distribution` `=` $rng_distribution attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_RngBitGeneratorOp : StableHLO_PureOp<"rng_bit_generator"> {
  let arguments = (ins StableHLO_IntTensor:$initial_state, StableHLO_RngAlgorithmAttr:$rng_algorithm);
  let results = (outs StableHLO_IntTensor:$output_state, StableHLO_Tensor:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` $rng_algorithm attr-dict `:` functional-type(operands, results)
  }];
}

class StableHLO_IdOp<string mnemonic> : StableHLO_PureOp<mnemonic> {
  let results = (outs StableHLO_ScalarInt:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def StableHLO_PartitionIdOp : StableHLO_IdOp<"partition_id">;
def StableHLO_ReplicaIdOp : StableHLO_IdOp<"replica_id">;

def StableHLO_AfterAllOp : StableHLO_Op<"after_all"> {
  let arguments = (ins Variadic<StableHLO_Token>:$inputs);
  let results = (outs StableHLO_Token:$result);
  let assemblyFormat = "$inputs attr-dict `:` custom<TokenTypes>(type($inputs), type($result), ref($inputs))";
}

def StableHLO_CreateTokenOp : StableHLO_Op<"create_token"> {
  let results = (outs StableHLO_Token:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

#endif // DGC_STABLEHLO_CONTROL_OPS_TD
