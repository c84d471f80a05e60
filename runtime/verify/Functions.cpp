// The functions that are no operations of a field.
#include "runtime/base/Philox.h"
#include "runtime/device/reference/Scalar.h"
#include "runtime/verify/Field.h"

#include <limits>
#include <mutex>
#include <unordered_set>

using namespace dgc;
using namespace dgc::verify;
using reference::Opcode;

// Exponents of g are taken in groups of bits.
static constexpr unsigned kGroupBits = 8, kGroups = 7;
static constexpr uint64_t kGroupSize = uint64_t{1} << kGroupBits;
static_assert(kGroupBits * kGroups >= 50);

static constexpr Number kOne = {1, 1, 1};

static uint64_t word(const rt::PhiloxBlock &block, int at) { return block[2 * at] | uint64_t{block[2 * at + 1]} << 32; }

/// A random element of each field: 2^64 is about 2^13 times the primes.
static Number element(const rt::PhiloxBlock &block, double f) {
  return settled({FieldP::fold(word(block, 0)), FieldQ::fold(word(block, 1)), f});
}

static rt::PhiloxBlock encrypt(uint64_t key, const rt::PhiloxBlock &block) {
  return rt::philox4x32(block, static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
}

/// The opcode and the elements of a number, which fit a block.
static rt::PhiloxBlock message(Opcode opcode, const Number &x) {
  return {static_cast<uint32_t>(x.p), static_cast<uint32_t>(x.p >> 32) | uint32_t{static_cast<uint8_t>(opcode)} << 24,
          static_cast<uint32_t>(x.q), static_cast<uint32_t>(x.q >> 32)};
}

/// The function of f64.
static double evaluated(Opcode opcode, double x, double y = 0) {
  reference::Value a, b, to;
  a.f = x;
  b.f = y;
  reference::evaluate(opcode, reference::Type::F64, reference::Type::F64, 1, &to, &a, &b, nullptr);
  return to.f;
}

/// What rsqrt and inverses were evaluated of, as elements of F_p. Threads share it.
struct Functions::Roots {
  std::mutex mutex;
  std::unordered_set<uint64_t> of, inverted;

  void add(const Number &x) {
    const std::scoped_lock lock(mutex);
    of.insert(x.p);
  }
  /// Whether the inverse is a square of rsqrt; else `x` counts as inverted.
  bool has(const Number &x) {
    const std::scoped_lock lock(mutex);
    if (of.contains(x.p))
      return true;
    if (!isConstant(x))
      inverted.insert(x.p);
    return false;
  }
};

uint64_t Functions::inverses() const { return roots ? roots->inverted.size() : 0; }

Functions::Functions(uint64_t key, Quotients quotients)
    : key(key), roots(quotients == Quotients::Inverse ? std::make_shared<Roots>() : nullptr),
      powers(kGroups * kGroupSize) {
  // A square that is not 1 has the order q: p - 1 is 2 q, and q is a prime.
  uint64_t root = element(encrypt(~key, {0, 0, 0, 0}), 0).p;
  while (root < 2 || root == kP - 1)
    root = FieldP::add(root, 2);
  uint64_t base = FieldP::multiply(root, root);
  for (unsigned group = 0; group < kGroups; ++group) {
    uint64_t *of = &powers[group * kGroupSize];
    of[0] = 1;
    for (uint64_t i = 1; i < kGroupSize; ++i)
      of[i] = FieldP::multiply(of[i - 1], base);
    base = FieldP::multiply(of[kGroupSize - 1], base);
  }
}

Number Functions::keyed(Opcode opcode, const Number &x, double f) const {
  return element(encrypt(key, message(opcode, x)), f);
}

/// The second block is added to the first one, encrypted. An opcode has one number of operands: no message is the
/// beginning of another one.
Number Functions::keyed(Opcode opcode, const Number &x, const Number &y, double f) const {
  rt::PhiloxBlock block = encrypt(key, message(opcode, x));
  const rt::PhiloxBlock second = message(opcode, y);
  for (size_t i = 0; i < block.size(); ++i)
    block[i] ^= second[i];
  return element(encrypt(key, block), f);
}

Number Functions::exponential(const Number &x) const {
  const double f = std::exp(x.f);
  if (x.f == -std::numeric_limits<double>::infinity())
    return {0, 0, f};
  uint64_t p = 1;
  for (unsigned group = 0; group < kGroups; ++group)
    p = FieldP::multiply(p, powers[group * kGroupSize + (x.q >> group * kGroupBits) % kGroupSize]);
  if (p == 1)
    return settled({1, 1, f});
  return settled({p, keyed(Opcode::Exp, {p, 0, 0}, 0).q, f});
}

Number Functions::reciprocal(const Number &x) const {
  const double f = 1 / x.f;
  if (std::isinf(x.f))
    return {0, 0, f};
  const bool hasInverse = roots ? x.p != 0 && x.q != 0 : isConstant(x);
  if (!std::isfinite(f) || x.f == 0 || f == 0 || !hasInverse)
    return keyed(Opcode::DivF, x, f);
  if (roots && roots->has(x)) {
    const Number root = keyed(Opcode::Rsqrt, x, 0);
    return {FieldP::multiply(root.p, root.p), FieldQ::multiply(root.q, root.q), f};
  }
  return {FieldP::inverse(x.p), FieldQ::inverse(x.q), f};
}

/// 1 / sqrt(x), with f = 0; of constants that are squares it is a constant, too.
Number Functions::inverseRoot(const Number &x) const {
  const double root = std::sqrt(x.f);
  if (x.f > 0 && std::isfinite(root) && std::fma(root, root, -x.f) == 0 && isConstant(x)) {
    const Number r = fromDouble(root);
    return {FieldP::inverse(r.p), FieldQ::inverse(r.q), 0};
  }
  if (roots)
    roots->add(x);
  return keyed(Opcode::Rsqrt, x, 0);
}

Number Functions::power(const Number &x, const Number &y) const {
  const double f = std::pow(x.f, y.f);
  if (std::nearbyint(y.f) != y.f || std::abs(y.f) > 8 || !isConstant(y))
    return keyed(Opcode::Pow, x, y, f);
  const Number factor = y.f < 0 ? reciprocal(x) : x;
  const auto n = static_cast<uint64_t>(std::abs(y.f));
  return settled({FieldP::power(factor.p, n), FieldQ::power(factor.q, n), f});
}

/// a - b n, where n is the integer that the f64 values give.
static Number remainder(const Number &a, const Number &b) {
  Number x = subtract(a, multiply(b, fromDouble(std::trunc(a.f / b.f))));
  x.f = std::fmod(a.f, b.f);
  return settled(x);
}

static bool isRounding(Opcode opcode) {
  return opcode == Opcode::Floor || opcode == Opcode::Ceil || opcode == Opcode::Round || opcode == Opcode::RoundEven;
}

/// `x` with another f64.
static Number with(Number x, double f) {
  x.f = f;
  return settled(x);
}

Number Functions::call(Opcode opcode, const Number &x, const Number &y) const {
  if (opcode == Opcode::Exp)
    return exponential(x);
  if (opcode == Opcode::ExpM1)
    return with(subtract(exponential(x), kOne), std::expm1(x.f));
  if (opcode == Opcode::Log1P)
    return keyed(Opcode::Log, add(x, kOne), std::log1p(x.f));
  if (opcode == Opcode::Rsqrt)
    return with(inverseRoot(x), 1 / std::sqrt(x.f));
  if (opcode == Opcode::Sqrt) {
    const Number r = inverseRoot(x);
    return settled({FieldP::multiply(x.p, r.p), FieldQ::multiply(x.q, r.q), std::sqrt(x.f)});
  }
  if (opcode == Opcode::Pow)
    return power(x, y);
  if (opcode == Opcode::Atan2)
    return keyed(opcode, x, y, std::atan2(x.f, y.f));
  if (opcode == Opcode::DivF)
    return with(multiply(x, reciprocal(y)), x.f / y.f);
  if (opcode == Opcode::RemF)
    return remainder(x, y);
  if (opcode == Opcode::AbsF)
    return x.f < 0 ? negate(x) : x;
  if (opcode == Opcode::CopySign)
    return std::signbit(x.f) != std::signbit(y.f) ? negate(x) : x;
  if (isRounding(opcode))
    return fromDouble(evaluated(opcode, decidingValue(x)));
  return keyed(opcode, x, evaluated(opcode, x.f));
}

Number Functions::draw(uint64_t name, uint64_t element, double value) const {
  return ::element(encrypt(~key, {static_cast<uint32_t>(element), static_cast<uint32_t>(element >> 32),
                                  static_cast<uint32_t>(name), static_cast<uint32_t>(name >> 32)}),
                   value);
}
