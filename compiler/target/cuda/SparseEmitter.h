//===- SparseEmitter.h - sums of few addends on GPUs ------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_SPARSEEMITTER_H
#define DGC_COMPILER_TARGET_CUDA_SPARSEEMITTER_H

#include "compiler/target/cuda/GroupNestEmitter.h"

namespace dgc {

class SparseEmitter : public GroupNestEmitter {
protected:
  using GroupNestEmitter::GroupNestEmitter;

  /// Blocks for the rows of a sum of few addends (Sparse.h).
  void sparse(const Segment &segment, mlir::Value block);

private:
  /// A sum of few addends, and the loops over them.
  struct SparseLoops {
    const Root &root;
    mlir::Value condition;
    llvm::SmallVector<unsigned> added;
    llvm::SmallVector<int64_t> addedTrips;
    int64_t addends;
    mlir::Value found, nothing; // bits of the present addends, in the block's memory; zero
  };
  mlir::Value chunk(const SparseLoops &loops, mlir::Value first);
  mlir::Value chunks(const SparseLoops &loops, mlir::Value from, mlir::Value to, llvm::ArrayRef<int64_t> blocks);
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_SPARSEEMITTER_H
