#include "runtime/verify/Field.h"
#include "runtime/verify/Planes.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

using namespace dgc::verify;
using dgc::reference::Opcode;

using Wide = unsigned __int128;

static const double kInfinite = std::numeric_limits<double>::infinity();
static const double kNotANumber = std::numeric_limits<double>::quiet_NaN();

static Number drawn(std::mt19937_64 &random) {
  return {random() % kP, random() % kQ, static_cast<double>(static_cast<int64_t>(random()) >> 40) * 0x1p-20};
}

TEST(Field, PrimesAreThoseOfTheExponential) {
  EXPECT_EQ(kP, 2251799813684783u);
  EXPECT_EQ(kQ, 1125899906842391u);
  EXPECT_EQ(FieldP::power(4, kQ), 1u); // a square has the order q
  EXPECT_NE(FieldP::power(3, 2 * 3), 1u);
}

// Every other run has a full batch.
TEST(Field, UndefinedIntegersAreLowAndHighWithFullBatchesAndWithOthers) {
  for (uint64_t first = 1; first < 5; ++first)
    for (uint64_t kind : {0, 1})
      EXPECT_NE(undefinedIn(first + kind), undefinedIn(first + kind + 2));
  EXPECT_NE(undefinedIn(1), undefinedIn(2));
}

// Infinities mask what is padding: every finite number is clearly larger than the one below all.
TEST(Field, InfinitiesAreFarFromNumbers) {
  const Number one = fromDouble(1), low = fromDouble(-kInfinite);
  const Number near = {one.p + 1, one.q, 1 + 1e-12}, equalInF64 = {one.p + 1, one.q, 1};
  EXPECT_FALSE(isNearTie(low, one));
  EXPECT_FALSE(isNearTie(one, low));
  EXPECT_FALSE(isNearTie(low, low));
  EXPECT_FALSE(isNearTie(low, fromDouble(kInfinite)));
  EXPECT_FALSE(isNearTie(one, one));
  EXPECT_TRUE(isNearTie(one, near));
  EXPECT_TRUE(isNearTie(one, equalInF64));
  EXPECT_FALSE(isNearTie(one, fromDouble(kNotANumber)));
}

TEST(Field, ArithmeticIsThatOfWideIntegers) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    uint64_t a = random() % kP, b = random() % kP;
    if (i % 8 == 0)
      a = kP - 1 - static_cast<uint64_t>(i) % 3;
    if (i % 16 == 0)
      b = kP - 1;
    EXPECT_EQ(FieldP::add(a, b), (a + b) % kP);
    EXPECT_EQ(FieldP::subtract(a, b), (a + kP - b) % kP);
    EXPECT_EQ(FieldP::multiply(a, b), static_cast<uint64_t>(Wide{a} * b % kP));
    const uint64_t c = a % kQ, d = b % kQ, word = random();
    EXPECT_EQ(FieldQ::multiply(c, d), static_cast<uint64_t>(Wide{c} * d % kQ));
    EXPECT_EQ(FieldQ::fold(word), word % kQ);
    EXPECT_EQ(FieldP::fold(word), word % kP);
    const Wide wide = (Wide{random() >> 14} << 64) + random();
    EXPECT_EQ(FieldP::reduce(wide), static_cast<uint64_t>(wide % kP));
    EXPECT_EQ(FieldQ::reduce(wide), static_cast<uint64_t>(wide % kQ));
    if (a)
      EXPECT_EQ(FieldP::multiply(a, FieldP::inverse(a)), 1u);
  }
}

TEST(Field, DoublesAreExact) {
  EXPECT_TRUE(fromDouble(0).same({0, 0}));
  EXPECT_TRUE(fromDouble(-0.0).same({0, 0}));
  EXPECT_TRUE(fromDouble(3).same({3, 3}));
  EXPECT_TRUE(fromDouble(-3).same({kP - 3, kQ - 3}));
  EXPECT_TRUE(multiply(fromDouble(0.375), fromDouble(8)).same({3, 3}));
  EXPECT_TRUE(multiply(fromDouble(0x1p-1074), fromDouble(0x1p1000)).same(fromDouble(0x1p-74)));
  EXPECT_TRUE(multiply(fromDouble(0x1.8p-1022), fromDouble(0x1p1023)).same({3, 3}));
  EXPECT_TRUE(add(fromDouble(0x1p60), fromDouble(1)).same(fromInteger((int64_t{1} << 60) + 1)));
  EXPECT_FALSE(add(fromDouble(0.1), fromDouble(0.2)).same(fromDouble(0.1 + 0.2)));
  EXPECT_TRUE(fromInteger(std::numeric_limits<int64_t>::min()).same(fromDouble(-0x1p63)));
}

