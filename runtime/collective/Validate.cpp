// Checks of collective descriptions, the same for every transport.
#include "runtime/collective/Validate.h"

#include "runtime/collective/Copies.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace dgc::rt {

namespace {

absl::Status bad(const CheckedCollective &c, const std::string &what) {
  return absl::InvalidArgumentError(absl::StrCat("collective ", c.title, ": ", what));
}

absl::Status checkGroup(const CollectiveDesc &desc, int rank, int worldSize, CheckedCollective &c) {
  std::vector<bool> seen(worldSize);
  bool found = false;
  for (uint32_t i = 0; i < desc.group.size(); ++i) {
    uint32_t r = desc.group[i];
    if (r >= static_cast<uint32_t>(worldSize))
      return bad(c, absl::StrCat("group has rank ", r, ", the world has ", worldSize, " ranks"));
    if (seen[r])
      return bad(c, absl::StrCat("group has rank ", r, " twice"));
    seen[r] = true;
    if (r == static_cast<uint32_t>(rank)) {
      c.self = i;
      found = true;
    }
  }
  if (!found)
    return bad(c, absl::StrCat("group lacks rank ", rank, ", which was asked to take part"));
  c.members = desc.group.size();
  return absl::OkStatus();
}

// Sets `bytes` and checks that [offset, offset + bytes) is in the arena.
absl::Status checkRange(std::string_view name, uint64_t offset, uint64_t count, uint64_t arenaBytes,
                        const CheckedCollective &c, uint64_t &bytes) {
  if (__builtin_mul_overflow(count, c.elementSize, &bytes) || bytes > arenaBytes || offset > arenaBytes - bytes)
    return bad(c, absl::StrCat(std::string(name), " of ", count, " elements at byte ", offset,
                               " does not fit the shared arena of ", arenaBytes, " bytes"));
  if (offset % c.elementSize)
    return bad(c, absl::StrCat(std::string(name), " offset ", offset, " is not a multiple of the element size ",
                               c.elementSize));
  return absl::OkStatus();
}

absl::Status checkCounts(const CollectiveDesc &desc, const CheckedCollective &c) {
  std::optional<uint64_t> want = receivedCount(desc.kind, desc.srcCount, c.members);
  if (!want && infoOf(desc.kind).sizes == CollectiveSizes::Gathered)
    return bad(c, "src count is too large");
  if (!want)
    return bad(c, absl::StrCat("src count ", desc.srcCount, " is not a multiple of the ", c.members, " members"));
  if (desc.dstCount != want)
    return bad(c, absl::StrCat("dst count is ", desc.dstCount, ", expected ", *want, " for src count ", desc.srcCount,
                               " and ", c.members, " members"));
  return absl::OkStatus();
}

absl::Status checkOverlap(const CollectiveDesc &desc, const CheckedCollective &c) {
  const bool inPlace = infoOf(desc.kind).inPlace;
  if (inPlace && desc.src == desc.dst)
    return absl::OkStatus();
  if (c.srcBytes && c.dstBytes && desc.src < desc.dst + c.dstBytes && desc.dst < desc.src + c.srcBytes)
    return bad(c, absl::StrCat("src and dst overlap",
                               inPlace ? "; they must be the same range or apart" : "; they must be apart"));
  return absl::OkStatus();
}

/// No range is written where another one reads or writes.
absl::Status checkApart(const CheckedCollective &c) {
  auto meet = [&](uint64_t a, uint64_t countA, uint64_t b, uint64_t countB) {
    return countA && countB && a < b + countB * c.elementSize && b < a + countA * c.elementSize;
  };
  for (size_t i = 0; i < c.ranges.size(); ++i)
    for (size_t j = 0; j < c.ranges.size(); ++j) {
      const CollectiveDesc::Range &x = c.ranges[i], &y = c.ranges[j];
      if (i != j &&
          (meet(x.dst, x.dstCount, y.src, y.srcCount) || (i < j && meet(x.dst, x.dstCount, y.dst, y.dstCount))))
        return bad(c, absl::StrCat("ranges ", i, " and ", j, " overlap; they must be apart"));
    }
  return absl::OkStatus();
}

absl::Status checkPermutation(const CollectiveDesc &desc, const CheckedCollective &c) {
  if (desc.permutation.size() != c.members)
    return bad(c, absl::StrCat("permutation has ", desc.permutation.size(), " entries for ", c.members, " members"));
  std::vector<bool> seen(c.members);
  for (uint32_t to : desc.permutation) {
    if (to == CollectiveDesc::kNoRank)
      continue;
    if (to >= c.members)
      return bad(c, absl::StrCat("permutation has member ", to, ", the group has ", c.members));
    if (seen[to])
      return bad(c, absl::StrCat("permutation sends to member ", to, " twice"));
    seen[to] = true;
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<CheckedCollective> checkCollective(const CollectiveDesc &desc, int rank, int worldSize,
                                                  uint64_t arenaBytes) {
  CheckedCollective c;
  c.title = absl::StrCat("#", desc.id, " ", std::string(nameOf(desc.kind)),
                         desc.origin.empty() ? "" : absl::StrCat(" (", desc.origin, ")"));
  if (!isKnown(desc.kind) || !isKnown(desc.reduction) || !isKnown(desc.dtype))
    return bad(c, "unknown kind, reduction or element type");
  c.elementSize = sizeOf(desc.dtype);
  if (absl::Status s = checkGroup(desc, rank, worldSize, c); !s.ok())
    return s;
  c.ranges.push_back({desc.src, desc.srcCount, desc.dst, desc.dstCount});
  c.ranges.insert(c.ranges.end(), desc.more.begin(), desc.more.end());
  if (!desc.more.empty() && !infoOf(desc.kind).severalRanges)
    return bad(c, "only all-reduce, reduce-scatter and all-gather take more than one range");
  CollectiveDesc one = desc;
  for (size_t i = c.ranges.size(); i-- > 0;) { // the first one last: its sizes are those of `c`
    const CollectiveDesc::Range &range = c.ranges[i];
    one.src = range.src, one.srcCount = range.srcCount, one.dst = range.dst, one.dstCount = range.dstCount;
    if (absl::Status s = checkRange("src", one.src, one.srcCount, arenaBytes, c, c.srcBytes); !s.ok())
      return s;
    if (absl::Status s = checkRange("dst", one.dst, one.dstCount, arenaBytes, c, c.dstBytes); !s.ok())
      return s;
    if (absl::Status s = checkCounts(one, c); !s.ok())
      return s;
    if (absl::Status s = checkOverlap(one, c); !s.ok())
      return s;
  }
  if (absl::Status s = checkApart(c); !s.ok())
    return s;
  if (desc.kind == CollectiveKind::Permute)
    if (absl::Status s = checkPermutation(desc, c); !s.ok())
      return s;
  if (desc.kind == CollectiveKind::Broadcast && desc.root >= c.members)
    return bad(c, absl::StrCat("root is member ", desc.root, ", the group has ", c.members));
  return c;
}

absl::Status checkPointToPoint(std::string_view what, uint32_t channel, int peer, int rank, int worldSize,
                               const TransportOptions &options, std::span<const std::byte> memory,
                               std::span<const std::byte> arena) {
  auto bad = [&](auto &&...parts) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(what), " on channel ", channel, ": ", parts...));
  };
  if (channel >= options.channels)
    return bad("channels are below ", options.channels);
  if (peer < 0 || peer >= worldSize)
    return bad("peer is rank ", peer, ", the world has ", worldSize, " ranks");
  if (peer == rank)
    return bad("peer is this rank itself; copy instead");
  if (arena.data() && (memory.data() < arena.data() || memory.data() + memory.size() > arena.data() + arena.size()))
    return bad("the memory of a send must be in the shared arena");
  return absl::OkStatus();
}

