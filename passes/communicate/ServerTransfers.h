// Transfers between workers and parameter servers.

#ifndef DGC_PASSES_COMMUNICATE_SERVERTRANSFERS_H
#define DGC_PASSES_COMMUNICATE_SERVERTRANSFERS_H

#include "dialects/dist/Dist.h"
#include "llvm/ADT/DenseMap.h"

namespace dgc {

/// Of sends, the receives that they belong to.
using Receives = llvm::DenseMap<mlir::Operation *, dist::RecvOp>;

/// The two ends of each transfer between functions of one step: of one channel, the first belongs to the first.
Receives findReceives(mlir::ModuleOp module);

/// True for a send to one device alone.
bool isSendToServer(mlir::Operation *op);

} // namespace dgc

#endif // DGC_PASSES_COMMUNICATE_SERVERTRANSFERS_H