TEST(Field, InfinitiesFollowTheDouble) {
  const Number infinite = fromDouble(kInfinite), minus = fromDouble(-kInfinite), nan = fromDouble(kNotANumber);
  EXPECT_TRUE(negate(infinite).same(minus));
  EXPECT_TRUE(add(infinite, fromDouble(5)).same(infinite));
  EXPECT_TRUE(multiply(infinite, fromDouble(-2)).same(minus));
  EXPECT_TRUE(subtract(infinite, infinite).same(nan));
  EXPECT_TRUE(negate(nan).same(nan));
  EXPECT_FALSE(infinite.same(minus));
}

TEST(Field, PlanesAreAsNumbers) {
  std::mt19937_64 random(2);
  constexpr int64_t n = 77;
  std::vector<uint64_t> p[3], q[3];
  std::vector<dgc::reference::Value> v[3];
  Planes planes[3];
  for (int i = 0; i < 3; ++i) {
    p[i].resize(n), q[i].resize(n), v[i].resize(n);
    planes[i] = {p[i].data(), q[i].data(), v[i].data()};
    for (int64_t k = 0; k < n; ++k)
      planes[i].set(k, k == 0 ? Number{kP - 1, kQ - 1, -1} : drawn(random));
  }
  planes[1].set(5, planes[0].number(5));
  auto [a, b, to] = planes;
  for (int infinite = 0; infinite < 2; ++infinite) {
    for (bool vectors : {false, true}) {
      if (vectors && !hasVectors())
        continue;
      auto expect = [&](Number (*f)(const Number &, const Number &)) {
        for (int64_t k = 0; k < n; ++k) {
          EXPECT_TRUE(to.number(k).same(f(a.number(k), b.number(k)))) << k << " " << vectors;
          EXPECT_TRUE(std::isnan(to.v[k].f) || to.v[k].f == f(a.number(k), b.number(k)).f);
        }
      };
      addPlanes(n, to, a, b, vectors);
      expect(add);
      subtractPlanes(n, to, a, b, vectors);
      expect(subtract);
      multiplyPlanes(n, to, a, b, vectors);
      expect(multiply);
    }
    a.set(9, fromDouble(-kInfinite));
    a.set(70, fromDouble(kNotANumber));
  }
}

TEST(Functions, ExponentialOfASumIsAProduct) {
  const Functions f(7, LawSet::ofGradients());
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) {
    const Number a = drawn(random), b = drawn(random);
    EXPECT_EQ(f.call(Opcode::Exp, add(a, b)).p, FieldP::multiply(f.call(Opcode::Exp, a).p, f.call(Opcode::Exp, b).p));
    EXPECT_NE(f.call(Opcode::Exp, a).p, f.call(Opcode::Exp, b).p);
    EXPECT_NE(f.call(Opcode::Exp, a).q, f.call(Opcode::Exp, b).q);
  }
  EXPECT_TRUE(f.call(Opcode::Exp, {}).same({1, 1}));
  EXPECT_TRUE(f.call(Opcode::Exp, fromDouble(-kInfinite)).same({0, 0}));
  EXPECT_EQ(f.call(Opcode::Exp, fromDouble(1)).f, std::exp(1.0));
  EXPECT_NE(f.call(Opcode::Exp, fromDouble(1)).p,
            Functions(8, LawSet::ofGradients()).call(Opcode::Exp, fromDouble(1)).p);
  const Number x = drawn(random);
  EXPECT_TRUE(f.call(Opcode::ExpM1, x).same(subtract(f.call(Opcode::Exp, x), fromDouble(1))));
  EXPECT_TRUE(f.call(Opcode::Log1P, x).same(f.call(Opcode::Log, add(x, fromDouble(1)))));
}

TEST(Functions, ConstantsHaveExactInverses) {
  const Functions f(7);
  for (double c : {3.0, -0.1, 1e-8, 65504.0}) {
    EXPECT_TRUE(multiply(f.reciprocal(fromDouble(c)), fromDouble(c)).same({1, 1})) << c;
    EXPECT_TRUE(f.call(Opcode::DivF, multiply(fromDouble(c), fromDouble(5)), fromDouble(c)).same({5, 5})) << c;
  }
  std::mt19937_64 random(4);
  const Number x = drawn(random);
  EXPECT_FALSE(multiply(f.reciprocal(x), x).same({1, 1}));
  EXPECT_EQ(f.reciprocal(x).f, 1 / x.f);
  EXPECT_TRUE(f.reciprocal({}).same(fromDouble(kInfinite)));
  EXPECT_TRUE(f.reciprocal(fromDouble(-kInfinite)).same({0, 0}));
}

TEST(Functions, RootsArePaired) {
  const Functions f(7);
  std::mt19937_64 random(5);
  Number x = drawn(random);
  x.f = std::abs(x.f) + 1;
  EXPECT_TRUE(f.call(Opcode::Sqrt, x).same(multiply(x, f.call(Opcode::Rsqrt, x))));
  EXPECT_EQ(f.call(Opcode::Sqrt, x).f, std::sqrt(x.f));
  EXPECT_TRUE(f.call(Opcode::Sqrt, fromDouble(4)).same({2, 2}));
  EXPECT_TRUE(f.call(Opcode::Rsqrt, fromDouble(4)).same(fromDouble(0.5)));
  EXPECT_TRUE(f.call(Opcode::Sqrt, fromDouble(2.25)).same(fromDouble(1.5)));
  EXPECT_FALSE(f.call(Opcode::Sqrt, fromDouble(2)).same(fromDouble(std::sqrt(2.0))));
  EXPECT_TRUE(f.call(Opcode::Sqrt, {}).same({0, 0}));
  EXPECT_TRUE(f.call(Opcode::Sqrt, fromDouble(-1)).same(fromDouble(kNotANumber)));
  EXPECT_TRUE(f.call(Opcode::Rsqrt, {}).same(fromDouble(kInfinite)));
}

