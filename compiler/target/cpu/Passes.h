//===- Passes.h - code generation for CPUs, as passes ----------------------===//
//
// The compiler does the same through compileKernels; these are for tests and for looking at what happens.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_TARGET_CPU_PASSES_H
#define DGC_COMPILER_TARGET_CPU_PASSES_H

#include "mlir/Pass/Pass.h"

namespace dgc {

#define GEN_PASS_DECL
#include "compiler/target/cpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/target/cpu/Passes.h.inc"

/// Registers `dgc-lower-kernels-to-llvm`: from dgc ops to the LLVM dialect.
void registerCodegenCPUPipelines();

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CPU_PASSES_H
