// Reductions over whole dimensions.

#ifndef DGC_REDUCTION_OPS_TD
#define DGC_REDUCTION_OPS_TD

include "dialects/dgc/Enums.td"
include "dialects/dgc/Structured.td"

def DGC_ReduceOp : DGC_StructuredOp<"reduce", [DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "combine all elements along some dimensions";
  let description = [{
    Combines the elements along `dims`, which are ascending, into one; the other dimensions remain. The result
    for no elements is the identity of the combination. `sum`, `product`, `max` and `min` take numbers, `and` and
    `or` integers (bitwise) and booleans. f16 and bf16 are combined in f32 and rounded once.

    The gradient of `max` and `min` is split equally among the elements that attain the extreme. That of `product`
    is exact where elements are zero.

    ```mlir
    %s = dgc.reduce sum %x dims [0] : tensor<4x8xf32>   // tensor<8xf32>
    ```
  }];
  let arguments = (ins DGC_ReductionKindAttr:$kind, DGC_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = "custom<Reduction>($kind) $operand `dims` $dims attr-dict custom<OperandTypes>(type($operand))";
  let hasFolder = 1;
}

#endif // DGC_REDUCTION_OPS_TD
