// Code generation for CPUs, as passes.

#ifndef DGC_CODEGEN_CPU_PASSES_TD
#define DGC_CODEGEN_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

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

#endif // DGC_CODEGEN_CPU_PASSES_TD