ElementRange sliceOf(uint64_t count, size_t elementSize, uint32_t member, uint32_t members) {
  uint64_t line = 64 / elementSize;
  uint64_t lines = (count + line - 1) / line;
  uint64_t part = (lines + members - 1) / members * line;
  return {std::min(count, part * member), std::min(count, part * (member + 1))};
}

uint64_t longestPart(CollectiveKind kind, size_t elementSize, const CollectiveDesc::Range &range, uint32_t members) {
  uint64_t longest = 0;
  for (uint32_t member = 0; member < members; ++member)
    longest = std::max(longest, reducedPart(kind, elementSize, range, member, members).count());
  return longest;
}

uint64_t stagingBytes(CollectiveKind kind, size_t elementSize, std::span<const CollectiveDesc::Range> ranges,
                      uint32_t members) {
  if (members < 2 || !infoOf(kind).reduces)
    return 0;
  uint64_t elements = 0;
  for (const CollectiveDesc::Range &range : ranges)
    elements += longestPart(kind, elementSize, range, members);
  return members * std::min(stagedChunkBytes / elementSize, elements) * elementSize;
}

std::vector<MemberCopy> receivedCopies(const CollectiveDesc &desc, const CheckedCollective &c) {
  std::vector<MemberCopy> copies;
  forEachMember(c, [&](uint32_t member) {
    forEachCopy(desc, c, member, c.self, [&](const MemberCopy &copy) { copies.push_back(copy); });
  });
  return copies;
}

std::vector<MemberCopy> sentCopies(const CollectiveDesc &desc, const CheckedCollective &c) {
  std::vector<MemberCopy> copies;
  forEachMember(c, [&](uint32_t member) {
    if (member != c.self)
      forEachCopy(desc, c, c.self, member, [&](const MemberCopy &copy) { copies.push_back(copy); });
  });
  return copies;
}

uint32_t permutationSource(std::span<const uint32_t> permutation, uint32_t member) {
  for (uint32_t from = 0; from < permutation.size(); ++from)
    if (permutation[from] == member)
      return from;
  return CollectiveDesc::kNoRank;
}

} // namespace dgc::rt
