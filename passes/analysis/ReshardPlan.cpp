// From one sharding of a value to another, as a shortest path.

#include "passes/analysis/ReshardPlan.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <queue>
#include <tuple>

using llvm::ArrayRef;
using llvm::SmallVector;

namespace dgc {

int64_t LayoutSpace::parts(ArrayRef<int> axes) const {
  int64_t parts = 1;
  for (int axis : axes)
    parts *= mesh[axis];
  return parts;
}

int64_t LayoutSpace::partSize(unsigned dim, ArrayRef<int> axes) const {
  return llvm::divideCeil(shape[dim], parts(axes));
}

SmallVector<int64_t> LayoutSpace::localShape(const ValueLayout &layout) const {
  SmallVector<int64_t> local;
  for (auto [dim, axes] : llvm::enumerate(layout.dims))
    local.push_back(partSize(dim, axes));
  return local;
}

int64_t LayoutSpace::localElements(const ValueLayout &layout) const {
  int64_t elements = 1;
  for (int64_t size : localShape(layout))
    elements *= size;
  return elements;
}

int64_t receivedElements(const LayoutSpace &space, const ValueLayout &before, const ReshardStep &step) {
  int64_t members = space.parts(step.axes), local = space.localElements(before);
  // What has to be padded before it is cut counts with its padding.
  bool cuts = step.kind == ReshardKind::ReduceScatter || step.kind == ReshardKind::AllToAll;
  if (cuts && space.partSize(step.dim, before.dims[step.dim]) > 0)
    local = local / space.partSize(step.dim, before.dims[step.dim]) *
            (space.partSize(step.dim, step.after.dims[step.dim]) * members);
  switch (step.kind) {
  case ReshardKind::Slice:
    return 0;
  case ReshardKind::ReduceScatter:
  case ReshardKind::AllToAll:
    return local / members * (members - 1);
  case ReshardKind::AllReduce:
    return llvm::divideCeil(2 * local * (members - 1), members);
  case ReshardKind::AllGather:
    return local * (members - 1);
  case ReshardKind::Permute:
    for (auto [member, target] : llvm::enumerate(step.targets))
      if (target != int64_t(member))
        return local;
    return 0;
  }
  return 0;
}

namespace {
/// Elements received, collectives, slices.
using Length = std::tuple<int64_t, int, int>;

/// A node that was reached, and the last step to it.
struct Reached {
  ValueLayout layout;
  Length length;
  int previous;
  ReshardStep step;
  bool done = false;
};

class Planner {
public:
  Planner(const LayoutSpace &space, const ValueLayout &from, const ValueLayout &to) : space(space), from(from), to(to) {
    findFixed();
  }

  std::vector<ReshardStep> run() {
    // All ways are looked at as long as there are few; else those first that bring more axes to their places.
    for (bool greedy : {false, true})
      if (int goal = search(greedy); goal >= 0)
        return pathTo(goal);
    llvm_unreachable("every sharding can be reached by way of whole dimensions");
  }

private:
  static constexpr size_t maxNodes = 20000;

  /// Finds how many axes of each dimension stay where they are: those that both ends begin with, if the parts of all
  /// lists between nest.
  void findFixed() {
    for (unsigned dim = 0; dim < from.dims.size(); ++dim) {
      const Axes &a = from.dims[dim], &b = to.dims[dim];
      size_t common = 0;
      while (common < a.size() && common < b.size() && a[common] == b[common])
        ++common;
      bool divides = space.shape[dim] % space.parts(a) == 0 && space.shape[dim] % space.parts(b) == 0;
      fixed.push_back(a == b || divides ? common : 0);
    }
    for (const ValueLayout *layout : {&from, &to}) {
      for (auto [axes, skip] : llvm::zip_equal(layout->dims, fixed))
        addMobile(ArrayRef<int>(axes).drop_front(skip));
      addMobile(layout->partial);
    }
    llvm::erase_if(mobile, [&](int axis) { return llvm::is_contained(to.partial, axis); });
    llvm::sort(mobile);
    for (const Axes &axes : to.dims)
      wanted.append(axes.begin(), axes.end());
  }

