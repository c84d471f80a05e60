//===- KernelSchedule.cpp -------------------------------------------------===//

#include "compiler/codegen/KernelSchedule.h"

using namespace mlir;

namespace dgc {

SmallVector<int64_t> stridesOf(AffineExpr linear, unsigned dims, llvm::BitVector &entangled) {
  SmallVector<int64_t> strides(dims, 0);
  SmallVector<AffineExpr> terms{linear};
  auto entangle = [&](AffineExpr expr) {
    expr.walk([&](AffineExpr inner) {
      if (auto dim = dyn_cast<AffineDimExpr>(inner))
        entangled.set(dim.getPosition());
    });
  };
  while (!terms.empty()) {
    AffineExpr term = terms.pop_back_val();
    if (auto dim = dyn_cast<AffineDimExpr>(term)) {
      strides[dim.getPosition()] += 1;
      continue;
    }
    auto binary = dyn_cast<AffineBinaryOpExpr>(term);
    if (!binary)
      continue;
    if (binary.getKind() == AffineExprKind::Add) {
      terms.push_back(binary.getLHS());
      terms.push_back(binary.getRHS());
      continue;
    }
    auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (auto dim = dyn_cast<AffineDimExpr>(binary.getLHS()); dim && factor && binary.getKind() == AffineExprKind::Mul)
      strides[dim.getPosition()] += factor.getValue();
    else
      entangle(term);
  }
  return strides;
}

/// How many leading dimensions of the space all values of a root have first and in this order, in parallel.
static unsigned rowPrefix(const Root &root) {
  Index point = pointOf(root.values.front().getContext(), root.space);
  unsigned prefix = 0;
  while (prefix < root.space.size() && root.parallel.test(prefix) &&
         llvm::all_of(
             llvm::zip_equal(root.values, root.indices),
             [&](auto pair) {
               auto &[value, index] = pair;
               return index.size() > prefix && index[prefix] == point[prefix] &&
                      shapeOf(value)[prefix] == root.space[prefix];
             }))
    ++prefix;
  return prefix;
}

/// How many leading dimensions agree in all those reads by `user` whose memory is chosen.
static unsigned alignedPrefix(const KernelGraph &graph, unsigned user, llvm::function_ref<bool(Value)> chosen) {
  const Root &root = graph.roots[user];
  Index point = pointOf(graph.func.getContext(), root.space);
  unsigned prefix = root.space.size();
  for (const Access &access : root.accesses) {
    if (!chosen(access.base))
      continue;
    unsigned aligned = 0;
    while (aligned < std::min<size_t>(prefix, access.index.size()) && access.index[aligned] == point[aligned] &&
           shapeOf(access.base)[aligned] == root.space[aligned])
      ++aligned;
    prefix = std::min(prefix, aligned);
  }
  return prefix;
}

namespace {

/// Additions inside a row from which on several sums, which the threads of a group do not share, have a grid of their own.
constexpr int64_t kLongRow = 1024;

/// Builds segments by adding one root after the other.
class Scheduler {
public:
  Scheduler(const KernelGraph &graph, bool apart)
      // Where an argument is overwritten, loops of one level keep the order of what reads it and what writes it.
      : graph(graph), forThreads(apart),
        apart(apart && llvm::all_of(graph.inplace, [](int64_t argument) { return argument < 0; })),
        level(graph.roots.size(), 0) {
    schedule.segmentOf.assign(graph.roots.size(), 0);
  }

  Schedule run() {
    for (unsigned root = 0; root < graph.roots.size(); ++root)
      place(root);
    for (Segment &segment : schedule.segments)
      finish(segment);
    split();
    estimate();
    return std::move(schedule);
  }

private:
  bool dependsOn(unsigned user, unsigned used) const {
    return graph.reads(user, used) || llvm::is_contained(graph.roots[user].after, used);
  }

  /// May `user` be in the same loop as `used`, on which it depends?
  bool sharesLoopWith(unsigned user, unsigned used) const {
    const Root &a = graph.roots[user], &b = graph.roots[used];
    if (a.space != b.space || (graph.reads(user, used) && !graph.readsInPlace(user, used)))
      return false;
    if (!llvm::is_contained(a.after, used))
      return true;
    // It overwrites an argument that `used` reads; both must touch the same element at a time.
    return llvm::all_of(b.accesses, [&](const Access &access) {
      auto argument = dyn_cast<BlockArgument>(access.base);
      return !argument || !llvm::is_contained(graph.inplace, int64_t(argument.getArgNumber())) ||
             graph.readsValueInPlace(used, argument);
    });
  }

  /// May a root be in a loop with these, as far as what they reduce goes?
  bool reducesAlike(unsigned root, ArrayRef<unsigned> others) const {
    auto isReduction = [&](unsigned number) { return bool(graph.roots[number].reduction); };
    return !apart || !isReduction(root) || llvm::all_of(others, [&](unsigned other) {
      return !isReduction(other) || graph.roots[other].parallel == graph.roots[root].parallel;
    });
  }

