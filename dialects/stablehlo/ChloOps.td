// The ops of the dialect `chlo` that frameworks print.

#ifndef DGC_STABLEHLO_CHLO_OPS_TD
#define DGC_STABLEHLO_CHLO_OPS_TD

include "dialects/stablehlo/Base.td"

class Chlo_UnaryOp<string mnemonic, Type type = StableHLO_FloatOrComplexTensor>
    : Op<Chlo_Dialect, mnemonic, [Pure, SameOperandsAndResultType]> {
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

class Chlo_BinaryOp<string mnemonic, Type type = StableHLO_FloatTensor>
    : Op<Chlo_Dialect, mnemonic, [Pure, SameOperandsAndResultType]> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}

def Chlo_AcosOp : Chlo_UnaryOp<"acos">;
def Chlo_AcoshOp : Chlo_UnaryOp<"acosh">;
def Chlo_AsinOp : Chlo_UnaryOp<"asin">;
def Chlo_AsinhOp : Chlo_UnaryOp<"asinh">;
def Chlo_AtanOp : Chlo_UnaryOp<"atan">;
def Chlo_AtanhOp : Chlo_UnaryOp<"atanh">;
def Chlo_BesselI1eOp : Chlo_UnaryOp<"bessel_i1e", StableHLO_FloatTensor>;
def Chlo_ConjOp : Chlo_UnaryOp<"conj">;
def Chlo_CoshOp : Chlo_UnaryOp<"cosh">;
def Chlo_DigammaOp : Chlo_UnaryOp<"digamma", StableHLO_FloatTensor>;
def Chlo_ErfInvOp : Chlo_UnaryOp<"erf_inv", StableHLO_FloatTensor>;
def Chlo_ErfOp : Chlo_UnaryOp<"erf", StableHLO_FloatTensor>;
def Chlo_ErfcOp : Chlo_UnaryOp<"erfc", StableHLO_FloatTensor>;
def Chlo_LgammaOp : Chlo_UnaryOp<"lgamma", StableHLO_FloatTensor>;
def Chlo_SinhOp : Chlo_UnaryOp<"sinh">;
def Chlo_SquareOp : Chlo_UnaryOp<"square">;
def Chlo_TanOp : Chlo_UnaryOp<"tan">;
def Chlo_MulhiOp : Chlo_BinaryOp<"mulhi", StableHLO_IntTensor>;
def Chlo_NextAfterOp : Chlo_BinaryOp<"next_after">;
def Chlo_PolygammaOp : Chlo_BinaryOp<"polygamma">;
def Chlo_ZetaOp : Chlo_BinaryOp<"zeta">;

def Chlo_TopKOp : Op<Chlo_Dialect, "top_k", [Pure]> {
  let description = "The `k` largest elements along the last dimension, descending, and where they are.";
  let arguments = (ins StableHLO_RealTensor:$operand, ConfinedAttr<I64Attr, [IntNonNegative]>:$k);
  let results = (outs StableHLO_RealTensor:$values, StableHLO_IntTensor:$indices);
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k `)` attr-dict `:` type($operand) `->` `(` type($values) `,` type($indices) `)`
  }];
  let hasVerifier = 1;
}

#endif // DGC_STABLEHLO_CHLO_OPS_TD