  void addMobile(ArrayRef<int> axes) {
    for (int axis : axes)
      if (!llvm::is_contained(mobile, axis))
        mobile.push_back(axis);
  }

  //===--------------------------------------------------------------------===//
  // Search
  //===--------------------------------------------------------------------===//

  static SmallVector<int> keyOf(const ValueLayout &layout) {
    SmallVector<int> key(layout.partial.begin(), layout.partial.end());
    for (const Axes &axes : layout.dims) {
      key.push_back(-1);
      key.append(axes.begin(), axes.end());
    }
    return key;
  }

  /// How many axes are not where they are to be.
  int misplaced(const ValueLayout &layout) const {
    int count = 0;
    for (auto [has, wants] : llvm::zip_equal(layout.dims, to.dims)) {
      size_t common = 0;
      while (common < has.size() && common < wants.size() && has[common] == wants[common])
        ++common;
      count += has.size() + wants.size() - 2 * common;
    }
    return count + layout.partial.size() - to.partial.size();
  }

  /// The number of the node `to`; -1 when there are too many on the way.
  int search(bool greedy) {
    nodes.clear();
    numbers.clear();
    queue = {};
    this->greedy = greedy;
    reach(from, Length(), -1, {});
    while (!queue.empty()) {
      int current = std::get<2>(queue.top());
      queue.pop();
      if (std::exchange(nodes[current].done, true))
        continue;
      if (nodes[current].layout == to)
        return current;
      if (!greedy && nodes.size() > maxNodes)
        return -1;
      expand(current);
    }
    return -1;
  }

  void reach(const ValueLayout &layout, Length length, int previous, ReshardStep step) {
    auto [it, isNew] = numbers.try_emplace(keyOf(layout), nodes.size());
    if (isNew)
      nodes.push_back({layout, length, previous, std::move(step)});
    else if (nodes[it->second].done || nodes[it->second].length <= length)
      return;
    else
      nodes[it->second] = {layout, length, previous, std::move(step)};
    queue.emplace(greedy ? misplaced(layout) : 0, length, it->second);
  }

  /// Continues from `current` by a step.
  void take(int current, ReshardStep step) {
    const Reached &node = nodes[current];
    auto [elements, collectives, slices] = node.length;
    elements += receivedElements(space, node.layout, step);
    (step.kind == ReshardKind::Slice ? slices : collectives) += 1;
    ValueLayout after = step.after;
    reach(after, {elements, collectives, slices}, current, std::move(step));
  }

  std::vector<ReshardStep> pathTo(int node) {
    std::vector<ReshardStep> steps;
    for (; nodes[node].previous >= 0; node = nodes[node].previous)
      steps.push_back(nodes[node].step);
    std::reverse(steps.begin(), steps.end());
    std::vector<ReshardStep> joined;
    for (ReshardStep &step : steps) {
      bool joins = !joined.empty() && step.kind == ReshardKind::Slice && joined.back().kind == ReshardKind::Slice &&
                   joined.back().dim == step.dim;
      if (!joins) {
        joined.push_back(std::move(step));
        continue;
      }
      joined.back().axes.append(step.axes);
      joined.back().after = std::move(step.after);
    }
    return joined;
  }

  //===--------------------------------------------------------------------===//
  // Steps
  //===--------------------------------------------------------------------===//

  void expand(int current) {
    const ValueLayout layout = nodes[current].layout; // `nodes` grows
    combine(current, layout);
    for (unsigned dim = 0; dim < layout.dims.size(); ++dim) {
      cut(current, layout, dim);
      uncut(current, layout, dim);
    }
    permute(current, layout);
  }

  bool isMobile(int axis) const { return llvm::is_contained(mobile, axis); }
  bool isWanted(int axis) const { return llvm::is_contained(wanted, axis); }
  /// True when parts by the first `prefix` axes of the list consist of whole parts by the list.
  bool nests(unsigned dim, ArrayRef<int> list, size_t prefix) const {
    return prefix == 0 || space.partSize(dim, list.take_front(prefix)) ==
                              space.parts(list.drop_front(prefix)) * space.partSize(dim, list);
  }

