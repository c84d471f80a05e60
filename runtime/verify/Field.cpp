// Elements of the fields for numbers of the bytecode.
#include "runtime/verify/Field.h"

#include <array>
#include <bit>

using namespace dgc;
using namespace dgc::verify;

// The least power of 2 of an f64.
static constexpr int kLeastExponent = -1074;
static constexpr size_t kExponents = 2046;

namespace {
/// 2^(i + kLeastExponent) in both fields.
struct PowersOfTwo {
  std::array<uint64_t, kExponents> p, q;
  PowersOfTwo() {
    p[0] = FieldP::power(FieldP::inverse(2), -kLeastExponent);
    q[0] = FieldQ::power(FieldQ::inverse(2), -kLeastExponent);
    for (size_t i = 1; i < kExponents; ++i) {
      p[i] = FieldP::add(p[i - 1], p[i - 1]);
      q[i] = FieldQ::add(q[i - 1], q[i - 1]);
    }
  }
};
} // namespace

// Arbitrary elements.
static constexpr Number kInfinity = {1394062155378913, 802931170645217};
static constexpr Number kNaN = {417226098125071, 591302784906133};

Number dgc::verify::fromDouble(double value) {
  static const PowersOfTwo powers;
  if (std::isnan(value))
    return {kNaN.p, kNaN.q, value};
  if (std::isinf(value)) {
    return value > 0 ? Number{kInfinity.p, kInfinity.q, value}
                     : Number{FieldP::negate(kInfinity.p), FieldQ::negate(kInfinity.q), value};
  }
  const uint64_t bits = std::bit_cast<uint64_t>(value), exponent = bits >> 52 & 0x7ff;
  uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  if (exponent)
    mantissa |= uint64_t{1} << 52;
  const size_t at = exponent ? exponent - 1 : 0;
  const Number x = {FieldP::multiply(FieldP::fold(mantissa), powers.p[at]),
                    FieldQ::multiply(FieldQ::fold(mantissa), powers.q[at]), std::abs(value)};
  return std::signbit(value) ? negate(x) : x;
}

Number dgc::verify::fromInteger(int64_t value) {
  const uint64_t size = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const Number x = {FieldP::fold(size), FieldQ::fold(size), static_cast<double>(size)};
  return value < 0 ? negate(x) : x;
}

double dgc::verify::decidingValue(const Number &x) {
  const double integer = std::nearbyint(x.f);
  return integer != x.f && x.same(fromDouble(integer)) ? integer : x.f;
}
