//===- Passes.h - code generation for NVIDIA GPUs, as passes -----------------===//
//
// The compiler does the same through compileKernels; these are for tests and for looking at what happens.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_PASSES_H
#define DGC_COMPILER_TARGET_CUDA_PASSES_H

#include "mlir/Pass/Pass.h"

namespace dgc {

#define GEN_PASS_DECL
#include "compiler/target/cuda/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/target/cuda/Passes.h.inc"

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_PASSES_H