  bool replicates(const ValueLayout &layout, int axis) const {
    return !llvm::is_contained(layout.partial, axis) &&
           llvm::none_of(layout.dims, [&](const Axes &axes) { return llvm::is_contained(axes, axis); });
  }

  /// All-reduce along axes that are to be whole, or have to be.
  void combine(int current, const ValueLayout &layout) {
    Axes all, unwanted;
    for (int axis : layout.partial)
      if (isMobile(axis)) {
        all.push_back(axis);
        if (!isWanted(axis))
          unwanted.push_back(axis);
      }
    SmallVector<Axes> choices;
    for (int axis : all)
      choices.push_back({axis});
    choices.push_back(all);
    choices.push_back(unwanted);
    for (const Axes &axes : choices) {
      if (axes.empty())
        continue;
      ReshardStep step{ReshardKind::AllReduce, axes, -1, -1, {}, layout};
      llvm::erase_if(step.after.partial, [&](int axis) { return llvm::is_contained(axes, axis); });
      take(current, std::move(step));
    }
  }

  /// Slices, and reduce-scatters, which cut a dimension by axes that cut the target: by one, or by all that are
  /// missing there.
  void cut(int current, const ValueLayout &layout, unsigned dim) {
    SmallVector<Axes> choices;
    for (int axis : mobile)
      if (isWanted(axis))
        choices.push_back({axis});
    const Axes &has = layout.dims[dim], &wants = to.dims[dim];
    if (has.size() < wants.size() && ArrayRef<int>(wants).take_front(has.size()) == ArrayRef<int>(has))
      for (size_t end = has.size() + 2; end <= wants.size(); ++end)
        choices.push_back(Axes(wants.begin() + has.size(), wants.begin() + end));
    for (const Axes &axes : choices) {
      bool partial = llvm::all_of(axes, [&](int axis) { return llvm::is_contained(layout.partial, axis); });
      if (!partial && !llvm::all_of(axes, [&](int axis) { return replicates(layout, axis); }))
        continue;
      ReshardStep step{partial ? ReshardKind::ReduceScatter : ReshardKind::Slice, axes, int(dim), -1, {}, layout};
      step.after.dims[dim].append(axes);
      if (!nests(dim, step.after.dims[dim], has.size()))
        continue;
      llvm::erase_if(step.after.partial, [&](int axis) { return llvm::is_contained(axes, axis); });
      take(current, std::move(step));
    }
  }

  /// Gathers, and all-to-alls, which take the last axes away from a dimension.
  void uncut(int current, const ValueLayout &layout, unsigned dim) {
    const Axes &has = layout.dims[dim];
    for (size_t left = has.size(); left-- > fixed[dim];) {
      if (!nests(dim, has, left))
        continue;
      ReshardStep step{ReshardKind::AllGather, Axes(has.begin() + left, has.end()), int(dim), -1, {}, layout};
      step.after.dims[dim].truncate(left);
      for (unsigned split = 0; split < layout.dims.size(); ++split) {
        Axes list = layout.dims[split];
        list.append(step.axes);
        if (split == dim || !nests(split, list, layout.dims[split].size()))
          continue;
        ReshardStep move{ReshardKind::AllToAll, step.axes, int(split), int(dim), {}, step.after};
        move.after.dims[split] = list;
        take(current, std::move(move));
      }
      take(current, std::move(step));
    }
  }