TEST(Functions, KeyedFunctionsDependOnOperandsAndKeys) {
  const Functions f(7), other(8);
  std::mt19937_64 random(6);
  Number x = drawn(random), y = drawn(random);
  x.f = 2.5, y.f = 0.75; // all of them are finite there
  Number p = x, q = x, rounded = x;
  p.p ^= 1, q.q ^= 1, rounded.f += 1e-12;
  for (Opcode opcode : {Opcode::Cbrt, Opcode::Log, Opcode::Sin, Opcode::Cos, Opcode::Tan, Opcode::Tanh, Opcode::Erf}) {
    EXPECT_TRUE(f.call(opcode, x).same(f.call(opcode, rounded)));
    for (const Number &changed : {p, q, y}) {
      EXPECT_NE(f.call(opcode, x).p, f.call(opcode, changed).p);
      EXPECT_NE(f.call(opcode, x).q, f.call(opcode, changed).q);
    }
    EXPECT_FALSE(f.call(opcode, x).same(other.call(opcode, x)));
  }
  EXPECT_FALSE(f.call(Opcode::Sin, x).same(f.call(Opcode::Cos, x)));
  EXPECT_EQ(f.call(Opcode::Tanh, x).f, std::tanh(x.f));
  EXPECT_TRUE(f.call(Opcode::Atan2, x, y).same(f.call(Opcode::Atan2, rounded, y)));
  EXPECT_FALSE(f.call(Opcode::Atan2, x, y).same(f.call(Opcode::Atan2, y, x)));
  EXPECT_FALSE(f.call(Opcode::Atan2, x, y).same(f.call(Opcode::Atan2, x, q)));
}

TEST(Functions, SmallPowersAreProducts) {
  const Functions f(7);
  std::mt19937_64 random(7);
  const Number x = drawn(random);
  EXPECT_TRUE(f.call(Opcode::Pow, x, fromDouble(3)).same(multiply(x, multiply(x, x))));
  EXPECT_TRUE(f.call(Opcode::Pow, x, fromDouble(0)).same({1, 1}));
  EXPECT_TRUE(f.call(Opcode::Pow, x, fromDouble(-1)).same(f.reciprocal(x)));
  EXPECT_FALSE(f.call(Opcode::Pow, x, fromDouble(0.5)).same(f.call(Opcode::Sqrt, x)));
  Number drawnTwo = drawn(random);
  drawnTwo.f = 2;
  EXPECT_FALSE(f.call(Opcode::Pow, x, drawnTwo).same(multiply(x, x)));
}

TEST(Functions, RoundingIsDecidedByTheDouble) {
  const Functions f(7);
  std::mt19937_64 random(8);
  Number x = drawn(random);
  x.f = -2.5;
  EXPECT_TRUE(f.call(Opcode::Floor, x).same(fromDouble(-3)));
  EXPECT_TRUE(f.call(Opcode::Ceil, x).same(fromDouble(-2)));
  EXPECT_TRUE(f.call(Opcode::Round, x).same(fromDouble(-3)));
  EXPECT_TRUE(f.call(Opcode::RoundEven, x).same(fromDouble(-2)));
  EXPECT_TRUE(f.call(Opcode::AbsF, x).same(negate(x)));
  EXPECT_TRUE(f.call(Opcode::CopySign, x, fromDouble(1)).same(negate(x)));
  EXPECT_TRUE(f.call(Opcode::CopySign, x, fromDouble(-1)).same(x));
  EXPECT_TRUE(f.call(Opcode::RemF, x, fromDouble(2)).same(add(x, fromDouble(2))));
  Number three = fromDouble(3);
  three.f = 3 - 1e-15; // was rounded on the way
  EXPECT_TRUE(f.call(Opcode::Floor, three).same({3, 3}));
}

TEST(Functions, DrawsDependOnNamesAndElements) {
  const Functions f(7);
  EXPECT_TRUE(f.draw(1, 2, 0.5).same(f.draw(1, 2, 0.25)));
  EXPECT_EQ(f.draw(1, 2, 0.5).f, 0.5);
  EXPECT_NE(f.draw(1, 2, 0).p, f.draw(2, 1, 0).p);
  EXPECT_NE(f.draw(1, 2, 0).q, f.draw(1, 3, 0).q);
  EXPECT_NE(f.draw(1, 2, 0).p, Functions(8).draw(1, 2, 0).p);
}
