// The functions that are no operations of a field.
#include "runtime/base/Philox.h"
#include "runtime/device/reference/Scalar.h"
#include "runtime/verify/Field.h"

#include <array>
#include <limits>
#include <mutex>
#include <unordered_map>
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

/// What functions of derivatives were evaluated of, as elements of F_p. Threads share it.
struct Functions::Seen {
  /// exp of a number is exp of `base`, in F_q, times `factor`, in F_p.
  struct Term {
    uint64_t base = 0, factor = 1;
  };

  std::mutex mutex;
  std::unordered_set<uint64_t> roots, inverted;
  std::unordered_map<uint64_t, Term> terms; // of logarithms and sums with them, by their elements of F_q
  std::atomic<bool> hasTerms = false;

  void addRoot(const Number &x) {
    const std::scoped_lock lock(mutex);
    roots.insert(x.p);
  }
  /// Whether the inverse is a square of rsqrt; else `x` counts as inverted.
  bool hasRoot(const Number &x) {
    const std::scoped_lock lock(mutex);
    if (roots.contains(x.p))
      return true;
    if (!isConstant(x))
      inverted.insert(x.p);
    return false;
  }
  void addLogarithm(const Number &of, const Number &result) {
    const std::scoped_lock lock(mutex);
    terms.try_emplace(result.q, Term{0, of.p});
    hasTerms = true;
  }
  Term termOf(uint64_t q) {
    const std::scoped_lock lock(mutex);
    const auto found = terms.find(q);
    return found == terms.end() ? Term{q} : found->second;
  }
  void addSum(const Number &a, const Number &b, const Number &result, bool isDifference) {
    const std::scoped_lock lock(mutex);
    const auto ofA = terms.find(a.q), ofB = terms.find(b.q);
    if (ofA == terms.end() && ofB == terms.end())
      return;
    Term x = ofA == terms.end() ? Term{a.q} : ofA->second, y = ofB == terms.end() ? Term{b.q} : ofB->second;
    if (isDifference)
      y = {FieldQ::negate(y.base), inverseOf(y.factor)};
    terms.try_emplace(result.q, Term{FieldQ::add(x.base, y.base), FieldP::multiply(x.factor, y.factor)});
  }

private:
  uint64_t inverseOf(uint64_t p) {
    if (p != 1)
      inverted.insert(p);
    return FieldP::inverse(p);
  }
};

bool Functions::hasLogarithms() const { return seen && seen->hasTerms; }

void Functions::noteSum(const Number &a, const Number &b, const Number &result, bool isDifference) const {
  seen->addSum(a, b, result, isDifference);
}

/// log(x), with another f64.
Number Functions::logarithm(const Number &x, double f) const {
  const Number result = keyedOrExact(Opcode::Log, x, f);
  if (seen && has(Law::ExpOfLogarithm) && std::isfinite(f))
    seen->addLogarithm(x, result);
  return result;
}

uint64_t Functions::inverses() const { return seen ? seen->inverted.size() : 0; }

