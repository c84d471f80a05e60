// What a collective moves between the arenas of its members: said once, for every transport.
#pragma once

#include "runtime/collective/Validate.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace dgc::rt {

/// A range of the arena of member `from` that goes to that of member `to`.
struct MemberCopy {
  uint32_t from, to;
  uint64_t src, dst, bytes;
  bool isZero = false; // nobody sends: zeros, `from` is `to`
};

/// f(copy) for all that member `to` gets of member `from`, none of them empty or of a range to itself. The order is the
/// same for both ends.
template <typename F>
void forEachCopy(const CollectiveDesc &desc, const CheckedCollective &c, uint32_t from, uint32_t to, F &&f) {
  auto copy = [&](uint64_t src, uint64_t dst, uint64_t bytes, bool isZero = false) {
    if (bytes && (isZero || from != to || src != dst))
      f(MemberCopy{from, to, src, dst, bytes, isZero});
  };
  switch (desc.kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::ReduceScatter:
    break; // see reducedPart
  case CollectiveKind::AllGather:
    for (const CollectiveDesc::Range &range : c.ranges) {
      const uint64_t bytes = range.srcCount * c.elementSize;
      copy(range.src, range.dst + from * bytes, bytes);
    }
    break;
  case CollectiveKind::AllToAll: {
    const uint64_t part = c.srcBytes / c.members;
    copy(desc.src + to * part, desc.dst + from * part, part);
    break;
  }
  case CollectiveKind::Broadcast:
    if (from == desc.root)
      copy(desc.src, desc.dst, c.srcBytes);
    break;
  case CollectiveKind::Permute:
    if (desc.permutation[from] == to)
      copy(desc.src, desc.dst, c.srcBytes);
    else if (from == to && permutationSource(desc.permutation, to) == CollectiveDesc::kNoRank)
      copy(desc.src, desc.dst, c.dstBytes, /*isZero=*/true);
    break;
  }
}

/// What one member of a collective that reduces combines, of one of its ranges.
struct ReducedPart {
  ElementRange elements;            // of the range that each member gives
  uint64_t dst = 0;                 // byte offset of the result in the arena of each that gets it
  std::optional<uint32_t> receiver; // the only member that gets it; nothing: all

  bool isFor(uint32_t member) const { return !receiver || *receiver == member; }
  uint64_t count() const { return elements.end - elements.begin; }
};

/// The part of `member`. Every element that anybody gets is in the part of one member, who combines it in the order of
/// the members: so all transports give the same bits. Parts do not overlap.
inline ReducedPart reducedPart(CollectiveKind kind, size_t elementSize, const CollectiveDesc::Range &range,
                               uint32_t member, uint32_t members) {
  switch (kind) {
  case CollectiveKind::AllReduce: {
    const ElementRange part = sliceOf(range.srcCount, elementSize, member, members);
    return {part, range.dst + part.begin * elementSize, std::nullopt};
  }
  case CollectiveKind::ReduceScatter:
    return {{range.dstCount * member, range.dstCount * (member + 1)}, range.dst, member};
  case CollectiveKind::AllGather:
  case CollectiveKind::AllToAll:
  case CollectiveKind::Broadcast:
  case CollectiveKind::Permute:
    break; // see forEachCopy
  }
  return {};
}

/// f(member) for all members, beginning after this one, so that not all use the same arena at once.
template <typename F> void forEachMember(const CheckedCollective &c, F &&f) {
  for (uint32_t i = 1; i <= c.members; ++i)
    f((c.self + i) % c.members);
}

/// All that this member gets, itself included; and all that others get of it.
std::vector<MemberCopy> receivedCopies(const CollectiveDesc &desc, const CheckedCollective &c);
std::vector<MemberCopy> sentCopies(const CollectiveDesc &desc, const CheckedCollective &c);

} // namespace dgc::rt
