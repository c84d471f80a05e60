// Elementwise ops: every element of the result depends on the elements of the
// operands at the same place.

#ifndef DGC_ELEMENTWISE_OPS_TD
#define DGC_ELEMENTWISE_OPS_TD

include "dialects/dgc/Elementwise.td"

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

def DGC_AbsOp : DGC_UnaryOp<"abs", DGC_SignedTensor, /*ulps=*/0, [DGC_Differentiable]> {
  let summary = "absolute value";
  let description = [{
    `%y = dgc.abs %x : tensor<4x8xf32>`. The smallest integer of a type is its
    own absolute value.
  }];
}

def DGC_AddOp : DGC_BinaryOp<"add", DGC_NumberTensor, /*ulps=*/1,
    [Commutative, DGC_Differentiable, DGC_AnyPrecision], 1, "index == -1", 1> {
  let summary = "sum";
  let description = "`%z = dgc.add %x, %y : tensor<4x8xf32>`";
}

def DGC_Atan2Op : DGC_BinaryOp<"atan2", DGC_FloatTensor, /*ulps=*/8, [DGC_Differentiable],
                               20> {
  let summary = "angle of the point (rhs, lhs)";
  let description = [{
    `%z = dgc.atan2 %y, %x : tensor<8xf32>`, in (-pi, pi].
  }];
}

def DGC_CbrtOp : DGC_FunctionOp<"cbrt", /*ulps=*/8, /*flops=*/15,
    [{ return math::CbrtOp::create(b, x); }],
    [{b.divide(g, b.multiply(b.multiply(z, z), 3))}]> {
  let summary = "cube root";
  let description = "`%y = dgc.cbrt %x : tensor<8xf32>`";
}

def DGC_CeilOp : DGC_FunctionOp<"ceil", /*ulps=*/0, /*flops=*/1,
    [{ return math::CeilOp::create(b, x); }],
    [{Value()}]> {
  let summary = "smallest integer not below";
  let description = "`%y = dgc.ceil %x : tensor<8xf32>`. Its gradient is zero.";
}

def DGC_CosineOp : DGC_FunctionOp<"cosine", /*ulps=*/8, /*flops=*/15,
    [{ return math::CosOp::create(b, x); }],
    [{b.negate(b.multiply(g, b.sine(x)))}]> {
  let summary = "cosine";
  let description = "`%y = dgc.cosine %x : tensor<8xf32>`, of radians.";
}

def DGC_DivideOp : DGC_BinaryOp<"divide", DGC_NumberTensor, /*ulps=*/1,
    [DGC_Differentiable], 1,
    "index == 0 && ::dgc::isFloat(getType())", 1> {
  let summary = "quotient";
  let description = [{
    `%z = dgc.divide %x, %y : tensor<4x8xf32>`. Integers round towards zero; an
    integer divided by zero is -1 (all bits set), and the smallest integer
    divided by -1 is itself.
  }];
}

def DGC_ErfOp : DGC_FunctionOp<"erf", /*ulps=*/8, /*flops=*/20,
    [{ return math::ErfOp::create(b, x); }],
    [{b.multiply(b.multiply(g, b.exponential(b.negate(b.multiply(x, x)))), 2 * std::numbers::inv_sqrtpi)}]> {
  let summary = "error function";
  let description = "`%y = dgc.erf %x : tensor<8xf32>`";
}

def DGC_ExponentialOp : DGC_FunctionOp<"exponential", /*ulps=*/8, /*flops=*/10,
    [{ return math::ExpOp::create(b, x); }],
    [{b.multiply(g, z)}]> {
  let summary = "e to the power of the operand";
  let description = "`%y = dgc.exponential %x : tensor<8xf32>`";
}

def DGC_ExponentialMinusOneOp : DGC_FunctionOp<"exponential_minus_one", /*ulps=*/8, /*flops=*/15,
    [{ return math::ExpM1Op::create(b, x); }],
    [{b.add(b.multiply(g, z), g)}]> {
  let summary = "e to the power of the operand, minus one";
  let description = [{
    `%y = dgc.exponential_minus_one %x : tensor<8xf32>`, exact near zero.
  }];
}

def DGC_FloorOp : DGC_FunctionOp<"floor", /*ulps=*/0, /*flops=*/1,
    [{ return math::FloorOp::create(b, x); }],
    [{Value()}]> {
  let summary = "largest integer not above";
  let description = [{
    `%y = dgc.floor %x : tensor<8xf32>`. Its gradient is zero.
  }];
}