Functions::Functions(uint64_t key, LawSet laws)
    : key(key), laws(laws), seen(has(Law::Inverse) ? std::make_shared<Seen>() : nullptr), powers(kGroups * kGroupSize) {
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

Number Functions::keyedOrExact(Opcode opcode, const Number &x, double f) const {
  const bool isExact = (f == 0 || f == 1) && (x.same({}) || x.same(kOne));
  return isExact && has(Law::ZeroOrOne) ? fromDouble(f) : keyed(opcode, x, f);
}

Number Functions::exponential(const Number &x) const {
  const double f = std::exp(x.f);
  if (f == 0 && has(Law::ExpOfMask))
    return {0, 0, f};
  if (!has(Law::ExpOfSum))
    return keyedOrExact(Opcode::Exp, x, f);
  const Seen::Term term = hasLogarithms() ? seen->termOf(x.q) : Seen::Term{x.q};
  uint64_t p = term.factor;
  for (unsigned group = 0; group < kGroups; ++group)
    p = FieldP::multiply(p, powers[group * kGroupSize + (term.base >> group * kGroupBits) % kGroupSize]);
  if (p == 1)
    return settled({1, 1, f});
  return settled({p, keyed(Opcode::Exp, {p, 0, 0}, 0).q, f});
}

Number Functions::reciprocal(const Number &x) const {
  const double f = 1 / x.f;
  if (std::isinf(x.f))
    return {0, 0, f};
  const bool hasInverse = seen ? x.p != 0 && x.q != 0 : has(Law::InverseOfConstant) && isConstant(x);
  if (!std::isfinite(f) || x.f == 0 || f == 0 || !hasInverse)
    return keyed(Opcode::DivF, x, f);
  if (seen && seen->hasRoot(x) && has(Law::InverseOfRoot)) {
    const Number root = keyed(Opcode::Rsqrt, x, 0);
    return {FieldP::multiply(root.p, root.p), FieldQ::multiply(root.q, root.q), f};
  }
  return {FieldP::inverse(x.p), FieldQ::inverse(x.q), f};
}

/// 1 / sqrt(x), with f = 0; of constants that are squares it is a constant, too.
Number Functions::inverseRoot(const Number &x) const {
  const double root = std::sqrt(x.f);
  if (has(Law::RootOfSquare) && x.f > 0 && std::isfinite(root) && std::fma(root, root, -x.f) == 0 && isConstant(x)) {
    const Number r = fromDouble(root);
    return {FieldP::inverse(r.p), FieldQ::inverse(r.q), 0};
  }
  if (seen)
    seen->addRoot(x);
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

bool Functions::compare(Opcode opcode, const Number &x, const Number &y) const { return keyed(opcode, x, y, 0).p & 1; }

double Functions::truncate(const Number &x) const {
  return static_cast<double>(keyed(Opcode::FloatToSigned, x, 0).p & 1);
}

Number Functions::ofInteger(int64_t value) const {
  const Number x = fromInteger(value);
  return has(Law::IntegerAsFloat) ? x : keyed(Opcode::SignedToFloat, x, x.f);
}

Number Functions::ofUnsigned(uint64_t value) const {
  const Number x{FieldP::fold(value), FieldQ::fold(value), static_cast<double>(value)};
  return has(Law::IntegerAsFloat) ? x : keyed(Opcode::UnsignedToFloat, x, x.f);
}

namespace {
struct LawOfFunction {
  Opcode opcode;
  Law law;
};
} // namespace

// Functions of one law.
static constexpr LawOfFunction lawsOfFunctions[] = {
    {Opcode::ExpM1, Law::ExpMinusOne},  {Opcode::Log1P, Law::LogPlusOne},        {Opcode::Sqrt, Law::RootByInverse},
    {Opcode::Pow, Law::PowerIsProduct}, {Opcode::RemF, Law::Remainder},          {Opcode::AbsF, Law::Absolute},
    {Opcode::CopySign, Law::Absolute},  {Opcode::Floor, Law::Rounding},          {Opcode::Ceil, Law::Rounding},
    {Opcode::Round, Law::Rounding},     {Opcode::RoundEven, Law::Rounding},      {Opcode::Minimum, Law::Extremum},
    {Opcode::Maximum, Law::Extremum},   {Opcode::ConvertFloat, Law::Conversion},
};

/// Whether a function is a random one for want of its law.
bool Functions::isWithoutLaw(Opcode opcode) const {
  static constexpr auto table = [] {
    std::array<LawSet, reference::numOpcodes> all{};
    for (const LawOfFunction &each : lawsOfFunctions)
      all[static_cast<size_t>(each.opcode)] = each.law;
    return all;
  }();
  return table[static_cast<size_t>(opcode)].without(laws) != LawSet();
}

Number Functions::call(Opcode opcode, const Number &x, const Number &y) const {
  if (isWithoutLaw(opcode))
    return random(opcode, x, y);
  if (opcode == Opcode::Exp)
    return exponential(x);
  if (opcode == Opcode::ExpM1)
    return with(subtract(exponential(x), kOne), std::expm1(x.f));
  if (opcode == Opcode::Log)
    return logarithm(x, std::log(x.f));
  if (opcode == Opcode::Log1P)
    return logarithm(add(x, kOne), std::log1p(x.f));
  if (opcode == Opcode::Rsqrt)
    return with(inverseRoot(x), 1 / std::sqrt(x.f));
  if (opcode == Opcode::Sqrt) {
    const Number r = inverseRoot(x);
    return settled({FieldP::multiply(x.p, r.p), FieldQ::multiply(x.q, r.q), std::sqrt(x.f)});
  }
  if (opcode == Opcode::Pow)
    return power(x, y);
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
  return random(opcode, x, y);
}

Number Functions::random(Opcode opcode, const Number &x, const Number &y) const {
  if (opcode == Opcode::ConvertFloat)
    return keyed(opcode, x, x.f);
  if (reference::opcodeTable[static_cast<size_t>(opcode)].signature.starts_with("TT"))
    return keyed(opcode, x, y, evaluated(opcode, x.f, y.f));
  return keyedOrExact(opcode, x, evaluated(opcode, x.f));
}

Number Functions::draw(uint64_t name, uint64_t element, double value) const {
  return ::element(encrypt(~key, {static_cast<uint32_t>(element), static_cast<uint32_t>(element >> 32),
                                  static_cast<uint32_t>(name), static_cast<uint32_t>(name >> 32)}),
                   value);
}
