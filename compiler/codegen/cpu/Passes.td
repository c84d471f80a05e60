// Code generation for CPUs, as passes.

#ifndef DGC_CODEGEN_CPU_PASSES_TD
#define DGC_CODEGEN_CPU_PASSES_TD

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

def LowerKernelsToLoops : Pass<"dgc-lower-kernels-to-loops", "::mlir::ModuleOp"> {
  let summary = "Write kernels in linalg as loops over their memory";
  let description = [{
    Input: functions in linalg on tensors. Output: for each a function `<name>_body` of pointers and a range of parts, and a
    function `<name>` with the calling convention of kernels. Values that are not stored are computed where they are used;
    reductions along rows and what depends on them are one loop over rows. Attributes of `<name>`: `dgc.extent`, in how
    many parts the work can be split; `dgc.cost_ns` and `dgc.flops`, estimates.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

def ExpandMath : Pass<"dgc-expand-math"> {
  let summary = "Write f32 exp, log, tanh, erf and their like as polynomials";
  let description = [{
    Input: scalar math ops. Output: those of f32 that a loop over elements must not call a function for, as arithmetic.
    Those of f64 are left to the mathematical library. bf16 conversions become integer operations.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

#endif // DGC_CODEGEN_CPU_PASSES_TD
