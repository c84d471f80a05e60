// The random numbers of dgc: Philox4x32-10 (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", 2011), keyed by the seed of the run and counted
// by (global element, id of the draw). A number depends on nothing else:
// neither on how a tensor is cut nor on who draws it.
//
// Block b of a draw is philox(counter = {b low, b high, id low, id high}, key =
// {seed low, seed high}).
//   u32 and f32: element e is word e mod 4 of block e / 4.
//   f64, normal and truncated normal: element e takes words 2 (e mod 2) and 2
//   (e mod 2) + 1 of block e / 2.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace dgc::rt {

using PhiloxBlock = std::array<uint32_t, 4>;

inline PhiloxBlock philox4x32(PhiloxBlock counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53} * counter[0], p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(p0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

/// One stream of random numbers, by element. `id` is the rng_id of a variable,
/// or op id * 2^40 + step for an op that draws in every step.
class Philox {
public:
  Philox(uint64_t seed, uint64_t id) : seed(seed), id(id) {}

  PhiloxBlock block(uint64_t index) const {
    return philox4x32({low(index), high(index), low(id), high(id)}, low(seed), high(seed));
  }
  uint32_t bits32(uint64_t e) const { return block(e / 4)[e % 4]; }
  /// Low word first.
  uint64_t bits64(uint64_t e) const { return bits64(block(e / 2), e % 2); }
  static uint64_t bits64(const PhiloxBlock &b, uint64_t lane) {
    return b[2 * lane] | (uint64_t{b[2 * lane + 1]} << 32);
  }
  /// In [0, 1), a multiple of 2^-24.
  float uniformF32(uint64_t e) const { return uniformF32(block(e / 4), e % 4); }
  /// In [0, 1), a multiple of 2^-53.
  double uniformF64(uint64_t e) const { return uniformF64(block(e / 2), e % 2); }
  /// Standard normal, Box-Muller on the two f32 uniforms of the pair, computed
  /// in f64.
  double normal(uint64_t e) const { return normal(block(e / 2), e % 2); }
  /// Standard normal, truncated to [-2, 2], by inversion of the f64 uniform.
  double truncatedNormal(uint64_t e) const { return truncatedNormal(block(e / 2), e % 2); }

  // The same of a block that is there, by the place of the element in it.
  static float uniformF32(const PhiloxBlock &b, uint64_t lane) { return static_cast<float>(b[lane] >> 8) * 0x1p-24f; }
  static double uniformF64(const PhiloxBlock &b, uint64_t lane) {
    return static_cast<double>(bits64(b, lane) >> 11) * 0x1p-53;
  }
  static double normal(const PhiloxBlock &b, uint64_t lane) {
    double u1 = (b[2 * lane] >> 8) * 0x1p-24, u2 = (b[2 * lane + 1] >> 8) * 0x1p-24;
    return std::sqrt(-2.0 * std::log(1.0 - u1)) * std::cos(6.283185307179586476925 * u2);
  }
  static double truncatedNormal(const PhiloxBlock &b, uint64_t lane) {
    constexpr double lo = 0.022750131948179207200,
                     hi = 0.977249868051820792800; // Phi(-2), Phi(2)
    return inverseNormal(lo + uniformF64(b, lane) * (hi - lo));
  }

  /// The quantile of the standard normal at p in (1e-11, 1 - 1e-11), to 16
  /// digits (Wichura, algorithm AS 241).
  static double inverseNormal(double p) {
    double q = p - 0.5;
    if (std::fabs(q) <= 0.425) {
      double r = 0.180625 - q * q;
      return q *
             poly(r, {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                      1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                      3.3430575583588128105e4, 2.5090809287301226727e3}) /
             poly(r,
                  {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
                   2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3});
    }
    double r = std::sqrt(-std::log(q < 0 ? p : 1.0 - p)) - 1.6;
    double z = poly(r, {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                        3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                        2.27238449892691845833e-2, 7.74545014278341407640e-4}) /
               poly(r, {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
                        1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
                        1.05075007164441684324e-9});
    return q < 0 ? -z : z;
  }

private:
  static uint32_t low(uint64_t v) { return static_cast<uint32_t>(v); }
  static uint32_t high(uint64_t v) { return static_cast<uint32_t>(v >> 32); }
  static double poly(double x, const std::array<double, 8> &c) {
    double y = c[7];
    for (int i = 6; i >= 0; --i)
      y = y * x + c[i];
    return y;
  }

  uint64_t seed, id;
};

} // namespace dgc::rt
