// Element types: size, name, and the conversions of the 16-bit floats. The
// numbering is that of dgcx.fbs.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dgc::rt {

enum class DType : uint8_t { I1, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64 };
inline constexpr int numDTypes = 13;

/// Bytes of one element in memory; i1 takes a byte that is 0 or 1.
constexpr size_t sizeOf(DType type) {
  constexpr uint8_t sizes[numDTypes] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return sizes[static_cast<int>(type)];
}

/// "f32", "i64", "u8", "bf16", ...
constexpr std::string_view nameOf(DType type) {
  constexpr std::string_view names[numDTypes] = {"i1",  "i8",  "i16", "i32",  "i64", "u8", "u16",
                                                 "u32", "u64", "f16", "bf16", "f32", "f64"};
  return names[static_cast<int>(type)];
}

constexpr bool isFloat(DType type) { return type >= DType::F16; }

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

} // namespace dgc::rt
