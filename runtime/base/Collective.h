// The kinds of collectives and of reductions, and what follows from a kind.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace dgc::rt {

enum class CollectiveKind : uint8_t {
#define DGC_COLLECTIVE(Name, text, sizes, reduces, severalRanges, inPlace, makesEqual) Name,
#include "runtime/base/Collectives.def"
};
enum class Reduction : uint8_t {
#define DGC_REDUCTION(Name, text) Name,
#include "runtime/base/Collectives.def"
};

/// How many elements each member gets, of n members that give so many each.
enum class CollectiveSizes : uint8_t {
  Equal,      // as many
  EqualParts, // as many, which n divides
  Scattered,  // an n-th part
  Gathered,   // n times as many
};

struct CollectiveInfo {
  std::string_view name;
  CollectiveSizes sizes;
  bool reduces;       // combines what the members give; else it copies
  bool severalRanges; // may work on several ranges at once
  bool inPlace;       // src and dst may be the same range
  bool makesEqual;    // all members have the same afterwards
};

inline constexpr CollectiveInfo collectiveTable[] = {
#define DGC_COLLECTIVE(Name, text, sizes, reduces, severalRanges, inPlace, makesEqual)                                 \
  {text, CollectiveSizes::sizes, reduces, severalRanges, inPlace, makesEqual},
#include "runtime/base/Collectives.def"
};
inline constexpr std::string_view reductionNames[] = {
#define DGC_REDUCTION(Name, text) text,
#include "runtime/base/Collectives.def"
};
inline constexpr int numCollectiveKinds = std::size(collectiveTable);
inline constexpr int numReductions = std::size(reductionNames);

constexpr bool isKnown(CollectiveKind kind) { return static_cast<int>(kind) < numCollectiveKinds; }
constexpr bool isKnown(Reduction reduction) { return static_cast<int>(reduction) < numReductions; }

/// Of a known kind.
constexpr const CollectiveInfo &infoOf(CollectiveKind kind) { return collectiveTable[static_cast<int>(kind)]; }
/// "all_reduce", "reduce_scatter", ...
constexpr std::string_view nameOf(CollectiveKind kind) {
  return isKnown(kind) ? infoOf(kind).name : "unknown collective";
}
constexpr std::string_view nameOf(Reduction reduction) { return reductionNames[static_cast<int>(reduction)]; }

/// The elements that a member gets where each of `members` gives `given`; nothing where `members` would have to divide
/// that, or there are too many.
constexpr std::optional<uint64_t> receivedCount(CollectiveKind kind, uint64_t given, uint64_t members) {
  switch (infoOf(kind).sizes) {
  case CollectiveSizes::Equal:
    return given;
  case CollectiveSizes::EqualParts:
    return given % members ? std::nullopt : std::optional(given);
  case CollectiveSizes::Scattered:
    return given % members ? std::nullopt : std::optional(given / members);
  case CollectiveSizes::Gathered:
    return given > UINT64_MAX / members ? std::nullopt : std::optional(given * members);
  }
  return std::nullopt;
}

} // namespace dgc::rt
