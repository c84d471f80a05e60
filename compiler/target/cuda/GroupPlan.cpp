//===- GroupPlan.cpp - how the threads of a group share a nest --------------===//

#include "compiler/target/cuda/GroupPlan.h"
#include "compiler/codegen/SumBlocks.h"

using namespace mlir;

namespace dgc {

/// Bytes that a thread should have on their way, and what the body of a loop may cost for that.
static constexpr int64_t kBytesInFlight = 64, kMostBody = 2048;
/// Elements that a thread remembers between a running maximum and the sums that follow it.
static constexpr int64_t kMostRemembered = 16;
/// Elements that a thread has memory of its own for.
static constexpr int64_t kMostOwnMemory = 64;

/// The bounds on the index of a loop that the roots of a nest ask for, as of what is padded along it.
static SmallVector<Bound> boundsOn(const KernelGraph &graph, const LoopNest &nest, unsigned dim) {
  SmallVector<Bound> bounds;
  const AffineExpr index = getAffineDimExpr(dim, graph.func.getContext());
  for (unsigned root : nest.roots)
    llvm::copy_if(graph.roots[root].bounds, std::back_inserter(bounds),
                  [&](const Bound &bound) { return bound.index == index; });
  return bounds;
}

/// All points in vectors, and the end of the last loop one by one: what these do not divide, and padding.
static SmallVector<ItemRange, 2> itemRangesOf(const KernelGraph &graph, const ThreadGeometry &geometry,
                                              const LoopNest &nest) {
  ItemRange whole;
  int64_t others = 1;
  for (unsigned dim : nest.loops) {
    whole.loops.push_back(dim);
    whole.trips.push_back(nest.trips[dim]);
    others *= dim == nest.loops.back() ? 1 : nest.trips[dim];
  }
  if (nest.loops.empty())
    return {whole};
  int64_t &trips = whole.trips.back();
  if (geometry.resident)
    whole.vector = geometry.vector;
  else if (!geometry.columns)
    whole.vector = vectorOf(graph, nest, nest.loops.back(), trips);
  ItemRange rest = whole;
  if (!geometry.resident) // the nests of a row that is kept have the same ranges
    whole.within = boundsOn(graph, nest, nest.loops.back());
  for (const Bound &bound : whole.within)
    trips = std::min(trips, bound.size);
  trips -= trips % whole.vector;
  whole.items = others * (trips / whole.vector);
  rest.begin = trips;
  rest.trips.back() -= trips;
  rest.items = others * rest.trips.back();
  rest.vector = 1;
  return rest.items > 0 ? SmallVector<ItemRange, 2>{whole, rest} : SmallVector<ItemRange, 2>{whole};
}

/// How many items a thread should take at a time.
static int64_t unrollOf(const KernelGraph &graph, const ThreadGeometry &geometry, const GroupNestPlan &plan,
                        const ItemRange &range) {
  int64_t bytes = 0, cost = 1, points = range.vector * (geometry.columns ? geometry.vector : 1);
  llvm::DenseSet<std::pair<Value, AffineExpr>> seen;
  for (unsigned number : plan.nest.roots) {
    cost += graph.roots[number].flops * points;
    for (const Access &access : graph.roots[number].accesses) {
      if (!seen.insert({access.base, access.linear}).second)
        continue;
      llvm::BitVector entangled(plan.nest.space.size());
      SmallVector<int64_t> strides = stridesOf(access.linear, plan.nest.space.size(), entangled);
      if (llvm::any_of(plan.nest.loops, [&](unsigned dim) { return strides[dim] != 0 || entangled.test(dim); }))
        bytes += llvm::divideCeil(elementOf(access.base).getIntOrFloatBitWidth(), 8) * points;
    }
  }
  // What a running maximum is taken of is kept until the sums have been.
  int64_t unroll = plan.online.empty() ? 8 : std::max<int64_t>(std::min<int64_t>(8, kMostRemembered / range.vector), 1);
  while (unroll > 1 && (unroll * bytes > kBytesInFlight || unroll * cost > kMostBody ||
                        unroll * geometry.groupSize * geometry.parts > range.items))
    unroll /= 2;
  return unroll;
}

/// The blocks of the additions of a thread in the part of a range that it takes `unroll` items at a time.
static SmallVector<int64_t> blocksOf(const KernelGraph &graph, const ThreadGeometry &geometry,
                                     const GroupNestPlan &plan, const ItemRange &range) {
  if (llvm::none_of(plan.nest.roots, [&](unsigned root) { return isFloatSum(graph.roots[root]); }))
    return {};
  int64_t tile = geometry.groupSize * range.unroll;
  int64_t items = geometry.parts == 1 ? range.items / tile * tile : llvm::divideCeil(range.items, geometry.parts);
  return cutIntoBlocks(llvm::divideCeil(items, tile),
                       std::max<int64_t>(kLongestChain / (range.unroll * range.vector), 1));
}

static void planCooperation(const KernelGraph &graph, const ThreadGeometry &geometry, GroupNestPlan &plan) {
  for (unsigned number : plan.nest.roots)
    if (std::optional<OnlineSum> sum = onlineSumOf(graph, number);
        sum && llvm::is_contained(plan.nest.roots, sum->maximum))
      plan.online.try_emplace(number, *sum);
  plan.ranges = itemRangesOf(graph, geometry, plan.nest);
  if (geometry.resident)
    return; // without loops
  for (ItemRange &range : plan.ranges) {
    range.unroll = unrollOf(graph, geometry, plan, range);
    range.blocks = blocksOf(graph, geometry, plan, range);
  }
}

NestPlan planThreadNest(const KernelGraph &graph, LoopNest nest) {
  auto lanesOf = [](const Root &) { return int64_t(1); };
  return planNest(graph, std::move(nest), {lanesOf, kMostOwnMemory});
}

GroupNestPlan planGroupNest(const KernelGraph &graph, const ThreadGeometry &geometry, LoopNest nest) {
  GroupNestPlan plan;
  plan.nest = std::move(nest);
  if (geometry.resident && plan.nest.loops.empty())
    return plan;
  if (cooperates(graph, plan.nest)) {
    plan.form = GroupNestPlan::Form::Cooperate;
    planCooperation(graph, geometry, plan);
    return plan;
  }
  plan.common = commonParallel(graph, plan.nest);
  plan.form = plan.common.empty() ? GroupNestPlan::Form::FirstThread : GroupNestPlan::Form::InTurn;
  for (unsigned dim : plan.common)
    plan.commonTrips.push_back(plan.nest.trips[dim]);
  plan.inner = planThreadNest(graph, without(plan.nest, plan.common));
  return plan;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printRange(llvm::raw_ostream &out, const ItemRange &range) {
  out << "; " << range.items << " items";
  if (range.vector > 1)
    out << " of " << range.vector;
  if (range.begin > 0)
    out << " from d" << range.loops.back() << " = " << range.begin;
  for (const Bound &bound : range.within)
    out << ", where " << bound.index << " < " << bound.size;
  if (range.unroll > 1)
    out << ", " << range.unroll << " at a time";
  if (!range.blocks.empty()) {
    out << ", in blocks of ";
    printSizes(out, range.blocks, ", ");
  }
}

void printGroupNest(llvm::raw_ostream &out, const KernelGraph &graph, const GroupNestPlan &plan) {
  using Form = GroupNestPlan::Form;
  if (plan.form == Form::FirstThread || plan.form == Form::InTurn) {
    printNest(out, graph, plan.inner);
    out << (plan.form == Form::InTurn ? "; threads take in turn " : "; by the first thread");
    if (plan.form == Form::InTurn)
      printLoops(out, plan.common, plan.commonTrips);
    return;
  }
  SmallVector<int64_t> trips;
  for (unsigned dim : plan.nest.loops)
    trips.push_back(plan.nest.trips[dim]);
  printRoots(out, graph, plan.nest.roots);
  out << " over ";
  printLoops(out, plan.nest.loops, trips);
  if (plan.form == Form::Once)
    out << "; known to all threads";
  for (const ItemRange &range : plan.ranges)
    printRange(out, range);
  for (unsigned root : plan.nest.roots)
    if (auto sum = plan.online.find(root); sum != plan.online.end())
      out << "; sum " << root << " follows the running maximum " << sum->second.maximum;
}

} // namespace dgc
