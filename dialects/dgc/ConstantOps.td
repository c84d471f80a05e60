// Ops without operands.

#ifndef DGC_CONSTANT_OPS_TD
#define DGC_CONSTANT_OPS_TD

include "dialects/dgc/Attrs.td"

def DGC_ConstantOp : DGC_Op<"constant", [ConstantLike,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
    DeclareOpInterfaceMethods<LocalizableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>,
    DeclareOpInterfaceMethods<LinalgLowerableOpInterface>]> {
  let summary = "a tensor known at compile time";
  let description = "`%c = dgc.constant dense<[1.0, 2.0]> : tensor<2xf32>`";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

def DGC_IotaOp : Op<DGC_Dialect, "iota", [Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>,
    DeclareOpInterfaceMethods<LinalgLowerableOpInterface>,
    DeclareOpInterfaceMethods<PositionalOpInterface>]> {
  let summary = "0, 1, 2, ... along a dimension";
  let description = [{
    `%i = dgc.iota dim 0 : tensor<128xi32>`. The part of a larger one that begins at element `%k` along `dim` is
    `dgc.iota dim 0 from %k : tensor<64xi32>`, with `%k` a `tensor<i64>`.
  }];
  let arguments = (ins I64Attr:$dimension, Optional<DGC_Offset>:$offset);
  let results = (outs DGC_NumberTensor:$result);
  let assemblyFormat = "`dim` $dimension (`from` $offset^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // DGC_CONSTANT_OPS_TD
