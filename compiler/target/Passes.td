// Passes that ask a target, whichever it is.

#ifndef DGC_TARGET_PASSES_TD
#define DGC_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrintKernelPlan : Pass<"dgc-print-kernel-plan", "::mlir::ModuleOp"> {
  let summary = "Print how a target would write kernels";
  let description = [{
    Input: functions on tensors of known shape, as for `dgc-lower-kernels-to-linalg`. Prints to standard output what the
    target decides of each before any code is written: its segments and nests, what is taken at a time, how sums are cut
    into blocks, what is kept where and, for GPUs, the threads and grids. The module is not changed.

    ```
    kernel @softmax: extent 64
      segment 0: rows of 64, 64 parts
        nest: reduction 0 over d1 < 1024
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "As --target of dgc-compile">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // DGC_TARGET_PASSES_TD
