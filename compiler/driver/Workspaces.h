//===- Workspaces.h - memory that plans need outside of their arenas -------===//

#ifndef DGC_COMPILER_DRIVER_WORKSPACES_H
#define DGC_COMPILER_DRIVER_WORKSPACES_H

#include "compiler/driver/CompileOptions.h"

namespace dgc {

/// Asks the targets how much memory the inside of library calls needs with the threads of the plan. Each planned program
/// gets `exec.scratch_bytes`; the module gets `exec.threads` and `exec.peak_bytes`, all that the worker with the largest
/// need takes on its device, buffers for communication between hosts included.
llvm::LogicalResult planWorkspaces(mlir::ModuleOp module, const CompilePlan &compilation);

} // namespace dgc

#endif // DGC_COMPILER_DRIVER_WORKSPACES_H
