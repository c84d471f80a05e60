// Reductions over whole dimensions, and sums up to each place.

#ifndef DGC_REDUCTION_OPS_TD
#define DGC_REDUCTION_OPS_TD

include "dialects/dgc/Composite.td"
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

def DGC_CumulativeSumOp : DGC_CompositeOp<"cumulative_sum"> {
  let summary = "the sum of all elements up to each one along a dimension";
  let description = [{
    `%y = dgc.cumulative_sum %x dim 1`, along the last dimension without `dim`: y[i] = x[0] + .. + x[i]. With `reverse` it is
    x[i] + .. + x[n - 1]; with `exclusive` x[i] itself is left out, so that the first sum, or in reverse the last, is 0.

    It is computed in log2(n) steps, in each of which partial sums that are twice as far apart are added up, so that at most
    log2(n) additions follow one another. f16 and bf16 are added up in f32 and rounded once.
  }];
  let arguments = (ins DGC_NumberTensor:$input, DefaultValuedOptionalAttr<I64Attr, "-1">:$dim, UnitAttr:$reverse,
                       UnitAttr:$exclusive);
  let results = (outs DGC_NumberTensor:$result);
  let assemblyFormat = [{
    $input (`dim` $dim^)? (`reverse` $reverse^)? (`exclusive` $exclusive^)? attr-dict custom<OperandTypes>(type($input))
  }];
}

#endif // DGC_REDUCTION_OPS_TD