def DGC_LogOp : DGC_FunctionOp<"log", /*ulps=*/8, /*flops=*/10,
    [{ return math::LogOp::create(b, x); }],
    [{b.divide(g, x)}]> {
  let summary = "natural logarithm";
  let description = "`%y = dgc.log %x : tensor<8xf32>`";
}

def DGC_LogPlusOneOp : DGC_FunctionOp<"log_plus_one", /*ulps=*/8, /*flops=*/15,
    [{ return math::Log1pOp::create(b, x); }],
    [{b.divide(g, b.add(x, b.splat(1, x)))}]> {
  let summary = "natural logarithm of one plus the operand";
  let description = [{
    `%y = dgc.log_plus_one %x : tensor<8xf32>`, exact near zero.
  }];
}

def DGC_LogisticOp : DGC_FunctionOp<"logistic", /*ulps=*/8, /*flops=*/12,
    [{
      Value one = number(1);
      Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, x));
      return arith::DivFOp::create(b, one, arith::AddFOp::create(b, one, exp));
    }],
    [{b.multiply(g, b.multiply(z, b.subtract(b.splat(1, z), z)))}]> {
  let summary = "1 / (1 + exp(-x))";
  let description = "`%y = dgc.logistic %x : tensor<8xf32>`";
}

def DGC_MaximumOp : DGC_BinaryOp<"maximum", DGC_NumberTensor, /*ulps=*/0,
    [Commutative, DGC_Differentiable], 1, "false", 1> {
  let summary = "the larger of two";
  let description = [{
    `%z = dgc.maximum %x, %y : tensor<4x8xf32>`. NaN when one of the two is;
    Which of -0 and +0 is larger is left open. Where both are equal, each gets half of the gradient.
  }];
}

def DGC_MinimumOp : DGC_BinaryOp<"minimum", DGC_NumberTensor, /*ulps=*/0,
    [Commutative, DGC_Differentiable], 1, "false", 1> {
  let summary = "the smaller of two";
  let description = [{
    `%z = dgc.minimum %x, %y : tensor<4x8xf32>`. NaN when one of the two is;
    Which of -0 and +0 is larger is left open. Where both are equal, each gets half of the gradient.
  }];
}

def DGC_MultiplyOp : DGC_BinaryOp<"multiply", DGC_NumberTensor, /*ulps=*/1,
    [Commutative, DGC_Differentiable], 1, "index >= 0", 1> {
  let summary = "product";
  let description = "`%z = dgc.multiply %x, %y : tensor<4x8xf32>`";
}

def DGC_NegateOp : DGC_UnaryOp<"negate", DGC_NumberTensor, /*ulps=*/0,
                               [DGC_Differentiable], 1, "true", 1> {
  let summary = "the operand with the other sign";
  let description = "`%y = dgc.negate %x : tensor<4x8xf32>`";
}

def DGC_PowerOp : DGC_BinaryOp<"power", DGC_NumberTensor, /*ulps=*/16, [DGC_Differentiable],
                               20, "false", 1> {
  let summary = "lhs to the power of rhs";
  let description = [{
    `%z = dgc.power %x, %y : tensor<4x8xf32>`. Integer powers wrap around; with
    a negative exponent they are 0, except those of 1 and -1.
  }];
}

def DGC_RemainderOp : DGC_BinaryOp<"remainder", DGC_NumberTensor, /*ulps=*/1,
                                   [DGC_Differentiable], 10> {
  let summary = "remainder of the division, with the sign of lhs";
  let description = [{
    `%z = dgc.remainder %x, %y : tensor<4x8xf32>`. The remainder of an integer
    divided by zero is the integer itself.
  }];
}

def DGC_RoundNearestAfzOp : DGC_FunctionOp<"round_nearest_afz", /*ulps=*/0, /*flops=*/1,
    [{ return math::RoundOp::create(b, x); }],
    [{Value()}]> {
  let summary = "nearest integer, halves away from zero";
  let description = [{
    `%y = dgc.round_nearest_afz %x : tensor<8xf32>`. Its gradient is zero.
  }];
}

