// Reductions over sliding windows.

#ifndef DGC_WINDOW_OPS_TD
#define DGC_WINDOW_OPS_TD

include "dialects/dgc/Enums.td"
include "dialects/dgc/Structured.td"

// `window`, `strides` and `padding` (low, high) have one entry per dimension of the operand; empty: strides of 1, no
// padding. Padding is less than the window, so that every window has an element.
class DGC_WindowOp<string mnemonic, list<Trait> traits>
    : DGC_StructuredOp<mnemonic, !listconcat(traits, [DGC_StandaloneKernel, DeclareOpInterfaceMethods<WindowAttributeOpInterface>,
                                                      DeclareOpInterfaceMethods<MovingOpInterface, ["takeWindows"]>])> {
  string format = "`window` $window (`strides` $strides^)? (`padding` custom<Padding>($padding)^)? attr-dict";
  let extraClassDeclaration = inferredDeclaration # [{
    /// The sizes of every dimension, defaults filled in.
    ::llvm::SmallVector<::dgc::WindowDim> getGeometry();
  }];
}

def DGC_ReduceWindowOp : DGC_WindowOp<"reduce_window", [DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "combine the elements in each window";
  let description = [{
    Slides a window over the operand and combines the elements in it; the padding does not take part. `kind` is
    `sum`, `max` or `min`. The gradient of `max` and `min` goes to the first extreme element of each window in
    row-major order. f16 and bf16 sums are added up in f32 and rounded once.

    ```mlir
    %y = dgc.reduce_window max %x window [1, 2, 2, 1] strides [1, 2, 2, 1] : tensor<8x26x26x32xf32>
    ```
  }];
  let arguments = (ins DGC_ReductionKindAttr:$kind, DGC_NumberTensor:$operand, DenseI64ArrayAttr:$window,
                       DGC_DimList:$strides, DGC_DimList:$padding);
  let results = (outs DGC_NumberTensor:$result);
  let assemblyFormat = "custom<Reduction>($kind) $operand " # format # " custom<OperandTypes>(type($operand))";
}

def DGC_MaxPoolGradOp : DGC_WindowOp<"max_pool_grad", []> {
  let summary = "gradient of reduce_window max";
  let description = [{
    Given the operand of a `dgc.reduce_window max` with these attributes and the gradient of its result, computes
    the gradient of the operand: each element of the result gradient is added at the first maximum of its window
    in row-major order. It has itself no gradient.

    ```mlir
    %dx = dgc.max_pool_grad %x, %dy window [1, 2, 2, 1] strides [1, 2, 2, 1]
        : tensor<8x26x26x32xf32>, tensor<8x13x13x32xf32>
    ```
  }];
  let arguments = (ins DGC_FloatTensor:$operand, DGC_FloatTensor:$result_gradient, DenseI64ArrayAttr:$window,
                       DGC_DimList:$strides, DGC_DimList:$padding);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $result_gradient " # format #
                       " custom<OperandTypes>(type($operand), type($result_gradient))";
}

#endif // DGC_WINDOW_OPS_TD
