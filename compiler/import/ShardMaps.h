// Computations for one device as XLA writes them before Shardy: between calls of @SPMDFullToShardShape and @SPMDShardToFullShape.

#ifndef DGC_COMPILER_IMPORT_SHARDMAPS_H
#define DGC_COMPILER_IMPORT_SHARDMAPS_H

#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace dgc::import {

/// A `sdy.manual_computation` that has no shardings and axes yet, and the texts that say them.
struct ShardMap {
  mlir::Operation *op;
  llvm::SmallVector<mlir::StringAttr> in, out; // of its operands and results
  llvm::SmallVector<mlir::StringAttr>
      manual; // which devices are manual, at least one; all say the same in a sound program
};

/// Makes computations of the ops between the calls. On failure there is a diagnostic.
llvm::LogicalResult takeShardMaps(mlir::ModuleOp module, std::vector<ShardMap> &all);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_SHARDMAPS_H
