//===- SumBlocks.h - how the loop of a long sum is cut into blocks ---------===//

#ifndef DGC_COMPILER_CODEGEN_SUMBLOCKS_H
#define DGC_COMPILER_CODEGEN_SUMBLOCKS_H

#include "compiler/codegen/KernelSchedule.h"

namespace dgc {

/// A sum of n numbers whose additions follow one another has an error of up to n / 2 units in the last place. So no sum
/// has more than kLongestChain additions that follow one another: longer loops are cut into blocks, each block has a
/// partial sum of its own, and at most kMostPartials of these are added up before that, again, is a partial sum. The
/// longest path from an addend to the sum then grows with the logarithm of n: by kMostPartials additions for each
/// factor of kMostPartials. Blocks depend on sizes alone, so they are the same for any number of threads.
constexpr int64_t kLongestChain = 64, kMostPartials = 32;

/// Lanes of the sums of vectorized loops on CPUs: two vectors of 512 bits. The number does not depend on what else a loop
/// computes, so that a sum has the same blocks in all kernels but those that call functions, which are not vectorized.
constexpr int64_t kSumLanes = 32;

/// The iterations of the blocks that a loop is cut into, the largest blocks first; none: it is not cut. A block of the
/// last size has at most `most` iterations, and a multiple of `granule` unless it is the last block.
llvm::SmallVector<int64_t> cutIntoBlocks(int64_t trips, int64_t most, int64_t granule = 1);

/// What is known of the loops of a nest for that.
struct SumLoops {
  const KernelGraph &graph;
  const LoopNest &nest;
  /// Lanes of the innermost loop for a sum in registers, each with a running sum of its own.
  llvm::function_ref<int64_t(const Root &)> lanesOf;
  /// The loop whose iterations are taken some at a time, and how many; what these add is one partial sum.
  int64_t steppedDepth = -1, steps = 1;

  /// The blocks of the loop at `depth`.
  llvm::SmallVector<int64_t> blocksAt(unsigned depth) const;

private:
  int64_t iterationsPerAddition(const Root &root, unsigned depth) const;
  int64_t additionsInside(const Root &root, unsigned depth) const;
};

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_SUMBLOCKS_H
