//===- SparseEmitter.h - sums of few addends on GPUs ------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_SPARSEEMITTER_H
#define DGC_COMPILER_TARGET_CUDA_SPARSEEMITTER_H

#include "compiler/target/cuda/CudaKernelPlan.h"
#include "compiler/target/cuda/GroupNestEmitter.h"

namespace dgc {

class SparseEmitter : public GroupNestEmitter {
protected:
  using GroupNestEmitter::GroupNestEmitter;

  /// Blocks for the rows of a sum of few addends (Sparse.h).
  void sparse(const Segment &segment, const SparsePlan &plan, mlir::Value block);

private:
  struct SparseLoops {
    const Root &root;
    const SparsePlan &plan;
    mlir::Value found, nothing; // bits of the present addends, in the block's memory; zero
  };
  mlir::Value chunk(const SparseLoops &loops, mlir::Value first);
  mlir::Value chunks(const SparseLoops &loops, mlir::Value from, mlir::Value to, llvm::ArrayRef<int64_t> blocks);
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_SPARSEEMITTER_H
