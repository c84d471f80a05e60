// Devices that do reshard steps: what each holds, element by element.

#ifndef DGC_TEST_UNIT_PASSES_SHARD_SIMULATEDDEVICES_H
#define DGC_TEST_UNIT_PASSES_SHARD_SIMULATEDDEVICES_H

#include "passes/analysis/ReshardPlan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace dgc {

using Shape = std::vector<int64_t>;

/// An element of the whole value, and which addends of it have been combined. Element -1 is padding.
struct Item {
  int64_t element = -1;
  uint64_t addends = 0;
};

/// What one device holds.
struct Part {
  Shape shape;
  std::vector<Item> items;
};

inline int64_t volume(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

/// Calls `f` with each index of a shape, in order.
template <typename F> void forEachIndex(const Shape &shape, F f) {
  Shape index(shape.size(), 0);
  for (int64_t i = 0, n = volume(shape); i < n; ++i) {
    f(index);
    for (size_t dim = shape.size(); dim-- > 0;) {
      if (++index[dim] < shape[dim])
        break;
      index[dim] = 0;
    }
  }
}

inline int64_t linear(const Shape &shape, const Shape &index) {
  int64_t result = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    result = result * shape[dim] + index[dim];
  return result;
}

/// The range of a dimension of `part` from `begin` on, padded to `size`.
inline Part range(const Part &part, int dim, int64_t begin, int64_t size) {
  Part result;
  result.shape = part.shape;
  result.shape[dim] = size;
  forEachIndex(result.shape, [&](Shape index) {
    index[dim] += begin;
    result.items.push_back(index[dim] < part.shape[dim] ? part.items[linear(part.shape, index)] : Item());
  });
  return result;
}

inline Part concatenate(const std::vector<Part> &parts, int dim) {
  Part result;
  result.shape = parts[0].shape;
  result.shape[dim] *= parts.size();
  forEachIndex(result.shape, [&](Shape index) {
    const Part &part = parts[index[dim] / parts[0].shape[dim]];
    index[dim] %= parts[0].shape[dim];
    result.items.push_back(part.items[linear(part.shape, index)]);
  });
  return result;
}

/// All devices of a mesh, in row-major order of their positions.
class Devices {
public:
  Devices(const Shape &mesh, const Shape &shape, const ValueLayout &from)
      : mesh(mesh), shape(shape), space{mesh, shape}, layout(from) {
    for (int64_t device = 0; device < volume(mesh); ++device)
      parts.push_back(partOf(device, from));
    received.assign(parts.size(), 0);
  }

  /// The position of a device among those that differ from it only along `axes`.
  int64_t positionOf(int64_t device, llvm::ArrayRef<int> axes) const {
    Shape position(mesh.size());
    for (size_t axis = mesh.size(); axis-- > 0;) {
      position[axis] = device % mesh[axis];
      device /= mesh[axis];
    }
    int64_t result = 0;
    for (int axis : axes)
      result = result * mesh[axis] + position[axis];
    return result;
  }

  /// The devices that differ from `device` only along `axes`, in the order of their positions along these.
  std::vector<int64_t> groupOf(int64_t device, llvm::ArrayRef<int> axes) const {
    Axes others;
    for (int axis = 0; axis < int(mesh.size()); ++axis)
      if (!llvm::is_contained(axes, axis))
        others.push_back(axis);
    std::vector<int64_t> group;
    for (int64_t other = 0; other < int64_t(parts.size()); ++other)
      if (positionOf(other, others) == positionOf(device, others))
        group.push_back(other);
    std::sort(group.begin(), group.end(),
              [&](int64_t a, int64_t b) { return positionOf(a, axes) < positionOf(b, axes); });
    return group;
  }

  /// What a device holds of a value with that layout, by the definition of a sharding.
  Part partOf(int64_t device, const ValueLayout &layout) const {
    Part part;
    llvm::SmallVector<int64_t> local = space.localShape(layout);
    part.shape.assign(local.begin(), local.end());
    forEachIndex(part.shape, [&](Shape index) {
      bool inside = true;
      for (size_t dim = 0; dim < index.size(); ++dim) {
        index[dim] += positionOf(device, layout.dims[dim]) * part.shape[dim];
        inside &= index[dim] < shape[dim];
      }
      uint64_t addend = uint64_t(1) << positionOf(device, layout.partial);
      part.items.push_back(inside ? Item{linear(shape, index), addend} : Item());
    });
    return part;
  }

  void run(const ReshardStep &step) {
    std::vector<Part> next;
    int64_t members = space.parts(step.axes);
    int64_t cut = step.dim >= 0 ? space.partSize(step.dim, step.after.dims[step.dim]) : 0;
    for (int64_t device = 0; device < int64_t(parts.size()); ++device) {
      std::vector<int64_t> group = groupOf(device, step.axes);
      int64_t self = positionOf(device, step.axes);
      received[device] += receivedElements(space, layout, step);
      switch (step.kind) {
      case ReshardKind::Slice:
        next.push_back(range(parts[device], step.dim, self * cut, cut));
        break;
      case ReshardKind::ReduceScatter:
        next.push_back(range(combined(group), step.dim, self * cut, cut));
        break;
      case ReshardKind::AllReduce:
        next.push_back(combined(group));
        break;
      case ReshardKind::AllToAll: {
        std::vector<Part> pieces;
        for (int64_t member : group)
          pieces.push_back(range(parts[member], step.dim, self * cut, cut));
        Part whole = concatenate(pieces, step.concat);
        next.push_back(range(whole, step.concat, 0, space.partSize(step.concat, step.after.dims[step.concat])));
        break;
      }
      case ReshardKind::Permute: {
        ASSERT_EQ(int64_t(step.targets.size()), members);
        auto source = std::find(step.targets.begin(), step.targets.end(), self) - step.targets.begin();
        ASSERT_LT(source, members);
        if (source == self)
          received[device] -= receivedElements(space, layout, step);
        next.push_back(parts[group[source]]);
        break;
      }
      case ReshardKind::AllGather: {
        std::vector<Part> pieces;
        for (int64_t member : group)
          pieces.push_back(parts[member]);
        next.push_back(range(concatenate(pieces, step.dim), step.dim, 0, cut));
        break;
      }
      }
    }
    parts = std::move(next);
    layout = step.after;
  }

  std::vector<Part> parts;
  std::vector<int64_t> received;

private:
  Part combined(const std::vector<int64_t> &group) const {
    Part result = parts[group[0]];
    for (size_t member = 1; member < group.size(); ++member)
      for (size_t i = 0; i < result.items.size(); ++i) {
        const Item &item = parts[group[member]].items[i];
        EXPECT_EQ(item.element, result.items[i].element);
        EXPECT_FALSE(item.addends & result.items[i].addends) << "an addend counts twice";
        result.items[i].addends |= item.addends;
      }
    return result;
  }

  const Shape &mesh, &shape;
  LayoutSpace space;
  ValueLayout layout;
};

} // namespace dgc

#endif // DGC_TEST_UNIT_PASSES_SHARD_SIMULATEDDEVICES_H
