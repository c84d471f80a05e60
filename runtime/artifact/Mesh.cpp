// Mesh positions and slices.
#include "runtime/artifact/Mesh.h"

#include "runtime/base/Shape.h"

#include <algorithm>
#include <cstring>

using namespace dgc;
using namespace dgc::rt;

std::vector<uint32_t> dgc::rt::meshPosition(const artifact::Plan &plan, uint32_t rank) {
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

std::vector<uint32_t> dgc::rt::meshGroup(const artifact::Plan &plan, const flatbuffers::Vector<uint32_t> *axes,
                                         uint32_t rank) {
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

bool Slice::covers(const std::vector<int64_t> &globalShape) const { return sizes == globalShape; }

Slice dgc::rt::localSlice(const artifact::Plan &plan, const flatbuffers::Vector<int64_t> *globalShape,
                          const artifact::Sharding *sharding, uint32_t rank) {
  Slice slice;
  slice.sizes = toVector(globalShape);
  slice.offsets.assign(slice.sizes.size(), 0);
  if (!sharding || !sharding->dims())
    return slice;
  std::vector<uint32_t> position = meshPosition(plan, rank);
  std::vector<int64_t> extents = slice.sizes;
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
    const int64_t global = slice.sizes[d], extent = (global + blocks - 1) / blocks;
    slice.offsets[d] = std::min(block * extent, global);
    slice.sizes[d] = std::min(extent, global - slice.offsets[d]);
    extents[d] = extent;
  }
  if (extents != slice.sizes)
    slice.block = std::move(extents);
  return slice;
}

Slice dgc::rt::localSlice(const artifact::Plan &plan, const artifact::Variable &variable, uint32_t rank) {
  if (!variable.row_count())
    return localSlice(plan, variable.global_shape(), variable.sharding(), rank);
  Slice block = localSlice(plan, variable.global_shape(), nullptr, rank);
  block.offsets[0] = static_cast<int64_t>(variable.first_row());
  block.sizes[0] = static_cast<int64_t>(variable.row_count());
  return block;
}

bool dgc::rt::isSplit(const artifact::Plan &plan, const artifact::Variable &variable) {
  return variable.row_count() || isSplit(plan, variable.sharding());
}

bool dgc::rt::isSplit(const artifact::Plan &plan, const artifact::Sharding *sharding) {
  for (uint32_t d = 0; sharding && sharding->dims() && d < sharding->dims()->size(); ++d)
    if (const auto *axes = sharding->dims()->Get(d)->axes())
      for (uint32_t axis : *axes)
        if (plan.mesh()->Get(axis)->size() > 1)
          return true;
  return false;
}

void dgc::rt::copySliceOut(const std::byte *global, const std::vector<int64_t> &globalShape, const Slice &slice,
                           size_t elementBytes, std::byte *local) {
  for (const BlockPiece &piece : blockPieces(globalShape, slice.offsets, slice.sizes, slice.extents()))
    std::memcpy(local + piece.to * elementBytes, global + piece.from * elementBytes, piece.count * elementBytes);
}

void dgc::rt::copySliceIn(const std::byte *local, const std::vector<int64_t> &globalShape, const Slice &slice,
                          size_t elementBytes, std::byte *global) {
  for (const BlockPiece &piece : blockPieces(globalShape, slice.offsets, slice.sizes, slice.extents()))
    std::memcpy(global + piece.from * elementBytes, local + piece.to * elementBytes, piece.count * elementBytes);
}

/// Where the elements of a block begin in its own memory: at 0, before all padding.
static Slice withinBlock(const Slice &slice) { return {std::vector<int64_t>(slice.sizes.size(), 0), slice.sizes, {}}; }

std::vector<std::byte> dgc::rt::packed(const std::byte *local, const Slice &slice, size_t elementBytes) {
  std::vector<std::byte> bytes(static_cast<size_t>(slice.numElements()) * elementBytes);
  copySliceOut(local, slice.extents(), withinBlock(slice), elementBytes, bytes.data());
  return bytes;
}

void dgc::rt::unpack(const std::byte *from, const Slice &slice, size_t elementBytes, std::byte *local) {
  copySliceIn(from, slice.extents(), withinBlock(slice), elementBytes, local);
}
