// The size of the global batch.

#ifndef DGC_PASSES_MODEL_BATCH_H
#define DGC_PASSES_MODEL_BATCH_H

#include "dialects/dgc/DGC.h"

namespace dgc {

/// The global batch: the option, else the one that the inputs of the model agree on; 0 without any batch dimension. Fails
/// with a diagnostic.
mlir::FailureOr<int64_t> findBatch(ModelOp model, int64_t option);

} // namespace dgc

#endif // DGC_PASSES_MODEL_BATCH_H
