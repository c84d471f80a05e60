// Numbers of the exact check (docs/design/exact-verification.md). A floating-point value is an element of F_p, one of F_q,
// and an f64 that decides comparisons and nothing else. Sums and products are exact in both fields, so every order of
// additions gives the same element. q divides p - 1: the exponential of a number is g^(its element of F_q) in F_p, where g
// has the order q.
#pragma once

#include "runtime/device/reference/Bytecode.h"
#include "runtime/verify/BlockPool.h"
#include "runtime/verify/Laws.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dgc::verify {

inline constexpr uint64_t kP = (uint64_t{1} << 51) - 465; // a prime
inline constexpr uint64_t kQ = (kP - 1) / 2;              // a prime: 2^50 - 233

/// The field of a prime 2^bits - less, with less below 2^9.
template <uint64_t prime, unsigned bits> struct PrimeField {
  static constexpr uint64_t mask = (uint64_t{1} << bits) - 1, less = mask + 1 - prime;
  using Wide = unsigned __int128;

  /// `x` modulo the prime.
  static constexpr uint64_t fold(uint64_t x) {
    x = (x & mask) + less * (x >> bits);
    return x >= prime ? x - prime : x;
  }
  /// `x`, which is below 2^114, modulo the prime.
  static constexpr uint64_t reduce(Wide x) {
    return fold((static_cast<uint64_t>(x) & mask) + less * fold(static_cast<uint64_t>(x >> bits)));
  }
  static constexpr uint64_t add(uint64_t a, uint64_t b) { return a + b >= prime ? a + b - prime : a + b; }
  static constexpr uint64_t subtract(uint64_t a, uint64_t b) { return a >= b ? a - b : a + prime - b; }
  static constexpr uint64_t negate(uint64_t a) { return a ? prime - a : 0; }
  static constexpr uint64_t multiply(uint64_t a, uint64_t b) {
    const Wide x = Wide{a} * b; // less * (x >> bits) is below 2^60
    return fold((static_cast<uint64_t>(x) & mask) + less * static_cast<uint64_t>(x >> bits));
  }
  static constexpr uint64_t power(uint64_t a, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, a = multiply(a, a))
      if (exponent & 1)
        result = multiply(result, a);
    return result;
  }
  static constexpr uint64_t inverse(uint64_t a) { return power(a, prime - 2); }
};
using FieldP = PrimeField<kP, 51>;
using FieldQ = PrimeField<kQ, 50>;

/// Where f is an infinity or NaN, p and q are the elements of that: arithmetic on infinities follows f.
struct Number {
  uint64_t p = 0, q = 0; // below kP and kQ
  double f = 0;

  /// Equal in the fields: the f64 values were rounded in some order.
  bool same(const Number &other) const { return p == other.p && q == other.q; }
};

/// The value of an f64, which is a multiple of a power of 2, exactly. Infinities and NaN have elements of their own.
Number fromDouble(double value);
Number fromInteger(int64_t value);

/// `x`, or the infinity or NaN that its f64 is.
inline Number settled(const Number &x) { return std::isfinite(x.f) ? x : fromDouble(x.f); }

inline Number add(const Number &a, const Number &b) {
  return settled({FieldP::add(a.p, b.p), FieldQ::add(a.q, b.q), a.f + b.f});
}
inline Number subtract(const Number &a, const Number &b) {
  return settled({FieldP::subtract(a.p, b.p), FieldQ::subtract(a.q, b.q), a.f - b.f});
}
inline Number multiply(const Number &a, const Number &b) {
  return settled({FieldP::multiply(a.p, b.p), FieldQ::multiply(a.q, b.q), a.f * b.f});
}
inline Number negate(const Number &a) { return settled({FieldP::negate(a.p), FieldQ::negate(a.q), -a.f}); }

/// Whether two numbers are compared that differ and whose f64 values are too close to say which is larger. An
/// infinity is far from every finite number; what is no number is compared as f64 values are.
inline bool isNearTie(const Number &a, const Number &b) {
  if (a.same(b))
    return false;
  const double distance = std::abs(a.f - b.f);
  return a.f == b.f || (std::isfinite(distance) && distance <= 1e-9 * std::max(std::abs(a.f), std::abs(b.f)));
}

/// Whether the elements are those of the f64 value: a constant, or computed from constants without rounding.
inline bool isConstant(const Number &x) { return x.same(fromDouble(x.f)); }

