//===- SumBlocks.cpp ------------------------------------------------------===//

#include "compiler/codegen/SumBlocks.h"
#include "compiler/codegen/Combiner.h"

using namespace mlir;

namespace dgc {

/// Parts of about the same size, none larger than `most`.
static int64_t balancedPart(int64_t count, int64_t most, int64_t granule) {
  return llvm::alignTo(llvm::divideCeil(count, llvm::divideCeil(count, most)), granule);
}

SmallVector<int64_t> cutIntoBlocks(int64_t trips, int64_t most, int64_t granule) {
  if (trips <= most)
    return {};
  SmallVector<int64_t> blocks{balancedPart(trips, most, granule)};
  for (int64_t count; (count = llvm::divideCeil(trips, blocks.front())) > kMostPartials;)
    blocks.insert(blocks.begin(), blocks.front() * balancedPart(count, kMostPartials, 1));
  return blocks;
}

/// Iterations of the loop at `depth` of which a running sum sees one addition.
int64_t SumLoops::iterationsPerAddition(const Root &root, unsigned depth) const {
  if (int64_t(depth) == steppedDepth)
    return steps;
  return depth + 1 == nest.loops.size() ? lanesOf(root) : 1;
}

/// The additions to a running value that follow one another in all loops from `depth` inwards.
int64_t SumLoops::additionsInside(const Root &root, unsigned depth) const {
  int64_t additions = 1;
  bool inRegisters = true;
  for (unsigned at = nest.loops.size(); at-- > depth;) {
    unsigned dim = nest.loops[at];
    if (root.parallel.test(dim)) {
      // What the loops inside the last parallel one add up in registers is one addend of what is in memory.
      additions = inRegisters ? 1 : additions;
      inRegisters = false;
      continue;
    }
    SmallVector<int64_t> blocks = blocksAt(at);
    additions = blocks.empty() ? additions * llvm::divideCeil(nest.trips[dim], iterationsPerAddition(root, at))
                               : llvm::divideCeil(nest.trips[dim], blocks.front());
  }
  return additions;
}

SmallVector<int64_t> SumLoops::blocksAt(unsigned depth) const {
  unsigned dim = nest.loops[depth];
  int64_t most = nest.trips[dim], granule = 1;
  for (unsigned number : nest.roots) {
    const Root &root = graph.roots[number];
    if (!isFloatSum(root) || root.parallel.test(dim))
      continue;
    int64_t additions = std::max<int64_t>(additionsInside(root, depth + 1), 1);
    int64_t perAddition = iterationsPerAddition(root, depth);
    most = std::min(most, std::max<int64_t>(kLongestChain * perAddition / additions, 1));
    // Code that takes lanes at a time takes several of them, so that additions need not wait for each other.
    bool isVector = perAddition > 1 && int64_t(depth) != steppedDepth;
    granule = std::max(granule, isVector ? 2 * perAddition : perAddition);
  }
  return cutIntoBlocks(nest.trips[dim], most, std::min(granule, most));
}

} // namespace dgc
