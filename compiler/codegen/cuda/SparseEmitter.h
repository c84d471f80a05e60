//===- SparseEmitter.h - sums of few addends on GPUs ------------------------===//

#ifndef DGC_COMPILER_CODEGEN_CUDA_SPARSEEMITTER_H
#define DGC_COMPILER_CODEGEN_CUDA_SPARSEEMITTER_H

#include "compiler/codegen/cuda/PassEmitter.h"

namespace dgc {

class SparseEmitter : public PassEmitter {
protected:
  using PassEmitter::PassEmitter;

  /// Blocks for the rows of a sum of few addends (Sparse.h).
  void sparse(const Segment &segment, mlir::Value block);
};

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_CUDA_SPARSEEMITTER_H
