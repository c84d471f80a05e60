//===- Sparse.h - sums of few addends ---------------------------*- C++ -*-===//
//
// The addends of a scatter-add to one row are those whose number is that of the row, and there are few: to look at all
// of them for every element would take most of the time. A sum whose body adds select(condition, x, 0) is such a sum,
// where the condition does not depend on all of the parallel loops.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_SPARSE_H
#define DGC_COMPILER_TARGET_CUDA_SPARSE_H

#include "compiler/codegen/KernelGraph.h"
#include <optional>

namespace dgc {

struct SparseSum {
  mlir::Value condition;   // in the body: is there an addend?
  llvm::BitVector chooses; // the loops of the space that the condition depends on
};

/// Nothing where the root is no such sum.
std::optional<SparseSum> sparseSumOf(const KernelGraph &graph, unsigned root);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_SPARSE_H
