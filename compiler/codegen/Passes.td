// Code generation for all devices, as passes.

#ifndef DGC_CODEGEN_COMMON_PASSES_TD
#define DGC_CODEGEN_COMMON_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerKernelsToLinalg : Pass<"dgc-lower-kernels-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Lower the dgc ops of functions to linalg on tensors";
  let description = [{
    Input: functions on tensors of known shape with dgc ops that have a scalar body or a lowering to linalg, and
    ops below dgc. Output: linalg, tensor, arith and math ops; elements signless, no encodings. It does not fuse.

    ```mlir
    %0 = dgc.add %a, %b : tensor<8xf32>
    // becomes
    %e = tensor.empty() : tensor<8xf32>
    %0 = linalg.generic {..} ins(%a, %b) outs(%e) { ^bb0(%x: f32, %y: f32, %_: f32): arith.addf, linalg.yield }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def ExpandMath : Pass<"dgc-expand-math"> {
  let summary = "Write f32 exp, log, tanh, erf and their like as polynomials";
  let description = [{
    Input: scalar math ops. Output: those of f32 that a loop over elements must not call a function for, as arithmetic.
    Those of f64 are left to the mathematical library. bf16 conversions become integer operations. With `all`, for
    devices without such a library that have an instruction for 2^x, the other functions of f32 become arithmetic too.
  }];
  let options = [Option<"allOfThem", "all", "bool", "false", "There is no mathematical library">,
                 Option<"convertsBf16", "converts-bf16", "bool", "false", "There are instructions that convert bf16">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

#endif // DGC_CODEGEN_COMMON_PASSES_TD
