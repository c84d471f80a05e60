// Ops that compute each element of their result from the elements of the operands at the same place.

#ifndef DGC_STABLEHLO_ELEMENTWISE_OPS_TD
#define DGC_STABLEHLO_ELEMENTWISE_OPS_TD

include "dialects/stablehlo/Base.td"

class StableHLO_UnaryOp<string mnemonic, Type operand, Type result = operand, list<Trait> traits = []>
    : StableHLO_PureOp<mnemonic, !listconcat([SameOperandsAndResultShape], traits)> {
  let arguments = (ins operand:$operand);
  let results = (outs result:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<Signature>(type($operand), type($result))";
}

// A unary op whose result has the type of its operand.
class StableHLO_SameTypeOp<string mnemonic, Type type>
    : StableHLO_UnaryOp<mnemonic, type, type, [SameOperandsAndResultElementType]>;

// A function of which it can be said how exact it is.
class StableHLO_FunctionOp<string mnemonic, Type type = StableHLO_FloatOrComplexTensor>
    : StableHLO_SameTypeOp<mnemonic, type> {
  let arguments = (ins type:$operand, OptionalAttr<StableHLO_ResultAccuracy>:$result_accuracy);
}

class StableHLO_BinaryOp<string mnemonic, Type type>
    : StableHLO_PureOp<mnemonic, [SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` custom<Signature>(type($lhs), type($rhs), type($result))";
}

def StableHLO_AbsOp : StableHLO_UnaryOp<"abs", StableHLO_Tensor>;
def StableHLO_CbrtOp : StableHLO_FunctionOp<"cbrt", StableHLO_FloatTensor>;
def StableHLO_CeilOp : StableHLO_SameTypeOp<"ceil", StableHLO_FloatTensor>;
def StableHLO_CosineOp : StableHLO_FunctionOp<"cosine">;
def StableHLO_CountLeadingZerosOp : StableHLO_SameTypeOp<"count_leading_zeros", StableHLO_IntTensor>;
def StableHLO_ExponentialMinusOneOp : StableHLO_FunctionOp<"exponential_minus_one">;
def StableHLO_ExponentialOp : StableHLO_FunctionOp<"exponential">;
def StableHLO_FloorOp : StableHLO_SameTypeOp<"floor", StableHLO_FloatTensor>;
def StableHLO_ImagOp : StableHLO_UnaryOp<"imag", StableHLO_FloatOrComplexTensor, StableHLO_FloatTensor>;
def StableHLO_IsFiniteOp : StableHLO_UnaryOp<"is_finite", StableHLO_FloatTensor, StableHLO_BoolTensor>;
def StableHLO_LogOp : StableHLO_FunctionOp<"log">;
def StableHLO_LogPlusOneOp : StableHLO_FunctionOp<"log_plus_one">;
def StableHLO_LogisticOp : StableHLO_FunctionOp<"logistic">;
def StableHLO_NegateOp : StableHLO_SameTypeOp<"negate", StableHLO_Tensor>;
def StableHLO_NotOp : StableHLO_SameTypeOp<"not", StableHLO_IntTensor>;
def StableHLO_PopcntOp : StableHLO_SameTypeOp<"popcnt", StableHLO_IntTensor>;
def StableHLO_RealOp : StableHLO_UnaryOp<"real", StableHLO_FloatOrComplexTensor, StableHLO_FloatTensor>;
def StableHLO_RoundNearestAfzOp : StableHLO_SameTypeOp<"round_nearest_afz", StableHLO_FloatTensor>;
def StableHLO_RoundNearestEvenOp : StableHLO_SameTypeOp<"round_nearest_even", StableHLO_FloatTensor>;
def StableHLO_RsqrtOp : StableHLO_FunctionOp<"rsqrt">;
def StableHLO_SignOp : StableHLO_SameTypeOp<"sign", StableHLO_Tensor>;
def StableHLO_SineOp : StableHLO_FunctionOp<"sine">;
def StableHLO_SqrtOp : StableHLO_FunctionOp<"sqrt">;
def StableHLO_TanOp : StableHLO_FunctionOp<"tan">;
def StableHLO_TanhOp : StableHLO_FunctionOp<"tanh">;

def StableHLO_AddOp : StableHLO_BinaryOp<"add", StableHLO_Tensor>;
def StableHLO_AndOp : StableHLO_BinaryOp<"and", StableHLO_IntTensor>;
def StableHLO_Atan2Op : StableHLO_BinaryOp<"atan2", StableHLO_FloatOrComplexTensor>;
def StableHLO_DivideOp : StableHLO_BinaryOp<"divide", StableHLO_Tensor>;
def StableHLO_MaximumOp : StableHLO_BinaryOp<"maximum", StableHLO_Tensor>;
def StableHLO_MinimumOp : StableHLO_BinaryOp<"minimum", StableHLO_Tensor>;
def StableHLO_MultiplyOp : StableHLO_BinaryOp<"multiply", StableHLO_Tensor>;
def StableHLO_OrOp : StableHLO_BinaryOp<"or", StableHLO_IntTensor>;
def StableHLO_PowerOp : StableHLO_BinaryOp<"power", StableHLO_Tensor>;
def StableHLO_RemainderOp : StableHLO_BinaryOp<"remainder", StableHLO_Tensor>;
def StableHLO_ShiftLeftOp : StableHLO_BinaryOp<"shift_left", StableHLO_IntTensor>;
def StableHLO_ShiftRightArithmeticOp : StableHLO_BinaryOp<"shift_right_arithmetic", StableHLO_IntTensor>;
def StableHLO_ShiftRightLogicalOp : StableHLO_BinaryOp<"shift_right_logical", StableHLO_IntTensor>;
def StableHLO_SubtractOp : StableHLO_BinaryOp<"subtract", StableHLO_Tensor>;
def StableHLO_XorOp : StableHLO_BinaryOp<"xor", StableHLO_IntTensor>;

def StableHLO_ComplexOp : StableHLO_PureOp<"complex", [SameOperandsAndResultShape, SameTypeOperands]> {
  let arguments = (ins StableHLO_FloatTensor:$lhs, StableHLO_FloatTensor:$rhs);
  let results = (outs StableHLO_ComplexTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` custom<ComplexTypes>(type($lhs), type($rhs), type($result))";
}

def StableHLO_CompareOp : StableHLO_PureOp<"compare", [SameOperandsAndResultShape, SameTypeOperands]> {
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
                       StableHLO_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<StableHLO_ComparisonTypeAttr>:$compare_type);
  let results = (outs StableHLO_BoolTensor:$result);
  let assemblyFormat = [{
    $comparison_direction `,` $lhs `,` $rhs (`,` $compare_type^)? attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_ConvertOp : StableHLO_UnaryOp<"convert", StableHLO_Tensor>;

def StableHLO_ReducePrecisionOp : StableHLO_SameTypeOp<"reduce_precision", StableHLO_FloatTensor> {
  let arguments = (ins StableHLO_FloatTensor:$operand, ConfinedAttr<I32Attr, [IntMinValue<1>]>:$exponent_bits,
                       ConfinedAttr<I32Attr, [IntMinValue<0>]>:$mantissa_bits);
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<FloatFormat>($exponent_bits, $mantissa_bits) attr-dict `:`
    custom<Signature>(type($operand), type($result))
  }];
}

def StableHLO_ClampOp : StableHLO_PureOp<"clamp", [SameOperandsAndResultElementType]> {
  let description = "`min` and `max` may be scalars.";
  let arguments = (ins StableHLO_Tensor:$min, StableHLO_Tensor:$operand, StableHLO_Tensor:$max);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict `:` custom<Signature>(type($min), type($operand), type($max), type($result))
  }];
  let hasVerifier = 1;
}

def StableHLO_SelectOp : StableHLO_PureOp<"select", [AllTypesMatch<["on_true", "on_false", "result"]>]> {
  let description = "`pred` may be a scalar.";
  let arguments = (ins StableHLO_BoolTensor:$pred, StableHLO_Tensor:$on_true, StableHLO_Tensor:$on_false);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $pred `,` $on_true `,` $on_false attr-dict `:`
    custom<SelectTypes>(type($pred), type($on_true), type($on_false), type($result))
  }];
  let hasVerifier = 1;
}

#endif // DGC_STABLEHLO_ELEMENTWISE_OPS_TD
