// Checks and formulas that every transport shares.
#pragma once

#include "runtime/collective/Transport.h"

namespace dgc::rt {

/// The description with what follows from it. All ranges are inside the arena.
struct CheckedCollective {
  uint32_t members = 0; ///< size of the group
  uint32_t self = 0;    ///< position of this rank in it
  size_t elementSize = 0;
  uint64_t srcBytes = 0, dstBytes = 0;       ///< of the first range
  std::vector<CollectiveDesc::Range> ranges; ///< the first one and `more`
  std::string title;                         ///< "#3 all_reduce (grad_w)", for messages
};

/// InvalidArgument names the part of `desc` that is wrong and what would be
/// accepted.
absl::StatusOr<CheckedCollective> checkCollective(const CollectiveDesc &desc, int rank, int worldSize,
                                                  uint64_t arenaBytes);

/// Checks channel, peer, and that the memory is in `arena` (null data: do not
/// check memory).
absl::Status checkPointToPoint(std::string_view what, uint32_t channel, int peer, int rank, int worldSize,
                               const TransportOptions &options, std::span<const std::byte> memory,
                               std::span<const std::byte> arena);

/// The elements [begin, end) of `count` that `member` of `members` reduces.
/// Parts start at multiples of 64 bytes, so that two members never write the
/// same cache line.
struct ElementRange {
  uint64_t begin = 0, end = 0;
};
ElementRange sliceOf(uint64_t count, size_t elementSize, uint32_t member, uint32_t members);

/// The most elements of a range that one member reduces.
uint64_t longestPart(CollectiveKind kind, size_t elementSize, const CollectiveDesc::Range &range, uint32_t members);

/// The member that sends to `member` in a permutation, or kNoRank.
uint32_t permutationSource(std::span<const uint32_t> permutation, uint32_t member);

} // namespace dgc::rt
