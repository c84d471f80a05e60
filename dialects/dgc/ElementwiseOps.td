// Elementwise ops: every element of the result depends on the elements of the operands at the same place.

#ifndef DGC_ELEMENTWISE_OPS_TD
#define DGC_ELEMENTWISE_OPS_TD

include "dialects/dgc/Attrs.td"

class DGC_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : DGC_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<ElementwiseOpInterface>,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
        CostOpInterface])>;

class DGC_BinaryOp<string mnemonic, Type operandType, list<Trait> traits = []>
    : DGC_ElementwiseOp<mnemonic, traits> {
  let arguments = (ins operandType:$lhs, operandType:$rhs);
  let results = (outs operandType:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict custom<OperandTypes>(type($lhs), type($rhs))";
}

def DGC_AddOp : DGC_BinaryOp<"add", DGC_NumberTensor, [Commutative,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "elementwise sum";
  let description = "`%z = dgc.add %x, %y : tensor<4x8xf32>`";
}

#endif // DGC_ELEMENTWISE_OPS_TD
