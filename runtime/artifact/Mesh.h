// Where a worker stands in the mesh, and which part of a tensor it holds.
//
// The rank is the mesh position in row-major order: the last axis varies
// fastest. A dimension that is split by axes (a, b) is cut into size(a) *
// size(b) equal blocks, and the worker at (i, j) holds block i * size(b) + j.
// Blocks have ceil(n / parts) elements of a dimension of n; where the parts are
// not equal, the last blocks have fewer elements, or none, and the rest of their
// memory is padding.
#pragma once

#include "runtime/artifact/Enums.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// The position of `rank` on each axis of plan.mesh().
std::vector<uint32_t> meshPosition(const artifact::Plan &plan, uint32_t rank);

/// The position of `rank` along the axes that `names` lists, separated by commas, the first being the major one; -1
/// when one of them is no axis of the mesh.
int64_t positionAlong(const artifact::Plan &plan, std::string_view names, uint32_t rank);

/// The ranks of the group that `axes` span around `rank`, in member order: the
/// first of `axes` varies slowest. No axes: `rank` alone.
std::vector<uint32_t> meshGroup(const artifact::Plan &plan, const flatbuffers::Vector<uint32_t> *axes, uint32_t rank);

/// A box of a global tensor: per dimension the first index and the extent.
struct Slice {
  std::vector<int64_t> offsets, sizes;
  /// The extents of the memory that holds it, row-major, when some of it is
  /// padding; empty: `sizes`.
  std::vector<int64_t> block = {};
  bool operator==(const Slice &) const = default;

  const std::vector<int64_t> &extents() const { return block.empty() ? sizes : block; }

  /// How many elements it has.
  int64_t numElements() const;
  /// Whether it is the whole of a tensor of this shape.
  bool covers(const std::vector<int64_t> &globalShape) const;
};

/// The part that `rank` holds. `sharding` may be null: the whole.
Slice localSlice(const artifact::Plan &plan, const flatbuffers::Vector<int64_t> *globalShape,
                 const artifact::Sharding *sharding, uint32_t rank);

/// The part of a variable that `rank`, which holds it, has; of a block the block.
Slice localSlice(const artifact::Plan &plan, const artifact::Variable &variable, uint32_t rank);

/// Whether a tensor of this sharding, which may be null, is cut into several
/// parts.
bool isSplit(const artifact::Plan &plan, const artifact::Sharding *sharding);
bool isSplit(const artifact::Plan &plan, const artifact::Variable &variable);

/// Copies the box `slice` of a row-major tensor of `globalShape` between the
/// global and the local memory, which has slice.extents(). Padding is neither
/// read nor written.
void copySliceOut(const std::byte *global, const std::vector<int64_t> &globalShape, const Slice &slice,
                  size_t elementBytes, std::byte *local);
void copySliceIn(const std::byte *local, const std::vector<int64_t> &globalShape, const Slice &slice,
                 size_t elementBytes, std::byte *global);

/// The elements of `slice` without padding, from the local memory; and back.
std::vector<std::byte> packed(const std::byte *local, const Slice &slice, size_t elementBytes);
void unpack(const std::byte *from, const Slice &slice, size_t elementBytes, std::byte *local);

/// A FlatBuffers vector that may be absent, as a std::vector.
template <typename T> std::vector<T> toVector(const flatbuffers::Vector<T> *v) {
  return v ? std::vector<T>(v->begin(), v->end()) : std::vector<T>();
}

} // namespace dgc::rt
