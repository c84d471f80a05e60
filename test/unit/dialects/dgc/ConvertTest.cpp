// dgc.convert between every two element types, executed.

#include "RunOps.h"
#include <cmath>
#include <limits>
#include <tuple>

using namespace dgc::test;

namespace {

/// What dgc.convert means: towards zero, to the nearest there is, NaN to 0, everything but 0 to true; integers of more
/// bits lose the high ones.
template <typename To, typename From> To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(x))
      return 0;
    if (x <= double(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (x >= double(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    return To(x);
  } else {
    return To(x);
  }
}

template <typename T> std::vector<T> values() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, bool>)
    return {false, true};
  else if constexpr (std::is_floating_point_v<T>)
    return {T(0),
            T(-0.0),
            T(0.5),
            T(-0.5),
            T(1.9),
            T(-1.9),
            T(127.5),
            T(-128.5),
            T(-129),
            T(255.9),
            T(256),
            T(65535.5),
            T(2147483648.0),
            T(-2147483648.0),
            T(4294967296.0),
            T(9.3e18),
            T(-9.3e18),
            T(1.9e19),
            T(1e30),
            T(-1e30),
            Limits::infinity(),
            -Limits::infinity(),
            Limits::quiet_NaN()};
  else
    return {0, 1, 2, 100, T(-1), T(-100), Limits::min(), Limits::max(), T(Limits::max() / 3)};
}

template <typename From, typename To> void checkConversion() {
  std::vector<From> x = values<From>();
  std::string from = tensorName<From>(x.size()), to = tensorName<To>(x.size());
  LoadedKernels kernels("func.func @k(%x: " + from + ") -> " + to + " {\n  %r = dgc.convert %x to " +
                        elementName<To>() + " : " + from + "\n  return %r : " + to + "\n}");
  ASSERT_TRUE(kernels.ok());
  using StoredFrom = std::conditional_t<std::is_same_v<From, bool>, uint8_t, From>;
  using StoredTo = std::conditional_t<std::is_same_v<To, bool>, uint8_t, To>;
  std::vector<StoredFrom> input(x.begin(), x.end());
  Buffer<StoredTo> output(x.size());
  kernels.call({input.data(), output.data()});
  for (size_t i = 0; i < x.size(); ++i) {
    To expected = convert<To, From>(x[i]);
    if (expected != expected)
      EXPECT_TRUE(output[i] != output[i]) << from << " to " << to << ", element " << i;
    else
      EXPECT_EQ(output[i], StoredTo(expected)) << from << " to " << to << ", element " << i;
  }
}

template <typename From, typename... To> void checkAll(std::tuple<To...>) { (checkConversion<From, To>(), ...); }

template <typename T> class Convert : public testing::Test {};
using Elements =
    testing::Types<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float, double>;
TYPED_TEST_SUITE(Convert, Elements);

TYPED_TEST(Convert, ToEveryType) {
  checkAll<TypeParam>(
      std::tuple<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float, double>());
}

} // namespace
