// Numbers of the exact check (docs/design/exact-verification.md). A floating-point value is an element of F_p, one of F_q,
// and an f64 that decides comparisons and nothing else. Sums and products are exact in both fields, so every order of
// additions gives the same element. q divides p - 1: the exponential of a number is g^(its element of F_q) in F_p, where g
// has the order q.
#pragma once

#include "runtime/device/reference/Bytecode.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dgc::verify {

inline constexpr uint64_t kP = (uint64_t{1} << 51) - 465; // a prime
inline constexpr uint64_t kQ = (kP - 1) / 2;              // a prime: 2^50 - 233

struct Number {
  uint64_t p = 0, q = 0; // below kP and kQ
  double f = 0;

  /// Equal in the fields: the f64 values were rounded in some order.
  bool same(const Number &other) const { return p == other.p && q == other.q; }
};

/// The value of an f64, which is a multiple of a power of 2, exactly. Infinities and NaN have elements of their own.
Number fromDouble(double value);
Number fromInteger(int64_t value);

Number add(const Number &a, const Number &b);
Number subtract(const Number &a, const Number &b);
Number multiply(const Number &a, const Number &b);
Number negate(const Number &a);

/// What a run of the interpreter found out on the way; threads add to it.
struct Counts {
  std::atomic<uint64_t> functions = 0;    // evaluations of keyed functions
  std::atomic<uint64_t> exponentials = 0; // of exp
  std::atomic<uint64_t> nearTies = 0;     // comparisons of different numbers whose f64 values are too close to decide
  double argumentDegree = 0;              // the largest degree of the argument of a function; written between nests
};

/// The functions that are no operations of a field. Each is a random function, chosen by `key`, of the elements of its
/// operands, with these laws and no other:
///   exp(a + b) = exp(a) exp(b) in F_p; exp of minus infinity is 0
///   1 / c is the inverse of a number c that is equal to its f64 value (a constant); of others it is keyed
///   sqrt(x) = x rsqrt(x); pow(x, n) is a product where n is an integer from -8 to 8
///   |x| is x or -x, copysign, floor and the like, minimum and maximum are decided by the f64 value
class Functions {
public:
  explicit Functions(uint64_t key);

  /// An operation of the bytecode that is a function of one or two floating-point numbers.
  Number call(reference::Opcode opcode, const Number &x, const Number &y = {}) const;
  Number reciprocal(const Number &x) const;
  /// A random element: of the fields by the key, the name and the number of the element; `value` is its f64.
  Number draw(uint64_t name, uint64_t element, double value) const;

private:
  uint64_t key;
};

/// The elements of a buffer: floating-point types have p, q and f, integers have i, sign-extended.
struct Tensor {
  reference::Type type = reference::Type::F32;
  size_t count = 0;
  std::vector<uint64_t> p, q;
  std::vector<double> f;
  std::vector<int64_t> i;
  double degree = 0; // an upper bound of the degree of the elements as polynomials of what was drawn

  Tensor() = default;
  Tensor(reference::Type type, size_t count);
  bool isFloat() const { return reference::isFloat(type); }
  Number number(size_t at) const { return {p[at], q[at], f[at]}; }
  void set(size_t at, const Number &x) { p[at] = x.p, q[at] = x.q, f[at] = x.f; }
};
using TensorRef = std::shared_ptr<const Tensor>;

} // namespace dgc::verify