  /// The level of a root among the roots of a segment: roots of one level can share loops.
  unsigned levelIn(const Segment &segment, unsigned root) const {
    unsigned result = 0;
    for (unsigned other : segment.roots)
      if (dependsOn(root, other))
        result = std::max(result, level[other] + (sharesLoopWith(root, other) ? 0 : 1));
    return result;
  }

  bool related(const Segment &segment, unsigned root) const {
    const Root &mine = graph.roots[root];
    for (unsigned other : segment.roots) {
      if (dependsOn(root, other))
        return true;
      for (const Access &a : mine.accesses)
        for (const Access &b : graph.roots[other].accesses)
          if (a.base == b.base && !shapeOf(a.base).empty() && sizeOf(shapeOf(a.base)) * 2 > sizeOf(mine.space))
            return true;
    }
    return false;
  }

  /// The number of row dimensions of a segment once `root` is in it; 0 if there are none.
  unsigned rowsWith(const Segment &segment, unsigned root) const {
    unsigned rows = std::min(segment.rowDims, rowPrefix(graph.roots[root]));
    for (unsigned dim = 0; dim < rows; ++dim)
      if (segment.rowShape[dim] != graph.roots[root].space[dim])
        rows = dim;
    for (unsigned other : segment.roots) {
      rows = std::min(rows, alignedPrefix(graph, root, [&](Value base) {
                        auto it = graph.rootOf.find(base);
                        return it != graph.rootOf.end() && it->second == other;
                      }));
      // A row that is overwritten was read by those before, which read no other one.
      if (llvm::is_contained(graph.roots[root].after, other))
        rows = std::min(rows, alignedPrefix(graph, other, [&](Value base) {
                          auto argument = dyn_cast<BlockArgument>(base);
                          return argument && llvm::is_contained(graph.inplace, argument.getArgNumber());
                        }));
    }
    return rows;
  }

  /// Has a root several sums inside a row, and so much of them that the threads of one group would take long?
  bool isLongInside(unsigned number, unsigned rows) const {
    const Root &root = graph.roots[number];
    int64_t sums = 1, points = 1;
    for (unsigned dim = rows; dim < root.space.size(); ++dim) {
      points *= root.space[dim];
      sums *= root.parallel.test(dim) ? root.space[dim] : 1;
    }
    return root.reduction && sums > 1 && points > kLongRow;
  }

  bool joins(Segment &segment, unsigned root) {
    if (!related(segment, root))
      return false;
    unsigned newLevel = levelIn(segment, root);
    bool onePass =
        newLevel == 0 && reducesAlike(root, segment.roots) && llvm::all_of(segment.roots, [&](unsigned other) {
          return level[other] == 0 && graph.roots[other].space == graph.roots[root].space;
        });
    unsigned rows = rowsWith(segment, root);
    if (rows == 0 && !onePass)
      return false;
    if (forThreads && !onePass && (isLongInside(root, rows) || llvm::any_of(segment.roots, [&](unsigned other) {
                                     return isLongInside(other, rows);
                                   })))
      return false;
    segment.rowDims = rows;
    segment.rowShape.resize(rows);
    segment.roots.push_back(root);
    level[root] = newLevel;
    return true;
  }

  void place(unsigned root) {
    unsigned first = 0;
    for (unsigned other = 0; other < root; ++other)
      if (dependsOn(root, other))
        first = std::max(first, schedule.segmentOf[other]);
    for (unsigned i = schedule.segments.size(); i-- > first;)
      if (joins(schedule.segments[i], root)) {
        schedule.segmentOf[root] = i;
        return;
      }
    Segment segment;
    segment.rowDims = rowPrefix(graph.roots[root]);
    segment.rowShape.assign(graph.roots[root].space.begin(), graph.roots[root].space.begin() + segment.rowDims);
    segment.roots.push_back(root);
    schedule.segmentOf[root] = schedule.segments.size();
    schedule.segments.push_back(std::move(segment));
  }

  void finish(Segment &segment) {
    for (unsigned root : segment.roots) {
      const Root &info = graph.roots[root];
      auto same = llvm::find_if(segment.nests, [&](const LoopNest &nest) {
        return nest.space == info.space && level[nest.roots.front()] == level[root] && reducesAlike(root, nest.roots);
      });
      if (same != segment.nests.end()) {
        same->roots.push_back(root);
        continue;
      }
      LoopNest nest;
      nest.roots.push_back(root);
      nest.space = info.space;
      segment.nests.push_back(std::move(nest));
    }
    llvm::stable_sort(segment.nests, [&](const LoopNest &a, const LoopNest &b) {
      return level[a.roots.front()] < level[b.roots.front()];
    });
    if (segment.nests.size() == 1)
      segment.rowDims = 0;
    for (LoopNest &nest : segment.nests)
      shape(segment, nest);
  }

