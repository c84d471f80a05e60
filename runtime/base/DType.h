// Element types: size, name, conversions to and from f64, and those of the 16-bit floats.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

namespace dgc::rt {

enum class DType : uint8_t {
#define DGC_DTYPE(Name, text, Stored) Name,
#include "runtime/base/DTypes.def"
};

/// How elements are stored that are no numbers of C++.
enum class Bool : uint8_t {}; // 0 or 1
enum class Half : uint16_t {};
enum class BFloat : uint16_t {};

namespace detail {
struct DTypeInfo {
  std::string_view name;
  uint8_t size;
};
inline constexpr DTypeInfo dtypes[] = {
#define DGC_DTYPE(Name, text, Stored) {text, sizeof(Stored)},
#include "runtime/base/DTypes.def"
};
} // namespace detail

inline constexpr int numDTypes = std::size(detail::dtypes);
constexpr bool isKnown(DType type) { return static_cast<int>(type) < numDTypes; }

/// Bytes of one element in memory; i1 takes a byte that is 0 or 1.
constexpr size_t sizeOf(DType type) { return detail::dtypes[static_cast<int>(type)].size; }

/// "f32", "i64", "u8", "bf16", ...
constexpr std::string_view nameOf(DType type) { return detail::dtypes[static_cast<int>(type)].name; }

/// The inverse of nameOf.
constexpr std::optional<DType> dtypeFromName(std::string_view name) {
  for (int i = 0; i < numDTypes; ++i)
    if (nameOf(static_cast<DType>(i)) == name)
      return static_cast<DType>(i);
  return std::nullopt;
}

/// bfloat16 bits of `value`, to nearest even; NaN stays NaN.
inline uint16_t toBF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
inline float fromBF16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// IEEE half bits of `value`, to nearest even; too large becomes infinity.
inline uint16_t toF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  bits &= 0x7fffffff;
  if (bits > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00);
  if (bits >= 0x477ff000) // rounds to 65536 or more
    return static_cast<uint16_t>(sign | 0x7c00);
  if (bits < 0x38800000) { // subnormal half: let the float adder round
    float magic = std::bit_cast<float>(0x3f000000u);
    float sum = std::bit_cast<float>(bits) + magic;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000u));
  }
  bits += 0xfff + ((bits >> 13) & 1);
  return static_cast<uint16_t>(sign | ((bits - 0x38000000u) >> 13));
}
inline float fromF16(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t exponent = (half >> 10) & 31, mantissa = half & 1023;
  if (exponent == 0) // zero or subnormal: mantissa * 2^-24
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(mantissa) * 0x1p-24f));
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

//===-- Elements --------------------------------------------------------===//

/// Elements as `T` stores them. Numbers that an integer cannot hold become the nearest that it can, NaN zero.
template <typename T> struct Element {
  using Stored = T;
  static constexpr bool isInteger = std::is_integral_v<T>;
  static constexpr bool isFloat = std::is_floating_point_v<T>;
  static double load(T value) { return static_cast<double>(value); }
  static T store(double value) {
    using Limits = std::numeric_limits<T>;
    if constexpr (isInteger) {
      if (std::isnan(value))
        return 0;
      if (value >= static_cast<double>(Limits::max()))
        return Limits::max();
      if (value <= static_cast<double>(Limits::min()))
        return Limits::min();
    }
    return static_cast<T>(value);
  }
};
template <> struct Element<Bool> {
  using Stored = Bool;
  static constexpr bool isInteger = false, isFloat = false;
  static double load(Bool value) { return static_cast<double>(value); }
  static Bool store(double value) { return static_cast<Bool>(value != 0); }
};
template <> struct Element<Half> {
  using Stored = Half;
  static constexpr bool isInteger = false, isFloat = true;
  static double load(Half value) { return fromF16(static_cast<uint16_t>(value)); }
  static Half store(double value) { return static_cast<Half>(toF16(static_cast<float>(value))); }
};
template <> struct Element<BFloat> {
  using Stored = BFloat;
  static constexpr bool isInteger = false, isFloat = true;
  static double load(BFloat value) { return fromBF16(static_cast<uint16_t>(value)); }
  static BFloat store(double value) { return static_cast<BFloat>(toBF16(static_cast<float>(value))); }
};

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
/// f(Element<T>()) of a known type.
template <typename F> constexpr decltype(auto) visit(DType type, F &&f) {
  switch (type) {
#define DGC_DTYPE(Name, text, Stored)                                                                                  \
  case DType::Name:                                                                                                    \
    return f(Element<Stored>());
#include "runtime/base/DTypes.def"
  }
  __builtin_unreachable();
}
#pragma GCC diagnostic pop

constexpr bool isFloat(DType type) {
  return visit(type, [](auto element) { return decltype(element)::isFloat; });
}
/// Not of i1.
constexpr bool isInteger(DType type) {
  return visit(type, [](auto element) { return decltype(element)::isInteger; });
}

/// Reads and writes element `index` of an array as f64.
inline double loadElement(DType type, const void *data, int64_t index) {
  return visit(type, [&](auto element) {
    using E = decltype(element);
    typename E::Stored stored;
    std::memcpy(&stored, static_cast<const std::byte *>(data) + static_cast<size_t>(index) * sizeof stored,
                sizeof stored);
    return E::load(stored);
  });
}
inline void storeElement(DType type, void *data, int64_t index, double value) {
  visit(type, [&](auto element) {
    const auto stored = decltype(element)::store(value);
    std::memcpy(static_cast<std::byte *>(data) + static_cast<size_t>(index) * sizeof stored, &stored, sizeof stored);
  });
}

} // namespace dgc::rt
