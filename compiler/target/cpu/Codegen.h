//===- Codegen.h - kernels to machine code ---------------------------===//

#ifndef DGC_COMPILER_TARGET_CPU_CODEGEN_H
#define DGC_COMPILER_TARGET_CPU_CODEGEN_H

#include "compiler/codegen/CompiledKernels.h"
#include "compiler/target/KernelCache.h"
#include "compiler/target/cpu/CpuTarget.h"
#include "mlir/IR/BuiltinOps.h"

namespace dgc {

/// Compiles every function of `kernels`, dgc ops on tensors of known shape, into one shared object. The order of the
/// result is that of the functions. The module is not changed. A result `r` with `dgc.inplace[r] = o` may share its
/// memory with argument `o`. Takes code from `cache`, where it is not null, and leaves what it compiles there. On failure
/// a diagnostic was emitted.
mlir::FailureOr<CompiledKernels> compileKernels(mlir::ModuleOp kernels, const CpuTarget &target,
                                                KernelCache *cache = nullptr);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CPU_CODEGEN_H
