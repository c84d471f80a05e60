//===- KernelPlan.h - what is decided of a kernel before it is written ------===//
//
// The loops that one thread runs, whatever the target: how many iterations are taken at a time, and how long sums are
// cut into blocks. A target adds what it decides beyond that; its plan can be printed (dgc-print-kernel-plan), and the
// code is written from it alone.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_CODEGEN_KERNELPLAN_H
#define DGC_COMPILER_CODEGEN_KERNELPLAN_H

#include "compiler/codegen/KernelSchedule.h"
#include "llvm/Support/raw_ostream.h"

namespace dgc {

/// Memory for the partial sums of a block of a loop, of a root whose running values are in memory.
struct PartialSums {
  unsigned root;
  int64_t elements; // for each value: the points of the parallel loops inside
};

/// One loop of a nest.
struct LoopPlan {
  /// Iterations that are taken at a time, so that running values in memory are loaded and stored less often.
  int64_t steps = 1;
  /// The iterations of the blocks that it is cut into, the largest first; none: it is not cut (SumBlocks.h).
  llvm::SmallVector<int64_t> blocks;
  llvm::SmallVector<PartialSums, 1> partials; // in each of the blocks
};

/// A nest as loops of one thread.
struct NestPlan {
  LoopNest nest;
  llvm::SmallVector<LoopPlan> loops; // as nest.loops
};

/// What a target gives the sums of a thread.
struct SumResources {
  /// Lanes with running sums of their own that a sum in registers is given by the compiler of the loops.
  llvm::function_ref<int64_t(const Root &)> lanesOf;
  int64_t mostPartials = std::numeric_limits<int64_t>::max(); // elements that there is memory for
};

NestPlan planNest(const KernelGraph &graph, LoopNest nest, const SumResources &resources);

/// The position in nest.loops of the last loop that is parallel for a root, plus one.
unsigned lastParallel(const LoopNest &nest, const Root &root);

/// Is the running value of a reduction kept in memory, because a parallel loop runs inside a reduction loop?
bool isInMemory(const LoopNest &nest, const Root &root);

// Text for people and tests. A root is named by its number, a loop by its dimension in the space.
void printLoops(llvm::raw_ostream &out, llvm::ArrayRef<unsigned> loops, llvm::ArrayRef<int64_t> trips);
void printRoots(llvm::raw_ostream &out, const KernelGraph &graph, llvm::ArrayRef<unsigned> roots);
void printNest(llvm::raw_ostream &out, const KernelGraph &graph, const NestPlan &plan);
void printSizes(llvm::raw_ostream &out, llvm::ArrayRef<int64_t> sizes, llvm::StringRef separator = "x");
/// What a value is in the kernel: "root 2", "argument 0", "result 1 of root 2".
void printValue(llvm::raw_ostream &out, const KernelGraph &graph, mlir::Value value);

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_KERNELPLAN_H
