// Ops without operands.

#ifndef DGC_CONSTANT_OPS_TD
#define DGC_CONSTANT_OPS_TD

include "dialects/dgc/Attrs.td"

def DGC_ConstantOp : DGC_Op<"constant", [ConstantLike,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface>, CostOpInterface]> {
  let summary = "a tensor known at compile time";
  let description = "`%c = dgc.constant dense<[1.0, 2.0]> : tensor<2xf32>`";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

#endif // DGC_CONSTANT_OPS_TD
