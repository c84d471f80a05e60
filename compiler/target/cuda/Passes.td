// Code generation for NVIDIA GPUs, as passes.

#ifndef DGC_CODEGEN_CUDA_PASSES_TD
#define DGC_CODEGEN_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerKernelsToGrids : Pass<"dgc-lower-kernels-to-grids", "::mlir::ModuleOp"> {
  let summary = "Write kernels in linalg as grids of GPU threads";
  let description = [{
    Input: functions in linalg on tensors. Output: for each the functions of its grids, `<name>_0` and so on in the order
    in which they run, of the pointers of the kernel's arguments and results and of a workspace. `dgc.launch` of a
    function: its blocks, and the threads of a block. A thread knows its place and meets others by ops of gpu and nvvm.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def LowerKernelsToPtx : Pass<"dgc-lower-kernels-to-ptx", "::mlir::ModuleOp"> {
  let summary = "Compile kernels to PTX, for looking at it";
  let description = [{
    Input: functions on tensors of known shape, as for `dgc-lower-kernels-to-linalg`. Output: none of them is left. The
    attribute `dgc.ptx` of the module holds the text for each architecture of `target`, `dgc.launches` what is run:
    symbol, blocks, threads of a block; `dgc.workspace` the bytes between them, for each kernel.
  }];
  let options = [Option<"target", "target", "std::string", "\"sm_90\"", "Architectures, as in sm_80,sm_90">,
                 Option<"print", "print", "bool", "false", "Write the PTX to standard output">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // DGC_CODEGEN_CUDA_PASSES_TD