/// The f64 value, or, where the elements are those of the nearest integer, that: a rounding of the f64 does not decide
/// about floor and truncation.
double decidingValue(const Number &x);

/// What a run of the interpreter found out on the way; threads add to it.
struct Counts {
  std::atomic<uint64_t> functions = 0;    // evaluations of keyed functions
  std::atomic<uint64_t> exponentials = 0; // of exp
  std::atomic<uint64_t> nearTies = 0;     // comparisons of different numbers whose f64 values are too close to decide
  std::atomic<double> argumentDegree = 0; // the largest degree of the argument of a function
};

/// The functions that are no operations of a field. Each is a random function, chosen by `key`, of the elements of its
/// operands, with the given laws and no other.
class Functions {
public:
  explicit Functions(uint64_t key, LawSet laws = LawSet::ofPlans());

  bool has(Law law) const { return laws.has(law); }

  /// An operation of the bytecode that is a function of one or two floating-point numbers.
  Number call(reference::Opcode opcode, const Number &x, const Number &y = {}) const;
  Number reciprocal(const Number &x) const;
  /// A comparison where Law::Comparison does not hold, and a truncation to an integer where Law::Rounding does not.
  bool compare(reference::Opcode opcode, const Number &x, const Number &y) const;
  double truncate(const Number &x) const;
  /// The floating-point value of an integer.
  Number ofInteger(int64_t value) const;
  Number ofUnsigned(uint64_t value) const;
  /// Whether sums have to be noted for Law::ExpOfLogarithm.
  bool hasLogarithms() const;
  /// `result` is a + b, or a - b.
  void noteSum(const Number &a, const Number &b, const Number &result, bool isDifference) const;
  /// How many numbers, which are no constants, have an inverse by Law::Inverse.
  uint64_t inverses() const;
  /// A random element: of the fields by the key, the name and the number of the element; `value` is its f64.
  Number draw(uint64_t name, uint64_t element, double value) const;

private:
  Number keyed(reference::Opcode opcode, const Number &x, double f) const;
  Number keyed(reference::Opcode opcode, const Number &x, const Number &y, double f) const;
  /// A function `f` of a number, of which nothing is known but Law::ZeroOrOne.
  Number keyedOrExact(reference::Opcode opcode, const Number &x, double f) const;
  Number exponential(const Number &x) const;
  Number inverseRoot(const Number &x) const;
  Number power(const Number &x, const Number &y) const;
  Number logarithm(const Number &x, double f) const;
  Number random(reference::Opcode opcode, const Number &x, const Number &y) const;
  bool isWithoutLaw(reference::Opcode opcode) const;

  struct Seen;

  uint64_t key;
  LawSet laws;
  std::shared_ptr<Seen> seen;   // of what functions were evaluated; null: quotients are keyed
  std::vector<uint64_t> powers; // of g: for each group of bits of an exponent, for each value of these bits
};

/// The elements of a buffer: floating-point types have p, q and f, integers have i, sign-extended.
struct Tensor {
  reference::Type type = reference::Type::F32;
  size_t count = 0;
  Elements<uint64_t> p, q;
  Elements<double> f;
  Elements<int64_t> i;
  double degree = 0; // an upper bound of the degree of the elements as polynomials of what was drawn

  Tensor() = default;
  Tensor(reference::Type type, size_t count); // of zeros
  /// With any elements: each is given a value next.
  static std::shared_ptr<Tensor> uninitialized(reference::Type type, size_t count);
  bool isFloat() const { return reference::isFloat(type); }
  Number number(size_t at) const { return {p[at], q[at], f[at]}; }
  void set(size_t at, const Number &x) { p[at] = x.p, q[at] = x.q, f[at] = x.f; }
};
using TensorRef = std::shared_ptr<const Tensor>;

/// A tensor of constants, from their bytes in memory.
std::shared_ptr<Tensor> tensorOf(reference::Type type, size_t count, const std::byte *bytes);

/// What memory may have that nobody wrote. Of floating-point types it is no number (NaN), as is everything that is computed of
/// it. Integers have no such value: they are small or large, false or true, and of four runs each is in one with a full batch
/// and in one with another.
enum class Undefined : uint8_t { Low, High };
constexpr Undefined undefinedIn(uint64_t run) { return run / 2 % 2 ? Undefined::High : Undefined::Low; }
void makeUndefined(Tensor &tensor, Undefined integers);

} // namespace dgc::verify
