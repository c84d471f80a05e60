// Making explicit where a value is needed in another sharding, for one function.

#ifndef DGC_PASSES_SHARD_INSERTRESHARDS_H
#define DGC_PASSES_SHARD_INSERTRESHARDS_H

#include "passes/analysis/Layout.h"

namespace dgc {

struct ReshardCounts {
  unsigned reshards = 0; // inserted
  unsigned partial = 0;  // reductions over a cut dimension
};

/// Inserts the reshards of a function whose values have been given shardings. Fails with a diagnostic for an op
/// without a sharding rule that has a cut operand.
mlir::FailureOr<ReshardCounts> insertReshards(mlir::func::FuncOp function, const MeshRef &mesh);

} // namespace dgc

#endif // DGC_PASSES_SHARD_INSERTRESHARDS_H
