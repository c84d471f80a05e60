//===- KernelPlan.cpp -----------------------------------------------------===//

#include "compiler/codegen/KernelPlan.h"
#include "compiler/codegen/Combiner.h"
#include "compiler/codegen/SumBlocks.h"

using namespace mlir;

namespace dgc {

/// Rows that a reduction over rows takes at a time, and twice as many where the running values are so few that a row is
/// short, or so many that they leave the first cache. The number does not depend on what else a nest computes, so that
/// a sum has the same blocks in every kernel.
static constexpr int64_t kSteps = 4, kFewValues = 64, kManyValues = 4096;

unsigned lastParallel(const LoopNest &nest, const Root &root) {
  unsigned last = 0;
  for (auto [depth, dim] : llvm::enumerate(nest.loops))
    if (root.parallel.test(dim))
      last = depth + 1;
  return last;
}

bool isInMemory(const LoopNest &nest, const Root &root) {
  for (unsigned depth = 0; depth < lastParallel(nest, root); ++depth)
    if (!root.parallel.test(nest.loops[depth]))
      return true;
  return false;
}

/// How many iterations of the loop at `depth` are taken at a time: several where it is the second innermost and a
/// reduction for all that is reduced, with running values in memory.
static int64_t stepsAt(const KernelGraph &graph, const LoopNest &nest, unsigned depth) {
  if (depth + 2 != nest.loops.size())
    return 1;
  bool found = false;
  for (unsigned number : nest.roots) {
    const Root &root = graph.roots[number];
    if (!root.reduction)
      continue;
    if (!isInMemory(nest, root) || lastParallel(nest, root) != nest.loops.size() ||
        root.parallel.test(nest.loops[depth]))
      return 1;
    found = true;
  }
  int64_t values = nest.trips[nest.loops.back()], rows = kSteps;
  if (values <= kFewValues || values >= kManyValues)
    rows *= 2;
  return found && nest.trips[nest.loops[depth]] >= rows ? rows : 1;
}

/// The sums that have partial sums in memory in a block of the loop at `depth`.
static SmallVector<PartialSums, 1> partialsAt(const KernelGraph &graph, const LoopNest &nest, unsigned depth,
                                              int64_t most) {
  SmallVector<PartialSums, 1> partials;
  for (unsigned number : nest.roots) {
    const Root &root = graph.roots[number];
    if (!isFloatSum(root) || root.parallel.test(nest.loops[depth]) || depth >= lastParallel(nest, root))
      continue;
    int64_t elements = 1;
    for (unsigned dim : ArrayRef<unsigned>(nest.loops).drop_front(depth + 1))
      elements *= root.parallel.test(dim) ? nest.trips[dim] : 1;
    if (elements <= most)
      partials.push_back({number, elements});
  }
  return partials;
}

NestPlan planNest(const KernelGraph &graph, LoopNest nest, const SumResources &resources) {
  NestPlan plan{std::move(nest), {}};
  const LoopNest &loops = plan.nest;
  SumLoops sums{graph, loops, resources.lanesOf};
  if (loops.loops.size() >= 2) {
    sums.steps = stepsAt(graph, loops, loops.loops.size() - 2);
    sums.steppedDepth = sums.steps > 1 ? loops.loops.size() - 2 : -1;
  }
  for (unsigned depth = 0; depth < loops.loops.size(); ++depth) {
    LoopPlan &loop = plan.loops.emplace_back();
    loop.steps = stepsAt(graph, loops, depth);
    loop.blocks = sums.blocksAt(depth);
    if (!loop.blocks.empty())
      loop.partials = partialsAt(graph, loops, depth, resources.mostPartials);
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void printSizes(llvm::raw_ostream &out, ArrayRef<int64_t> sizes, StringRef separator) {
  llvm::interleave(sizes, out, separator);
}

void printLoops(llvm::raw_ostream &out, ArrayRef<unsigned> loops, ArrayRef<int64_t> trips) {
  if (loops.empty())
    out << "no loops";
  for (auto [i, dim] : llvm::enumerate(loops))
    out << (i == 0 ? "d" : ", d") << dim << " < " << trips[i];
}

void printRoots(llvm::raw_ostream &out, const KernelGraph &graph, ArrayRef<unsigned> roots) {
  llvm::interleaveComma(
      roots, out, [&](unsigned root) { out << (graph.roots[root].reduction ? "reduction " : "elementwise ") << root; });
}

void printValue(llvm::raw_ostream &out, const KernelGraph &graph, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    out << "argument " << argument.getArgNumber();
    return;
  }
  auto it = graph.rootOf.find(value);
  if (it == graph.rootOf.end()) {
    out << "a constant";
    return;
  }
  const Root &root = graph.roots[it->second];
  if (root.values.size() > 1)
    out << "value " << llvm::find(root.values, value) - root.values.begin() << " of ";
  out << "root " << it->second;
}

void printNest(llvm::raw_ostream &out, const KernelGraph &graph, const NestPlan &plan) {
  SmallVector<int64_t> trips;
  for (unsigned dim : plan.nest.loops)
    trips.push_back(plan.nest.trips[dim]);
  printRoots(out, graph, plan.nest.roots);
  out << " over ";
  printLoops(out, plan.nest.loops, trips);
  for (auto [dim, loop] : llvm::zip_equal(plan.nest.loops, plan.loops)) {
    if (loop.steps > 1)
      out << ", d" << dim << " " << loop.steps << " at a time";
    if (loop.blocks.empty())
      continue;
    out << ", d" << dim << " in blocks of ";
    printSizes(out, loop.blocks, ", ");
    for (const PartialSums &sums : loop.partials)
      out << " with " << sums.elements << " partial sums of root " << sums.root;
  }
}

} // namespace dgc
