// Every elementwise op on integers of each type, executed on all pairs of values at which something may overflow.

#include "RunOps.h"
#include <algorithm>
#include <bit>
#include <limits>

using namespace dgc::test;

namespace {

template <typename T> using Bits = std::make_unsigned_t<T>;
template <typename T> constexpr int kWidth = 8 * sizeof(T);

/// Arithmetic that wraps around.
template <typename T> T wrapped(unsigned __int128 value) { return T(Bits<T>(value)); }

template <typename T> T divide(T x, T y) {
  if (y == 0)
    return T(-1);
  if (std::is_signed_v<T> && x == std::numeric_limits<T>::min() && y == T(-1))
    return x;
  return x / y;
}
template <typename T> T remainder(T x, T y) {
  if (y == 0)
    return x;
  if (std::is_signed_v<T> && y == T(-1))
    return 0;
  return x % y;
}
template <typename T> T power(T x, T y) {
  if (std::is_signed_v<T> && y < 0)
    return x == 1 ? 1 : x == T(-1) ? (y % 2 == 0 ? 1 : T(-1)) : 0;
  Bits<T> result = 1, base = Bits<T>(x);
  for (auto n = Bits<T>(y); n != 0; n >>= 1, base = Bits<T>((unsigned __int128)base * base))
    if (n & 1)
      result = Bits<T>((unsigned __int128)result * base);
  return T(result);
}
template <typename T> bool isInRange(T amount) { return Bits<T>(amount) < Bits<T>(kWidth<T>); }
template <typename T> T shiftRight(T x, T n) {
  auto value = std::make_signed_t<T>(x);
  return T(value >> (isInRange(n) ? int(n) : kWidth<T> - 1));
}

template <typename T> struct Binary {
  const char *name;
  T (*reference)(T, T);
};
template <typename T>
const Binary<T> kBinary[] = {
    {"add", [](T x, T y) { return wrapped<T>((unsigned __int128)x + (unsigned __int128)y); }},
    {"and", [](T x, T y) -> T { return x & y; }},
    {"divide", divide<T>},
    {"maximum", [](T x, T y) { return std::max(x, y); }},
    {"minimum", [](T x, T y) { return std::min(x, y); }},
    {"multiply", [](T x, T y) { return wrapped<T>((unsigned __int128)x * (unsigned __int128)y); }},
    {"or", [](T x, T y) -> T { return x | y; }},
    {"power", power<T>},
    {"remainder", remainder<T>},
    {"shift_left", [](T x, T n) { return isInRange(n) ? T(Bits<T>(x) << int(n)) : T(0); }},
    {"shift_right_arithmetic", shiftRight<T>},
    {"shift_right_logical", [](T x, T n) { return isInRange(n) ? T(Bits<T>(x) >> int(n)) : T(0); }},
    {"subtract", [](T x, T y) { return wrapped<T>((unsigned __int128)x - (unsigned __int128)y); }},
    {"xor", [](T x, T y) -> T { return x ^ y; }},
};

template <typename T> struct Unary {
  const char *name;
  T (*reference)(T);
  bool signedOnly = false;
};
template <typename T>
const Unary<T> kUnary[] = {
    {"abs", [](T x) { return x < 0 ? wrapped<T>(-(unsigned __int128)x) : x; }, true},
    {"count_leading_zeros", [](T x) { return T(std::countl_zero(Bits<T>(x))); }},
    {"negate", [](T x) { return wrapped<T>(-(unsigned __int128)x); }},
    {"not", [](T x) -> T { return ~x; }},
    {"popcnt", [](T x) { return T(std::popcount(Bits<T>(x))); }},
    {"sign", [](T x) { return T((x > 0) - (x < 0)); }, true},
};

template <typename T> std::vector<T> values() {
  T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  return {0,  1,   2,       3,     T(kWidth<T> - 1), T(kWidth<T>), T(-1),      T(-2), T(-7), 7,
          13, 100, T(-100), least, T(least + 1),     most,         T(most - 1)};
}

template <typename T> class IntegerOps : public testing::Test {};
using Integers = testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(IntegerOps, Integers);

TYPED_TEST(IntegerOps, OfTwoOperands) {
  using T = TypeParam;
  std::vector<std::vector<T>> operands(2);
  for (T x : values<T>())
    for (T y : values<T>()) {
      operands[0].push_back(x);
      operands[1].push_back(y);
    }
  std::vector<std::string> names;
  for (const Binary<T> &op : kBinary<T>)
    names.push_back(op.name);
  auto results = runOps<T, T>(names, operands);
  auto relations = runOps<bool, T>({"compare eq", "compare lt", "compare ge"}, operands);
  for (size_t j = 0; j < operands[0].size(); ++j) {
    T x = operands[0][j], y = operands[1][j];
    for (size_t i = 0; i < names.size(); ++i)
      EXPECT_EQ(results[i].at(j), kBinary<T>[i].reference(x, y)) << names[i] << " of " << +x << " and " << +y;
    EXPECT_EQ(relations[0].at(j), x == y) << +x << " and " << +y;
    EXPECT_EQ(relations[1].at(j), x < y) << +x << " and " << +y;
    EXPECT_EQ(relations[2].at(j), x >= y) << +x << " and " << +y;
  }
}

TYPED_TEST(IntegerOps, OfOneOperand) {
  using T = TypeParam;
  std::vector<std::string> names;
  std::vector<T (*)(T)> references;
  for (const Unary<T> &op : kUnary<T>)
    if (!op.signedOnly || std::is_signed_v<T>) {
      names.push_back(op.name);
      references.push_back(op.reference);
    }
  std::vector<T> x = values<T>();
  auto results = runOps<T, T>(names, {x});
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t j = 0; j < x.size(); ++j)
      EXPECT_EQ(results[i].at(j), references[i](x[j])) << names[i] << " of " << +x[j];
}

} // namespace