  /// Permutes: to the target if parts have the same shape, to another order of the axes of a dimension, and with two
  /// axes of the same size exchanged.
  void permute(int current, const ValueLayout &layout) {
    SmallVector<ValueLayout> choices;
    if (layout.partial == to.partial)
      choices.push_back(to);
    for (unsigned dim = 0; dim < layout.dims.size(); ++dim) {
      Axes order = layout.dims[dim];
      auto begin = order.begin() + fixed[dim];
      if (order.end() - begin > 4)
        continue;
      std::sort(begin, order.end());
      do {
        choices.push_back(layout);
        choices.back().dims[dim] = order;
      } while (std::next_permutation(begin, order.end()));
    }
    for (auto [i, x] : llvm::enumerate(mobile))
      for (int y : ArrayRef<int>(mobile).drop_front(i + 1))
        if (space.mesh[x] == space.mesh[y] && !llvm::is_contained(layout.partial, x) &&
            !llvm::is_contained(layout.partial, y))
          choices.push_back(exchanged(layout, x, y));
    for (ValueLayout &after : choices) {
      bool sameParts = llvm::all_of(llvm::seq<size_t>(0, layout.dims.size()), [&](size_t dim) {
        return space.parts(after.dims[dim]) == space.parts(layout.dims[dim]);
      });
      if (sameParts && !(after == layout))
        take(current, permuteStep(layout, std::move(after)));
    }
  }

  static ValueLayout exchanged(ValueLayout layout, int x, int y) {
    for (Axes &axes : layout.dims)
      for (int &axis : axes)
        axis = axis == x ? y : axis == y ? x : axis;
    return layout;
  }

  /// Each device gets the part that it is to have from one that has it; those that have theirs keep it.
  ReshardStep permuteStep(const ValueLayout &before, ValueLayout after) {
    // The group: the axes of each dimension from where it differs on.
    SmallVector<size_t> begins;
    Axes axes;
    for (auto [a, b] : llvm::zip_equal(before.dims, std::as_const(after).dims)) {
      size_t begin = 0;
      while (begin < a.size() && begin < b.size() && a[begin] == b[begin])
        ++begin;
      begins.push_back(begin);
      for (const Axes *list : {&a, &b})
        for (int axis : ArrayRef<int>(*list).drop_front(std::min(begin, list->size())))
          if (!llvm::is_contained(axes, axis))
            axes.push_back(axis);
    }
    llvm::sort(axes);
    auto partOf = [&](int64_t member, const ValueLayout &layout) {
      llvm::SmallDenseMap<int, int64_t> position;
      for (int axis : llvm::reverse(axes)) {
        position[axis] = member % space.mesh[axis];
        member /= space.mesh[axis];
      }
      SmallVector<int64_t> part;
      for (auto [list, begin] : llvm::zip_equal(layout.dims, begins)) {
        part.push_back(0);
        for (int axis : ArrayRef<int>(list).drop_front(std::min(begin, list.size())))
          part.back() = part.back() * space.mesh[axis] + position[axis];
      }
      return part;
    };
    int64_t members = space.parts(axes);
    ReshardStep step{ReshardKind::Permute, axes, -1, -1, SmallVector<int64_t>(members, -1), std::move(after)};
    std::map<SmallVector<int64_t>, SmallVector<int64_t>> holders;
    for (int64_t member = members; member-- > 0;) {
      SmallVector<int64_t> part = partOf(member, before);
      if (part == partOf(member, step.after))
        step.targets[member] = member;
      else
        holders[part].push_back(member);
    }
    for (int64_t member = 0; member < members; ++member)
      if (step.targets[member] != member)
        step.targets[holders[partOf(member, step.after)].pop_back_val()] = member;
    return step;
  }

  const LayoutSpace &space;
  const ValueLayout &from, &to;
  SmallVector<size_t> fixed; // per dimension, how many axes stay
  Axes mobile, wanted;       // axes that may move; axes that cut the target
  bool greedy = false;
  std::vector<Reached> nodes;
  std::map<SmallVector<int>, int> numbers;
  std::priority_queue<std::tuple<int, Length, int>, std::vector<std::tuple<int, Length, int>>, std::greater<>> queue;
};
} // namespace

std::vector<ReshardStep> planReshard(const LayoutSpace &space, const ValueLayout &from, const ValueLayout &to) {
  if (from == to)
    return {};
  return Planner(space, from, to).run();
}

} // namespace dgc
