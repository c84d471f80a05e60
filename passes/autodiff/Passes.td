#ifndef DGC_PASSES_AUTODIFF_TD
#define DGC_PASSES_AUTODIFF_TD

include "mlir/Pass/PassBase.td"

def GradientPass : Pass<"dgc-gradient"> {
  let summary = "replace dgc.gradient by the ops that compute it";
  let description = [{
    Input: ops of type `dgc.gradient` among ops with inferred types. Output: none of them is left.

    The block is walked backwards from the loss. Every op between a value of `wrt` and the loss says what it makes
    of the gradient of its result (DifferentiableOpInterface); the gradients of a value with several uses are added
    in the order of the walk, so the result does not depend on anything but the program. A composite on the way is
    replaced by its decomposition, unless it says that it has a better gradient. Only what `wrt` needs is computed,
    and a value that the loss does not depend on has the gradient zero. An op without a gradient on the way is an
    error that shows the way.

    It does not simplify, and does not touch ops that the loss does not depend on.

    ```mlir
    // before
    %y = dgc.multiply %x, %w : tensor<4xf32>
    %loss = dgc.reduce sum %y dims [0] : tensor<4xf32>
    %g = dgc.gradient %loss wrt %w : tensor<f32>, tensor<4xf32>
    // after
    %y = dgc.multiply %x, %w : tensor<4xf32>
    %loss = dgc.reduce sum %y dims [0] : tensor<4xf32>
    %one = dgc.constant dense<1.0> : tensor<f32>
    %dy = dgc.broadcast_in_dim %one ... : tensor<f32>
    %g = dgc.multiply %dy, %x : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::dgc::DGCDialect"];
  let statistics = [
    Statistic<"numGradients", "gradients", "Values whose gradient was computed">,
    Statistic<"numZeros", "zero-gradients", "Values that the loss does not depend on">,
    Statistic<"numDecomposed", "decomposed", "Composites decomposed on the way">,
  ];
}

def DecomposePass : Pass<"dgc-decompose"> {
  let summary = "replace composite ops by their decompositions";
  let description = [{
    Input: ops with inferred types. Output: no composite op (DecomposableOpInterface) is left, but those named in
    `keep`, which a backend has a better kernel for. Decompositions are decomposed in turn. A discardable attribute
    of the composite goes to the op that makes its result.

    ```mlir
    %y = dgc.relu %x : tensor<4xf32>          // before
    %zero = dgc.constant dense<0.0> : tensor<4xf32>
    %y = dgc.maximum %x, %zero : tensor<4xf32> // after
    ```
  }];
  let options = [ListOption<"keep", "keep", "std::string", "Names of composite ops to leave as they are">];
  let dependentDialects = ["::mlir::dgc::DGCDialect"];
  let statistics = [Statistic<"numDecomposed", "decomposed", "Composites decomposed">];
}

#endif // DGC_PASSES_AUTODIFF_TD
