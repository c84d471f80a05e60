// From one sharding of a value to another, by their difference.

#ifndef DGC_PASSES_PARTITION_RESHARDLOWERING_H
#define DGC_PASSES_PARTITION_RESHARDLOWERING_H

#include "passes/analysis/Layout.h"

namespace dgc {

/// The names of axes.
mlir::ArrayAttr axesAttr(mlir::OpBuilder &builder, const MeshRef &mesh, llvm::ArrayRef<AxisUse> axes);

/// The part of a dimension that this device has along `axes`, as the index of
/// its first element: position times `localSize`.
mlir::Value buildOffset(mlir::OpBuilder &builder, mlir::Location location, const MeshRef &mesh,
                        llvm::ArrayRef<AxisUse> axes, int64_t localSize);

/// Takes this device's part of dimension `dim` along further `axes`.
mlir::Value buildSlice(mlir::OpBuilder &builder, mlir::Location location, const MeshRef &mesh, mlir::Value value,
                       unsigned dim, llvm::ArrayRef<AxisUse> axes);

/// Lowers a reshard of `value`, a part of a tensor of `globalShape`, from one
/// sharding to another, by the steps of ReshardPlan.h. `user` says who needs it;
/// it becomes part of the origins. Fails with a diagnostic at `location` for a
/// value that would become partial.
mlir::FailureOr<mlir::Value> lowerReshard(mlir::OpBuilder &builder, mlir::Location location, const MeshRef &mesh,
                                          mlir::Value value, llvm::ArrayRef<int64_t> globalShape,
                                          dist::ShardingAttr from, dist::ShardingAttr to, llvm::StringRef user);

} // namespace dgc

#endif // DGC_PASSES_PARTITION_RESHARDLOWERING_H
