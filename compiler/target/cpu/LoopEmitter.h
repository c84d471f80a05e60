//===- LoopEmitter.h - loops of a scheduled kernel -------------------------===//

#ifndef DGC_COMPILER_TARGET_CPU_LOOPEMITTER_H
#define DGC_COMPILER_TARGET_CPU_LOOPEMITTER_H

#include "compiler/target/cpu/CpuKernelPlan.h"
#include "mlir/IR/BuiltinOps.h"

namespace dgc {

/// Writes the function `name` into `module`, before the kernel's tensor function: arguments are the pointers of the
/// kernel's arguments and results, then the first and the last + 1 of the parts of the work that it does.
void emitLoops(const CpuKernelPlan &plan, mlir::ModuleOp module, llvm::StringRef name);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CPU_LOOPEMITTER_H
