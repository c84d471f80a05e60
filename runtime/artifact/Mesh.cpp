// Mesh positions and slices.
#include "runtime/artifact/Mesh.h"

#include <algorithm>
#include <cstring>

using namespace dgc;
using namespace dgc::rt;

static_assert(static_cast<int>(artifact::DType::MAX) + 1 == numDTypes &&
              static_cast<int>(artifact::DType::BF16) ==
                  static_cast<int>(DType::BF16));

std::vector<uint32_t> dgc::rt::meshPosition(const artifact::Plan &plan,
                                            uint32_t rank) {
  const size_t axes = plan.mesh() ? plan.mesh()->size() : 0;
  std::vector<uint32_t> position(axes);
  for (size_t i = axes; i-- > 0;) {
    uint32_t size = plan.mesh()->Get(i)->size();
    position[i] = rank % size;
    rank /= size;
  }
  return position;
}

int64_t dgc::rt::positionAlong(const artifact::Plan &plan, std::string_view names, uint32_t rank) {
  std::vector<uint32_t> position = meshPosition(plan, rank);
  int64_t index = 0;
  while (!names.empty()) {
    std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    size_t axis = 0;
    while (axis < position.size() && plan.mesh()->Get(axis)->name()->string_view() != name)
      ++axis;
    if (axis == position.size())
      return -1;
    index = index * plan.mesh()->Get(axis)->size() + position[axis];
  }
  return index;
}

std::vector<uint32_t>
dgc::rt::meshGroup(const artifact::Plan &plan,
                   const flatbuffers::Vector<uint32_t> *axes, uint32_t rank) {
  std::vector<uint32_t> position = meshPosition(plan, rank);
  std::vector<uint32_t> group{rank};
  if (!axes)
    return group;
  // The rank distance between neighbours on each axis.
  std::vector<uint32_t> stride(position.size(), 1);
  for (size_t i = position.size(); i-- > 1;)
    stride[i - 1] = stride[i] * plan.mesh()->Get(i)->size();
  for (uint32_t axis : *axes) {
    std::vector<uint32_t> wider;
    for (uint32_t member : group)
      for (uint32_t i = 0; i < plan.mesh()->Get(axis)->size(); ++i)
        wider.push_back(member + (i - position[axis]) * stride[axis]);
    group = std::move(wider);
  }
  return group;
}

int64_t Slice::numElements() const {
  int64_t n = 1;
  for (int64_t size : sizes)
    n *= size;
  return n;
}

bool Slice::covers(const std::vector<int64_t> &globalShape) const {
  return sizes == globalShape;
}

Slice dgc::rt::localSlice(const artifact::Plan &plan,
                          const flatbuffers::Vector<int64_t> *globalShape,
                          const artifact::Sharding *sharding, uint32_t rank) {
  Slice slice;
  slice.sizes = toVector(globalShape);
  slice.offsets.assign(slice.sizes.size(), 0);
  if (!sharding || !sharding->dims())
    return slice;
  std::vector<uint32_t> position = meshPosition(plan, rank);
  for (size_t d = 0; d < slice.sizes.size(); ++d) {
    const auto *axes = sharding->dims()->Get(d)->axes();
    if (!axes)
      continue;
    int64_t blocks = 1, block = 0;
    for (uint32_t axis : *axes) {
      uint32_t size = plan.mesh()->Get(axis)->size();
      blocks *= size;
      block = block * size + position[axis];
    }
    slice.sizes[d] /= blocks;
    slice.offsets[d] = block * slice.sizes[d];
  }
  return slice;
}

/// Calls f(global byte offset, local byte offset, bytes) for every contiguous
/// run of the slice.
template <typename F>
static void forEachRun(const std::vector<int64_t> &shape, const Slice &slice,
                       size_t elementBytes, F f) {
  if (slice.numElements() == 0)
    return;
  // Dimensions from `inner` on are whole; with the one before it they form
  // runs.
  size_t rank = shape.size(), inner = rank;
  size_t run = elementBytes, stride = elementBytes;
  while (inner > 0 && slice.sizes[inner - 1] == shape[inner - 1])
    run *= static_cast<size_t>(shape[--inner]);
  stride = run;
  if (inner > 0)
    run *= static_cast<size_t>(slice.sizes[--inner]);
  std::vector<size_t> strides(inner + 1, stride);
  for (size_t d = inner; d-- > 0;)
    strides[d] = strides[d + 1] * static_cast<size_t>(shape[d + 1]);
  std::vector<int64_t> index(inner, 0);
  for (size_t local = 0;; local += run) {
    size_t global = 0;
    if (inner < rank)
      global = static_cast<size_t>(slice.offsets[inner]) * strides[inner];
    for (size_t d = 0; d < inner; ++d)
      global += static_cast<size_t>(slice.offsets[d] + index[d]) * strides[d];
    f(global, local, run);
    size_t d = inner;
    while (d > 0 && ++index[d - 1] == slice.sizes[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

void dgc::rt::copySliceOut(const std::byte *global,
                           const std::vector<int64_t> &globalShape,
                           const Slice &slice, size_t elementBytes,
                           std::byte *local) {
  forEachRun(globalShape, slice, elementBytes,
             [&](size_t g, size_t l, size_t n) {
               std::memcpy(local + l, global + g, n);
             });
}

void dgc::rt::copySliceIn(const std::byte *local,
                          const std::vector<int64_t> &globalShape,
                          const Slice &slice, size_t elementBytes,
                          std::byte *global) {
  forEachRun(globalShape, slice, elementBytes,
             [&](size_t g, size_t l, size_t n) {
               std::memcpy(global + g, local + l, n);
             });
}
