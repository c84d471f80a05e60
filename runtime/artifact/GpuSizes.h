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

/// The inputs of a run lie one after the other, each at such an offset, where they wait for their run to begin; there
/// are two such places, on the host and on the device. The outputs of a run wait on the host in the same way.
constexpr uint64_t stagedBytes(uint64_t bytes) { return (bytes + 255) / 256 * 256; }
inline constexpr uint64_t stagedRuns = 2;

} // namespace dgc::rt::gpu