def DGC_RoundNearestEvenOp : DGC_FunctionOp<"round_nearest_even", /*ulps=*/0, /*flops=*/1,
    [{ return math::RoundEvenOp::create(b, x); }],
    [{Value()}]> {
  let summary = "nearest integer, halves to the even one";
  let description = [{
    `%y = dgc.round_nearest_even %x : tensor<8xf32>`. Its gradient is zero.
  }];
}

def DGC_RsqrtOp : DGC_FunctionOp<"rsqrt", /*ulps=*/8, /*flops=*/5,
    [{ return math::RsqrtOp::create(b, x); }],
    [{b.multiply(b.divide(b.multiply(g, z), x), -0.5)}]> {
  let summary = "one divided by the square root";
  let description = "`%y = dgc.rsqrt %x : tensor<8xf32>`";
}

def DGC_SignOp : DGC_UnaryOp<"sign", DGC_SignedTensor, /*ulps=*/0, [DGC_Differentiable]> {
  let summary = "-1, 0 or 1";
  let description = [{
    `%y = dgc.sign %x : tensor<8xf32>`. A zero keeps its sign; NaN stays NaN.
    Its gradient is zero.
  }];
}

def DGC_SineOp : DGC_FunctionOp<"sine", /*ulps=*/8, /*flops=*/15,
    [{ return math::SinOp::create(b, x); }],
    [{b.multiply(g, b.cosine(x))}]> {
  let summary = "sine";
  let description = "`%y = dgc.sine %x : tensor<8xf32>`, of radians.";
}

def DGC_SoftplusOp : DGC_FunctionOp<"softplus", /*ulps=*/8, /*flops=*/28,
    [{
      // max(x, 0) + log(1 + exp(-|x|)): no exponential overflows.
      Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, math::AbsFOp::create(b, x)));
      Value above = arith::MaximumFOp::create(b, x, number(0));
      return arith::AddFOp::create(b, above, math::Log1pOp::create(b, exp));
    }],
    [{b.multiply(g, b.logistic(x))}]> {
  let summary = "log(1 + exp(x))";
  let description = [{
    `%y = dgc.softplus %x : tensor<8xf32>`, a smooth dgc.relu. Large operands do not overflow.
  }];
}

def DGC_SqrtOp : DGC_FunctionOp<"sqrt", /*ulps=*/1, /*flops=*/5,
    [{ return math::SqrtOp::create(b, x); }],
    [{b.divide(b.multiply(g, 0.5), z)}]> {
  let summary = "square root";
  let description = "`%y = dgc.sqrt %x : tensor<8xf32>`";
}

def DGC_SubtractOp : DGC_BinaryOp<"subtract", DGC_NumberTensor, /*ulps=*/1,
                                  [DGC_Differentiable], 1, "index == -1", 1> {
  let summary = "difference";
  let description = "`%z = dgc.subtract %x, %y : tensor<4x8xf32>`";
}

def DGC_TanOp : DGC_FunctionOp<"tan", /*ulps=*/8, /*flops=*/20,
    [{ return math::TanOp::create(b, x); }],
    [{b.add(g, b.multiply(g, b.multiply(z, z)))}]> {
  let summary = "tangent";
  let description = "`%y = dgc.tan %x : tensor<8xf32>`, of radians.";
}

def DGC_TanhOp : DGC_FunctionOp<"tanh", /*ulps=*/8, /*flops=*/15,
    [{ return math::TanhOp::create(b, x); }],
    [{b.multiply(g, b.subtract(b.splat(1, z), b.multiply(z, z)))}]> {
  let summary = "hyperbolic tangent";
  let description = "`%y = dgc.tanh %x : tensor<8xf32>`";
}

//===----------------------------------------------------------------------===//
// Bits and logic
//===----------------------------------------------------------------------===//

def DGC_AndOp : DGC_BinaryOp<"and", DGC_LogicTensor, /*ulps=*/0, [Commutative]> {
  let summary = "and, bit by bit";
  let description = "`%z = dgc.and %x, %y : tensor<8xi1>`";
}

def DGC_CountLeadingZerosOp : DGC_UnaryOp<"count_leading_zeros", DGC_IntTensor, /*ulps=*/0> {
  let summary = "number of zero bits above the highest bit that is set";
  let description = "`%y = dgc.count_leading_zeros %x : tensor<8xi32>`";
}

def DGC_NotOp : DGC_UnaryOp<"not", DGC_LogicTensor, /*ulps=*/0, [], 1, "false", 1> {
  let summary = "not, bit by bit";
  let description = "`%y = dgc.not %x : tensor<8xi1>`";
}

