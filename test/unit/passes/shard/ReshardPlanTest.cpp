// Plans of reshards, for all pairs of shardings of small meshes: what they give, by simulation, and how much is sent.
#include "SimulatedDevices.h"

#include <map>
#include <set>

using namespace dgc;

namespace {

std::string text(const ValueLayout &layout) {
  std::string result = "[";
  for (const Axes &axes : layout.dims) {
    result += "{";
    for (int axis : axes)
      result += char('a' + axis);
    result += "}";
  }
  result += "]";
  for (int axis : layout.partial)
    result += std::string(" partial ") + char('a' + axis);
  return result;
}

std::string text(const ReshardStep &step) {
  const char *names[] = {"slice", "reduce-scatter", "all-reduce", "all-to-all", "permute", "all-gather"};
  std::string result = std::string(names[int(step.kind)]) + " ";
  for (int axis : step.axes)
    result += char('a' + axis);
  return result + " -> " + text(step.after);
}

/// All layouts of a tensor over a mesh.
std::vector<ValueLayout> allLayouts(const Shape &mesh, size_t rank, bool partial) {
  std::vector<ValueLayout> layouts(1);
  layouts[0].dims.resize(rank);
  for (int axis = 0; axis < int(mesh.size()); ++axis) {
    std::vector<ValueLayout> next;
    for (const ValueLayout &layout : layouts) {
      next.push_back(layout);
      if (partial) {
        next.push_back(layout);
        next.back().partial.push_back(axis);
      }
      for (size_t dim = 0; dim < rank; ++dim)
        for (size_t place = 0; place <= layout.dims[dim].size(); ++place) {
          next.push_back(layout);
          next.back().dims[dim].insert(next.back().dims[dim].begin() + place, axis);
        }
    }
    layouts = std::move(next);
  }
  return layouts;
}

/// Whether a value that is partial along the axes of `from` may be partial along those of `to`.
bool mayBecome(const ValueLayout &from, const ValueLayout &to) {
  return llvm::all_of(to.partial, [&](int axis) { return llvm::is_contained(from.partial, axis); });
}

/// The elements that devices must receive: the most that one must, and all together. A device must receive what it
/// needs and does not hold. An element with addends on several devices takes, whoever combines it, a transfer less than
/// there are addends to combine it at one that has an addend, and one to each other that needs it; axes along which
/// both ends replicate are left out, as they do the same several times.
struct Bound {
  int64_t most = 0, total = 0;
  std::vector<int64_t> each; // what a device needs and does not hold, and no less than its share of the total
};

Bound lowerBound(const Shape &mesh, const Shape &shape, const ValueLayout &from, const ValueLayout &to) {
  Devices devices(mesh, shape, from);
  Bound bound;
  Axes replicated;
  for (int axis = 0; axis < int(mesh.size()); ++axis) {
    auto has = [&](const Axes &axes) { return llvm::is_contained(axes, axis); };
    if (llvm::none_of(from.dims, has) && llvm::none_of(to.dims, has) && !has(from.partial))
      replicated.push_back(axis);
  }
  // Per copy and element the devices that hold each addend, and those that need it.
  std::map<std::pair<int64_t, int64_t>, std::map<uint64_t, std::set<int64_t>>> holders;
  std::map<std::pair<int64_t, int64_t>, std::set<int64_t>> needers;
  for (int64_t device = 0; device < int64_t(devices.parts.size()); ++device) {
    int64_t copy = devices.positionOf(device, replicated);
    uint64_t stays = uint64_t(devices.positionOf(device, to.partial)) << 32; // addends that are not combined
    std::set<int64_t> held;
    for (const Item &item : devices.parts[device].items)
      if (item.element >= 0) {
        holders[{copy, item.element | int64_t(stays)}][item.addends].insert(device);
        held.insert(item.element);
      }
    int64_t missing = 0;
    for (const Item &item : devices.partOf(device, to).items)
      if (item.element >= 0) {
        needers[{copy, item.element | int64_t(stays)}].insert(device);
        missing += !held.contains(item.element);
      }
    bound.most = std::max(bound.most, missing);
    bound.each.push_back(missing);
  }
  for (const auto &[element, need] : needers) {
    const auto &addends = holders[element];
    int64_t have = 0;
    for (int64_t device : need)
      for (const auto &[addend, devices] : addends)
        have += devices.count(device);
    bound.total += addends.size() == 1 ? need.size() - have : addends.size() - 1 + (have ? 0 : 1) + need.size() - 1;
  }
  int64_t average = (bound.total + devices.parts.size() - 1) / devices.parts.size();
  bound.most = std::max(bound.most, average);
  for (int64_t &each : bound.each)
    each = std::max(each, average);
  return bound;
}

/// Everything that slices make of a layout.
std::vector<ValueLayout> slicesOf(const Shape &mesh, const ValueLayout &layout) {
  std::vector<ValueLayout> all = {layout};
  for (size_t i = 0; i < all.size(); ++i)
    for (int axis = 0; axis < int(mesh.size()); ++axis) {
      auto has = [&](const Axes &axes) { return llvm::is_contained(axes, axis); };
      if (llvm::any_of(all[i].dims, has) || has(all[i].partial))
        continue;
      for (size_t dim = 0; dim < layout.dims.size(); ++dim) {
        all.push_back(all[i]);
        all.back().dims[dim].push_back(axis);
      }
    }
  return all;
}

/// The fewest elements that one collective, with slices before and behind it, takes; -1 when none can do it. For sizes
/// that divide.
int64_t oneCollective(const Shape &mesh, const Shape &shape, const ValueLayout &from, const ValueLayout &to) {
  LayoutSpace space{mesh, shape};
  int64_t best = -1;
  auto found = [&](int64_t elements) { best = best < 0 ? elements : std::min(best, elements); };
  for (const ValueLayout &before : slicesOf(mesh, from)) {
    auto leads = [&](const ValueLayout &after) { return llvm::is_contained(slicesOf(mesh, after), to); };
    int64_t local = space.localElements(before);
    if (before == to)
      found(0);
    bool sameParts = before.partial == to.partial;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      sameParts &= space.parts(before.dims[dim]) == space.parts(to.dims[dim]);
    if (sameParts)
      found(local);
    for (size_t dim = 0; dim < shape.size(); ++dim)
      for (size_t left = 0; left < before.dims[dim].size(); ++left) {
        Axes moved(before.dims[dim].begin() + left, before.dims[dim].end());
        ValueLayout after = before;
        after.dims[dim].truncate(left);
        if (leads(after))
          found(local * (space.parts(moved) - 1));
        for (size_t split = 0; split < shape.size(); ++split) {
          ValueLayout exchanged = after;
          exchanged.dims[split].append(moved);
          if (split != dim && leads(exchanged))
            found(local / space.parts(moved) * (space.parts(moved) - 1));
        }
      }
    // Reductions along some of the partial axes, in every order.
    for (size_t subset = 1; subset < size_t(1) << before.partial.size(); ++subset) {
      Axes axes;
      ValueLayout after = before;
      after.partial.clear();
      for (size_t i = 0; i < before.partial.size(); ++i)
        (subset >> i & 1 ? axes : after.partial).push_back(before.partial[i]);
      int64_t members = space.parts(axes);
      if (leads(after))
        found((2 * local * (members - 1) + members - 1) / members);
      do
        for (size_t dim = 0; dim < shape.size(); ++dim) {
          ValueLayout scattered = after;
          scattered.dims[dim].append(axes);
          if (leads(scattered))
            found(local / members * (members - 1));
        }
      while (std::next_permutation(axes.begin(), axes.end()));
    }
  }
  return best;
}

/// Runs the plan and compares each part, and returns what each device received.
std::vector<int64_t> runPlan(const Shape &mesh, const Shape &shape, const ValueLayout &from, const ValueLayout &to) {
  Devices devices(mesh, shape, from);
  for (const ReshardStep &step : planReshard({mesh, shape}, from, to)) {
    SCOPED_TRACE(text(step));
    devices.run(step);
  }
  for (int64_t device = 0; device < int64_t(devices.parts.size()); ++device) {
    const Part &part = devices.parts[device];
    Part expected = devices.partOf(device, to);
    EXPECT_EQ(part.shape, expected.shape);
    if (part.shape != expected.shape)
      return {};
    // Along the axes that were combined a device has all addends of those that agree with it in the others.
    uint64_t addends = 0;
    for (int64_t other = 0; other < int64_t(devices.parts.size()); ++other)
      if (devices.positionOf(other, to.partial) == devices.positionOf(device, to.partial))
        addends |= uint64_t(1) << devices.positionOf(other, from.partial);
    for (size_t i = 0; i < part.items.size(); ++i)
      if (expected.items[i].element >= 0 &&
          (part.items[i].element != expected.items[i].element || part.items[i].addends != addends)) {
        ADD_FAILURE() << "device " << device << " has another element at " << i;
        return {};
      }
  }
  return devices.received;
}

/// Checks that no device receives more than `factor` times what it must or, where it holds some of that, what it needs:
/// its block of the result, with padding, as blocks are exchanged whole.
void expectEachNearBound(const Shape &mesh, const Shape &shape, const ValueLayout &from, const ValueLayout &to,
                         const std::vector<int64_t> &received, int64_t factor = 2) {
  Bound bound = lowerBound(mesh, shape, from, to);
  // Padded to what the cuts of both ends make of it.
  LayoutSpace space{mesh, shape};
  Shape padded = shape;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    for (const ValueLayout *end : {&from, &to})
      padded[dim] = std::max(padded[dim], space.partSize(dim, end->dims[dim]) * space.parts(end->dims[dim]));
  int64_t block = LayoutSpace{mesh, padded}.localElements(to);
  for (size_t device = 0; device < received.size(); ++device)
    EXPECT_LE(received[device], factor * std::max(bound.each[device], block)) << "device " << device;
}

class ReshardPlan : public ::testing::TestWithParam<Shape> {
protected:
  template <typename F> void forAllPairs(size_t rank, F f) {
    for (const ValueLayout &from : allLayouts(GetParam(), rank, /*partial=*/true))
      for (const ValueLayout &to : allLayouts(GetParam(), rank, /*partial=*/true))
        if (mayBecome(from, to)) {
          SCOPED_TRACE(text(from) + " to " + text(to));
          f(from, to);
        }
  }
};

// Sizes that divide: the elements that the busiest device receives are as few as with the best single collective
// where one suffices, and at most twice the bound otherwise; and no device receives much more than it needs.
TEST_P(ReshardPlan, MovesLittleWhereSizesDivide) {
  for (size_t rank = 1; rank <= 3; ++rank) {
    int64_t devices = volume(GetParam());
    Shape shape = Shape{devices, 2 * devices, devices};
    shape.resize(rank);
    forAllPairs(rank, [&](const ValueLayout &from, const ValueLayout &to) {
      std::vector<int64_t> each = runPlan(GetParam(), shape, from, to);
      ASSERT_FALSE(each.empty());
      int64_t received = *std::max_element(each.begin(), each.end());
      Bound bound = lowerBound(GetParam(), shape, from, to);
      EXPECT_LE(received, 2 * bound.most);
      expectEachNearBound(GetParam(), shape, from, to, each);
      int64_t one = oneCollective(GetParam(), shape, from, to);
      if (one >= 0) {
        EXPECT_LE(received, one);
      }
    });
  }
}

// Sizes that do not divide, down to parts that are empty.
TEST_P(ReshardPlan, IsRightForAllSizes) {
  for (size_t rank = 1; rank <= 3; ++rank)
    for (Shape shape : {Shape{5, 7, 2}, Shape{1, 3, 4}}) {
      shape.resize(rank);
      forAllPairs(rank, [&](const ValueLayout &from, const ValueLayout &to) {
        std::vector<int64_t> each = runPlan(GetParam(), shape, from, to);
        ASSERT_FALSE(each.empty());
      });
    }
}

// Sizes that do not divide, of more than a few elements: what padding there is does not count for much. Where two axes
// cut a dimension, blocks of both are no parts of the blocks of one, so that a sum or a block goes whole.
TEST_P(ReshardPlan, MovesLittleWhereSizesDoNotDivide) {
  for (const Shape &shape : {Shape{37}, Shape{13, 19}, Shape{9, 7, 11}})
    forAllPairs(shape.size(), [&](const ValueLayout &from, const ValueLayout &to) {
      std::vector<int64_t> each = runPlan(GetParam(), shape, from, to);
      ASSERT_FALSE(each.empty());
      bool nested = false;
      for (size_t dim = 0; dim < shape.size(); ++dim)
        nested |= from.dims[dim].size() > 1 || to.dims[dim].size() > 1;
      expectEachNearBound(GetParam(), shape, from, to, each, nested ? 6 : 3);
    });
}

INSTANTIATE_TEST_SUITE_P(Meshes, ReshardPlan,
                         ::testing::Values(Shape{4}, Shape{2, 2}, Shape{2, 3}, Shape{3, 2}, Shape{4, 2}),
                         [](const ::testing::TestParamInfo<Shape> &info) {
                           std::string name;
                           for (int64_t size : info.param)
                             name += (name.empty() ? "" : "x") + std::to_string(size);
                           return name;
                         });

// Axes in which the ends agree stay where they are.
TEST(ReshardPlanTest, MovesOnlyTheDifference) {
  Shape mesh = {2, 3, 4, 5, 2}, shape = {240, 240};
  ValueLayout from{{{0, 1}, {2, 3}}, {}}, to{{{0, 1}, {2}}, {}};
  auto steps = planReshard({mesh, shape}, from, to);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].kind, ReshardKind::AllGather);
  EXPECT_EQ(steps[0].axes, Axes{3});
}

// With many axes the plan is found all the same.
TEST(ReshardPlanTest, ManyAxes) {
  Shape mesh = {2, 3, 2, 2, 3, 2}, shape = {144, 144, 144};
  ValueLayout from{{{0, 1, 2}, {3, 4}, {5}}, {}}, to{{{5, 4}, {2, 0, 1}, {3}}, {}};
  auto steps = planReshard({mesh, shape}, from, to);
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.back().after, to);
}

} // namespace