  bool sameKind(const LoopNest &nest, unsigned dim, unsigned other) const {
    return llvm::all_of(nest.roots, [&](unsigned root) {
      const llvm::BitVector &parallel = graph.roots[root].parallel;
      return parallel.test(dim) == parallel.test(other);
    });
  }

  /// Merges loops that together run over memory in one go, and orders what remains.
  void shape(Segment &segment, LoopNest &nest) {
    unsigned dims = nest.space.size();
    llvm::BitVector entangled(dims);
    SmallVector<SmallVector<int64_t>> strides;
    auto addAccess = [&](AffineExpr linear) { strides.push_back(stridesOf(linear, dims, entangled)); };
    for (unsigned root : nest.roots) {
      const Root &info = graph.roots[root];
      entangled |= info.pinned;
      for (const Access &access : info.accesses)
        addAccess(access.linear);
      for (auto [value, index] : llvm::zip_equal(info.values, info.indices))
        addAccess(linearize(shapeOf(value), index, graph.func.getContext()));
    }
    nest.merged.resize(dims);
    nest.trips.assign(nest.space.begin(), nest.space.end());
    int64_t previous = -1;
    for (unsigned dim = segment.rowDims; dim < dims; ++dim) {
      if (nest.space[dim] == 1) {
        nest.merged.set(dim);
        continue;
      }
      if (previous >= 0 && !entangled.test(previous) && !entangled.test(dim) && sameKind(nest, previous, dim) &&
          llvm::all_of(strides, [&](ArrayRef<int64_t> s) { return s[previous] == s[dim] * nest.space[dim]; })) {
        nest.merged.set(previous);
        nest.trips[dim] *= nest.trips[previous];
      }
      previous = dim;
    }
    orderLoops(segment, nest, strides);
  }

  void orderLoops(Segment &segment, LoopNest &nest, ArrayRef<SmallVector<int64_t>> strides) {
    for (unsigned dim = segment.rowDims; dim < nest.space.size(); ++dim)
      if (!nest.merged.test(dim) && nest.trips[dim] != 1)
        nest.loops.push_back(dim);
    if (nest.loops.empty())
      return;
    // The innermost loop should walk memory with stride 1.
    int64_t best = std::numeric_limits<int64_t>::min();
    unsigned innermost = 0;
    for (auto [position, dim] : llvm::enumerate(nest.loops)) {
      int64_t score = 0;
      for (ArrayRef<int64_t> s : strides)
        score += s[dim] == 1 ? 2 : s[dim] == 0 ? 0 : -3;
      if (nest.trips[dim] < 8)
        score -= 2;
      if (score >= best) {
        best = score;
        innermost = position;
      }
    }
    unsigned dim = nest.loops[innermost];
    nest.loops.erase(nest.loops.begin() + innermost);
    nest.loops.push_back(dim);
  }

  /// Decides how the segments are split over threads.
  void split() {
    for (unsigned root = 0; root < graph.roots.size(); ++root)
      for (unsigned other = 0; other < root; ++other)
        if (schedule.segmentOf[root] != schedule.segmentOf[other] && dependsOn(root, other))
          schedule.sequential = true;
    schedule.extent = 0;
    for (Segment &segment : schedule.segments) {
      if (segment.rowDims > 0) {
        segment.extent = sizeOf(segment.rowShape);
      } else {
        splitNest(segment, segment.nests.front());
      }
      schedule.extent += segment.extent;
    }
    if (schedule.sequential)
      schedule.extent = 1;
    schedule.extent = std::max<int64_t>(schedule.extent, 1);
  }

  void splitNest(Segment &segment, const LoopNest &nest) {
    for (unsigned dim : nest.loops) {
      if (!llvm::all_of(nest.roots, [&](unsigned root) { return graph.roots[root].parallel.test(dim); }))
        continue;
      int64_t inner = 1;
      for (unsigned other : nest.loops)
        if (other != dim)
          inner *= nest.trips[other];
      // Parts of about 4096 points; a part of an innermost loop is at least some vectors long.
      segment.splitLoop = dim;
      segment.chunk =
          std::max<int64_t>(dim == nest.loops.back() ? 64 : 1, llvm::divideCeil(4096, std::max<int64_t>(inner, 1)));
      segment.extent = llvm::divideCeil(nest.trips[dim], segment.chunk);
      return;
    }
  }

  void estimate() {
    for (const Root &root : graph.roots) {
      schedule.flops += sizeOf(root.space) * std::max<uint64_t>(root.flops, 1);
      for (Value value : root.values)
        schedule.bytes += bytesOf(value);
    }
    for (BlockArgument argument : graph.func.getArguments())
      schedule.bytes += bytesOf(argument);
    schedule.costNs = std::max<uint64_t>({schedule.bytes / 10, schedule.flops / 8, 20});
  }

  const KernelGraph &graph;
  const bool forThreads, apart;
  Schedule schedule;
  SmallVector<unsigned> level;
};

} // namespace

Schedule scheduleKernel(const KernelGraph &graph, bool apart) { return Scheduler(graph, apart).run(); }

} // namespace dgc