def DGC_OrOp : DGC_BinaryOp<"or", DGC_LogicTensor, /*ulps=*/0, [Commutative]> {
  let summary = "or, bit by bit";
  let description = "`%z = dgc.or %x, %y : tensor<8xi1>`";
}

def DGC_PopcntOp : DGC_UnaryOp<"popcnt", DGC_IntTensor, /*ulps=*/0> {
  let summary = "number of bits that are set";
  let description = "`%y = dgc.popcnt %x : tensor<8xi32>`";
}

def DGC_ShiftLeftOp : DGC_BinaryOp<"shift_left", DGC_IntTensor, /*ulps=*/0> {
  let summary = "lhs shifted left by rhs bits";
  let description = [{
    `%z = dgc.shift_left %x, %y : tensor<8xi32>`. Zero when rhs is negative or
    not below the number of bits.
  }];
}

def DGC_ShiftRightArithmeticOp : DGC_BinaryOp<"shift_right_arithmetic", DGC_IntTensor, /*ulps=*/0> {
  let summary = "lhs shifted right by rhs bits, the highest bit repeated";
  let description = [{
    `%z = dgc.shift_right_arithmetic %x, %y : tensor<8xi32>`. All bits are the
    highest one when rhs is negative or not below the number of bits.
  }];
}

def DGC_ShiftRightLogicalOp : DGC_BinaryOp<"shift_right_logical", DGC_IntTensor, /*ulps=*/0> {
  let summary = "lhs shifted right by rhs bits, zeros shifted in";
  let description = [{
    `%z = dgc.shift_right_logical %x, %y : tensor<8xi32>`. Zero when rhs is
    negative or not below the number of bits.
  }];
}

def DGC_XorOp : DGC_BinaryOp<"xor", DGC_LogicTensor, /*ulps=*/0, [Commutative]> {
  let summary = "exclusive or, bit by bit";
  let description = "`%z = dgc.xor %x, %y : tensor<8xi1>`";
}

//===----------------------------------------------------------------------===//
// Comparison, choice and conversion
//===----------------------------------------------------------------------===//

def DGC_ClampOp : DGC_ElementwiseOp<"clamp", /*ulps=*/0, [DGC_Differentiable], 2, "false",
                                    0, 0, 3> {
  let summary = "the operand, not below min and not above max";
  let description = [{
    `%y = dgc.clamp %min, %x, %max : tensor<4x8xf32>`, which is
    minimum(maximum(x, min), max).
  }];
  let arguments = (ins DGC_NumberTensor:$min, DGC_NumberTensor:$operand,
                   DGC_NumberTensor:$max);
  let results = (outs DGC_NumberTensor:$result);
  let hasCustomAssemblyFormat = 1;
}

def DGC_CompareOp : DGC_ElementwiseOp<"compare", /*ulps=*/0, [], 1, "false", 0, 1, 2> {
  let summary = "whether a relation holds";
  let description = [{
    `%z = dgc.compare lt %x, %y : tensor<4x8xf32>` gives a `tensor<4x8xi1>`. The
    relation is one of eq, ne, lt, le, gt and ge. Only `ne` holds for a NaN.
  }];
  let arguments = (ins DGC_Tensor:$lhs, DGC_Tensor:$rhs,
                   DGC_ComparisonDirectionAttr:$comparison_direction);
  let extraClassDeclaration = inferredDeclaration # [{
    static ::mlir::ParseResult parseClause(::mlir::OpAsmParser &parser, ::mlir::OperationState &state);
    void printClause(::mlir::OpAsmPrinter &printer);
  }];
  let results = (outs DGC_PredTensor:$result);
  let hasCustomAssemblyFormat = 1;
}

def DGC_ConvertOp : DGC_ElementwiseOp<"convert", /*ulps=*/1, [DGC_Differentiable], 1,
                                      "losesNothing()", 1, 1> {
  let summary = "the operand with another element type";
  let description = [{
    `%y = dgc.convert %x to f32 : tensor<4x8xui8>` gives a `tensor<4x8xf32>`.
    Floats become integers by rounding towards zero; what is out of range
    becomes the nearest integer there is, and NaN becomes 0. Everything but
    zero becomes true.
  }];
  let arguments = (ins DGC_Tensor:$operand, TypeAttrOf<DGC_Element>:$element_type);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = [{
    $operand `to` $element_type attr-dict custom<OperandTypes>(type($operand))
  }];
  let extraClassDeclaration = inferredDeclaration # [{
    ::mlir::OpFoldResult simplify(::llvm::ArrayRef<::mlir::Attribute> constants);
    /// True between floats when every value of the operand's type is a value of
    /// the result's type.
    bool losesNothing();
  }];
}

