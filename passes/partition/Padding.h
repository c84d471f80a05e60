// Elements of a block that are none of the whole tensor.

#ifndef DGC_PASSES_PARTITION_PADDING_H
#define DGC_PASSES_PARTITION_PADDING_H

#include "passes/analysis/Layout.h"

namespace dgc {

/// `result`, of an op, marked as partial in the way that `like` is.
mlir::Value keepEncoding(mlir::Value result, mlir::Value like);

/// `value` with `fill`, a scalar, in place of what is outside of the whole tensor in dimension `dim`, which has
/// `size` elements there. Element 0 of `value` is element `start` (a scalar i64) of the whole; `mayBegin` says that it
/// may be a negative one.
mlir::Value maskOutside(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value, unsigned dim,
                        mlir::Value start, int64_t size, mlir::Value fill, bool mayBegin);

/// The block of a device with the identity of `kind` in place of its padding along `dim`, which `axes` cut and which
/// has `size` elements in the whole tensor.
mlir::Value maskPadding(mlir::OpBuilder &builder, mlir::Location location, const MeshRef &mesh, mlir::Value value,
                        unsigned dim, llvm::ArrayRef<AxisUse> axes, int64_t size, ReductionKind kind);

} // namespace dgc

#endif // DGC_PASSES_PARTITION_PADDING_H
