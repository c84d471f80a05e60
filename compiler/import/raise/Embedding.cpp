// Rows of a table, as JAX chooses them.

#include "compiler/import/raise/Expression.h"

using namespace mlir;
using namespace dgc;

namespace dgc::import::raise {

bool raiseEmbedding(Operation *op, OpBuilder &builder) {
  auto gather = dyn_cast<GatherOp>(op);
  if (!gather || gather.getOffset() || gather.getDimension() != 0 || tensorOf(gather.getOperand()).getRank() != 2 ||
      tensorOf(gather.getIndices()).getRank() == 0 || !isa<FloatType>(elementOf(gather.getOperand())))
    return false;
  builder.setInsertionPoint(op);
  auto embedding = EmbeddingOp::create(builder, op->getLoc(), gather.getOperand(), gather.getIndices());
  gather.getResult().replaceAllUsesWith(embedding.getResult());
  return true;
}

} // namespace dgc::import::raise
