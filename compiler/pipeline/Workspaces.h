//===- Workspaces.h - the memory that plans need beside their arenas -------===//

#ifndef DGC_COMPILER_PIPELINE_WORKSPACES_H
#define DGC_COMPILER_PIPELINE_WORKSPACES_H

#include "mlir/IR/BuiltinOps.h"

namespace dgc {

/// Asks the libraries of the device how much memory the inside of their calls needs with `threads` threads (0: an equal
/// share of the cores of this machine). Each planned program gets `exec.scratch_bytes`; the module gets `exec.threads`
/// and `exec.peak_bytes`, all that the worker with the largest need takes on its device, buffers for communication
/// between hosts included.
llvm::LogicalResult planWorkspaces(mlir::ModuleOp module, int64_t threads, const std::string &target);

} // namespace dgc

#endif // DGC_COMPILER_PIPELINE_WORKSPACES_H
