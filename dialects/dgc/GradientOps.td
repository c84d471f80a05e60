// The request for a gradient.

#ifndef DGC_GRADIENT_OPS_TD
#define DGC_GRADIENT_OPS_TD

include "dialects/dgc/Base.td"

def DGC_GradientOp : Op<DGC_Dialect, "gradient", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "derivative of a scalar with respect to values";
  let description = [{
    The derivatives of `loss`, a floating-point scalar, with respect to each of `wrt`, where everything that `loss`
    depends on and that does not depend on a value of `wrt` is constant. Both are values of the same block. The
    result for a value that the loss does not depend on is zero. `dgc-gradient` replaces this op by the ops that
    compute it.

    ```mlir
    %g:2 = dgc.gradient %loss wrt %w, %b : tensor<f32>, tensor<784x10xf32>, tensor<10xf32>
    ```
  }];
  let arguments = (ins 0DTensorOf<[F16, BF16, F32, F64]>:$loss,
                       Variadic<RankedTensorOf<[F16, BF16, F32, F64]>>:$wrt);
  let results = (outs Variadic<RankedTensorOf<[F16, BF16, F32, F64]>>:$gradients);
  let assemblyFormat = "$loss `wrt` $wrt attr-dict `:` type($loss) `,` type($wrt)";
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual);
  }];
}

#endif // DGC_GRADIENT_OPS_TD
