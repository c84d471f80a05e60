// What the exact check knows of functions: the laws of Laws.def, each of which can be left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace dgc::verify {

enum class Law : uint8_t {
#define DGC_LAW(Name, where, statement, purpose) Name,
#include "runtime/verify/Laws.def"
};

struct LawInfo {
  enum Where : uint8_t { All, Gradients };
  std::string_view name;
  Where where;
  std::string_view statement, purpose;
};
inline constexpr LawInfo lawTable[] = {
#define DGC_LAW(Name, where, statement, purpose) {#Name, LawInfo::where, statement, purpose},
#include "runtime/verify/Laws.def"
};
inline constexpr size_t numLaws = std::size(lawTable);

/// Laws that hold.
class LawSet {
public:
  /// Those by which plans are compared with models.
  static constexpr LawSet ofPlans() { return of(LawInfo::All); }
  /// Those by which gradients are compared with forward mode.
  static constexpr LawSet ofGradients() { return of(LawInfo::Gradients); }

  constexpr bool has(Law law) const { return bits >> static_cast<int>(law) & 1; }
  constexpr LawSet without(LawSet others) const { return LawSet(bits & ~others.bits); }

  constexpr bool operator==(const LawSet &) const = default;

  constexpr LawSet() = default;
  constexpr LawSet(Law law) : bits(uint32_t{1} << static_cast<int>(law)) {}

private:
  constexpr explicit LawSet(uint32_t bits) : bits(bits) {}
  static constexpr LawSet of(LawInfo::Where most) {
    uint32_t bits = 0;
    for (size_t i = 0; i < numLaws; ++i)
      bits |= uint32_t{lawTable[i].where <= most} << i;
    return LawSet(bits);
  }

  uint32_t bits = 0;
};
static_assert(numLaws <= 32);

} // namespace dgc::verify
