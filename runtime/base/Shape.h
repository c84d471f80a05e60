// Shapes: their size in bytes, their description, and blocks cut out of them.
#pragma once

#include "runtime/base/DType.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dgc::rt {

/// "f32 [128x28x28]"; a scalar is "f32 []".
std::string describe(DType dtype, std::span<const int64_t> shape);

/// Bytes of a dense array; nothing where a dimension is negative or the product
/// of the dimensions that are not zero does not fit in 63 bits.
std::optional<uint64_t> byteSize(DType dtype, std::span<const int64_t> shape);

/// Elements that are contiguous both in an array and in a dense block of it.
struct BlockPiece {
  size_t from, to, count; // elements: in the array, in the block, how many
  bool operator==(const BlockPiece &) const = default;
};

/// Whether the block of `size` elements per dimension that begins at `start`
/// is inside `shape`. All three need the same rank.
bool isBlockInside(std::span<const int64_t> shape, std::span<const int64_t> start, std::span<const int64_t> size);

/// The block as few pieces, in the order of the block. It must be inside.
/// `extents`, at least `size`, are those of the memory that holds the block,
/// where some of that is padding; empty: `size`.
std::vector<BlockPiece> blockPieces(std::span<const int64_t> shape, std::span<const int64_t> start,
                                    std::span<const int64_t> size, std::span<const int64_t> extents = {});

} // namespace dgc::rt
