//===- Clusters.h - the ops that become one kernel ------------------------------===//

#ifndef DGC_PASSES_KERNEL_CLUSTERS_H
#define DGC_PASSES_KERNEL_CLUSTERS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "passes/analysis/SizeDecisions.h"
#include "llvm/ADT/SmallVector.h"

namespace dgc {

/// An element of a block after kernels are formed: one op that stays, or the ops of a kernel in order.
struct KernelCandidate {
  llvm::SmallVector<mlir::Operation *> ops;
  bool isKernel = false;
};

/// Returns true for a constant that a kernel holds itself.
bool isSmallConstant(mlir::Operation *op);

/// Divides the ops of a block, small constants and the terminator left out, into candidates in an order that keeps
/// dependences and the order of everything that is not pure dgc or exec. Updates of variables become one kernel as long
/// as that has no more than `maxUpdateOps`; with `shareLaunches` so do what is made of variables alone, and sums of whole
/// tensors.
llvm::SmallVector<KernelCandidate> clusterBlock(mlir::Block &block, int64_t maxUpdateOps, bool shareLaunches,
                                                SizeDecisions &decide);

} // namespace dgc

#endif // DGC_PASSES_KERNEL_CLUSTERS_H