def DGC_BitcastConvertOp : DGC_ElementwiseOp<"bitcast_convert", /*ulps=*/0, [], 0, "false", 1, 1> {
  let summary = "the bits of the operand as another element type";
  let description = [{
    `%y = dgc.bitcast_convert %x to ui32 : tensor<4x8xf32>` gives a `tensor<4x8xui32>` with the bits of each element. Both
    element types have the same width, and are no booleans.
  }];
  let arguments = (ins DGC_NumberTensor:$operand, TypeAttrOf<DGC_Element>:$element_type);
  let results = (outs DGC_NumberTensor:$result);
  let assemblyFormat = [{
    $operand `to` $element_type attr-dict custom<OperandTypes>(type($operand))
  }];
}

def DGC_IsFiniteOp : DGC_UnaryOp<"is_finite", DGC_FloatTensor, /*ulps=*/0, [], 2, "false",
                                 0, 1> {
  let summary = "whether the operand is neither infinite nor NaN";
  let description = [{
    `%y = dgc.is_finite %x : tensor<8xf32>` gives a `tensor<8xi1>`.
  }];
  let results = (outs DGC_PredTensor:$result);
}

def DGC_ReducePrecisionOp : DGC_UnaryOp<"reduce_precision", DGC_FloatTensor, /*ulps=*/0,
                                        [DGC_Differentiable], 6, "false", 1> {
  let summary = "the operand as a float of fewer bits would hold it";
  let description = [{
    `%y = dgc.reduce_precision %x exponent 8 mantissa 7 : tensor<4x8xf32>` rounds
    to what a float with 8 bits of exponent and 7 of mantissa (bf16) can hold,
    halves to even, and keeps the type. What is too large becomes infinite;
    where the exponent has fewer bits than that of the type, what is below the
    smallest normal number becomes a zero of its sign. NaN stays NaN, or
    becomes infinite with `mantissa 0`, which has no NaN. The gradient is rounded
    in the same way.
  }];
  let arguments = (ins DGC_FloatTensor:$operand, I32Attr:$exponent_bits,
                   I32Attr:$mantissa_bits);
  let assemblyFormat = [{
    $operand `exponent` $exponent_bits `mantissa` $mantissa_bits attr-dict
    custom<OperandTypes>(type($operand))
  }];
  let hasVerifier = 1;
}

def DGC_SelectOp : DGC_ElementwiseOp<"select", /*ulps=*/0, [DGC_Differentiable], 1,
                                     "isLinearInBranch(index)", 1, 1, 3> {
  let summary = "on_true where pred is true, else on_false";
  let description = [{
    `%z = dgc.select %pred, %x, %y : tensor<8xi1>, tensor<8xf32>, tensor<8xf32>`
  }];
  let arguments = (ins DGC_PredTensor:$pred, DGC_Tensor:$on_true,
                   DGC_Tensor:$on_false);
  let results = (outs DGC_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = inferredDeclaration # [{
    ::mlir::OpFoldResult simplify(::llvm::ArrayRef<::mlir::Attribute> constants);
    unsigned getFirstOfOneElementType() { return 1; }
    /// A branch may be a partial sum when the other is one as well (-1), or is
    /// the constant zero.
    bool isLinearInBranch(int index);
  }];
}

def DGC_StopGradientOp : DGC_UnaryOp<"stop_gradient", DGC_Tensor, /*ulps=*/0, [DGC_Differentiable, DGC_AnyPrecision,
    DeclareOpInterfaceMethods<DecomposableOpInterface, ["keepForGradient"]>], 0, "true"> {
  let summary = "the operand, as a constant for the gradient";
  let description = [{
    `%y = dgc.stop_gradient %x : tensor<4x8xf32>` is `%x`, and its gradient is zero: what the loss depends on through it
    alone is not trained. It takes no time and no memory; `dgc-decompose` replaces it by its operand once gradients are
    built.
  }];
}

#endif // DGC_ELEMENTWISE_OPS_TD
