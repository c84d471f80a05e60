// Products of tensors.

#ifndef DGC_CONTRACTION_OPS_TD
#define DGC_CONTRACTION_OPS_TD

include "dialects/dgc/Structured.td"

def DGC_DotGeneralOp : DGC_StructuredOp<"dot_general", [DGC_StandaloneKernel, DGC_LowPrecision, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "general product of two tensors";
  let description = [{
    Multiplies the operands and adds up over the contracted dimensions. The i-th batch dimension of the left
    operand goes with the i-th of the right one, and likewise for the contracted dimensions; their sizes are equal.
    The result has the batch dimensions, then the remaining ones of the left operand, then those of the right one.
    f16 and bf16 are added up in f32 and rounded once.

    ```mlir
    %z = dgc.dot_general %x, %y contract [1] x [0] : tensor<4x8xf32>, tensor<8x5xf32>    // tensor<4x5xf32>
    %c = dgc.dot_general %a, %b batch [0] x [0] contract [2] x [1] : tensor<2x4x8xf32>, tensor<2x8x5xf32>
    ```
  }];
  let arguments = (ins DGC_NumberTensor:$lhs, DGC_NumberTensor:$rhs, DGC_DimList:$lhs_batch, DGC_DimList:$rhs_batch,
                       DGC_DimList:$lhs_contract, DGC_DimList:$rhs_contract);
  let results = (outs DGC_NumberTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`batch` $lhs_batch^ `x` $rhs_batch)? (`contract` $lhs_contract^ `x` $rhs_contract)?
    attr-dict custom<OperandTypes>(type($lhs), type($rhs))
  }];
  let extraClassDeclaration = inferredDeclaration # [{
    /// The dimensions of the operands that are neither batch nor contracted, ascending.
    ::llvm::SmallVector<int64_t> getLhsFree();
    ::llvm::SmallVector<int64_t> getRhsFree();
  }];
}

#endif // DGC_CONTRACTION_OPS_TD
