// What a worker takes on a GPU that does not depend on the plan: the device allocates it, plans count it.
#pragma once

#include <cstdint>

namespace dgc::rt::gpu {

/// Pinned memory that variables are copied through, in pieces of half its size: one is copied while the host works on the
/// other.
inline constexpr uint64_t transferBytes = uint64_t{4} << 20;

/// What products have to work in.
inline constexpr uint64_t productWorkspaceBytes = uint64_t{32} << 20;

/// What a convolution with so many bytes of operands may have to work in; engines that need more are not taken.
constexpr uint64_t convolutionWorkspaceBytes(uint64_t operandBytes) {
  constexpr uint64_t most = uint64_t{256} << 20, least = uint64_t{4} << 20;
  return operandBytes > most ? most : 2 * operandBytes + least < most ? 2 * operandBytes + least : most;
}

/// What an attention of [batch, heads, places, features] may have to work in: its gradient adds up in f32 what parts of
/// the keys give the queries, has a number for each row, and lets the library have as much again.
constexpr uint64_t attentionWorkspaceBytes(uint64_t batch, uint64_t heads, uint64_t places, uint64_t features,
                                           bool backward) {
  return productWorkspaceBytes + (backward ? 2 * batch * heads * places * (features + 1) * 4 : 0);
}

/// Scattered updates are sorted in chunks of so many, and added up in chunks of so many sorted ones.
inline constexpr uint64_t scatterSortChunk = 1024, scatterSumChunk = 64;

/// A part of what it works in begins at such a multiple.
constexpr uint64_t scatterPartBytes(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

/// What a scatter-add of `count` updates, of `rowBytes` bytes each, works in: keys and positions before and after a pass of
/// the sort, counts of 16 digits for each chunk, and two partial sums for each chunk of sorted updates.
constexpr uint64_t scatterWorkspaceBytes(uint64_t count, uint64_t rowBytes) {
  const uint64_t sorts = (count + scatterSortChunk - 1) / scatterSortChunk;
  const uint64_t sums = (count + scatterSumChunk - 1) / scatterSumChunk;
  return 4 * scatterPartBytes(4 * count) + scatterPartBytes(16 * 4 * sorts) + (sums > 1 ? 2 * sums * rowBytes : 0);
}

/// The inputs of a run lie one after the other, each at such an offset, where they wait for their run to begin; there
/// are two such places, on the host and on the device. The outputs of a run wait on the host in the same way.
constexpr uint64_t stagedBytes(uint64_t bytes) { return (bytes + 255) / 256 * 256; }
inline constexpr uint64_t stagedRuns = 2;

} // namespace dgc::rt::gpu
