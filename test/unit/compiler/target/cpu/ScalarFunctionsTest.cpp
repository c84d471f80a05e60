//===- ScalarFunctionsTest.cpp - elementwise functions of kernels ----------===//
//
// Exponential, powers and the other functions of one or two numbers, over their ranges and at special values.
//
//===----------------------------------------------------------------------===//

#include "LoadedKernels.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace dgc::test;

namespace {

std::string unary(const std::string &op, const std::string &type, const std::string &result = "") {
  return llvm::formatv("func.func @k(%a: {1}) -> {2} {{ %r = dgc.{0} %a : {1}\n return %r : {2} }", op, type,
                       result.empty() ? type : result);
}

TEST(Exponential, WholeRange) {
  LoadedKernels kernels(unary("exponential", "tensor<20000xf32>"));
  ASSERT_TRUE(kernels.ok());
  Buffer<float> a(20000), r(20000);
  for (int i = 0; i < 20000; ++i)
    a[i] = -100.0f + i * 0.0095f;
  kernels.call({a.data(), r.data()});
  for (int i = 0; i < 20000; ++i) {
    double expected = std::exp(double(a[i]));
    if (expected > 3.4028235e38)
      ASSERT_TRUE(std::isinf(r[i])) << a[i];
    else if (LoadedKernels::onGpu() && expected < 2e-38)
      ASSERT_NEAR(r[i], expected, expected) << a[i]; // 0 where it is no normal number
    else
      ASSERT_NEAR(r[i], expected, expected * 2e-7 + 2e-45) << a[i];
  }
}

TEST(Exponential, SpecialValues) {
  LoadedKernels kernels(unary("exponential", "tensor<6xf32>"));
  ASSERT_TRUE(kernels.ok());
  Buffer<float> a(6), r(6);
  float values[] = {INFINITY, -INFINITY, NAN, 0.0f, 1e30f, -1e30f};
  std::copy(values, values + 6, a.data());
  kernels.call({a.data(), r.data()});
  EXPECT_EQ(r[0], INFINITY);
  EXPECT_EQ(r[1], 0.0f);
  EXPECT_TRUE(std::isnan(r[2]));
  EXPECT_EQ(r[3], 1.0f);
  EXPECT_EQ(r[4], INFINITY);
  EXPECT_EQ(r[5], 0.0f);
}

struct Function {
  const char *op;
  double (*reference)(double);
  double low, high, tolerance;
};
class Functions : public testing::TestWithParam<Function> {};

TEST_P(Functions, F32AndF64) {
  const Function &f = GetParam();
  // A GPU has no library for f64.
  const std::string wide = LoadedKernels::onGpu() ? "abs" : f.op;
  LoadedKernels single(unary(f.op, "tensor<5003xf32>")), twice(unary(wide, "tensor<5003xf64>"));
  ASSERT_TRUE(single.ok() && twice.ok());
  // There the error of sine and cosine grows with the argument.
  bool isPeriodic = std::string(f.op) == "sine" || std::string(f.op) == "cosine" || std::string(f.op) == "tan";
  double tolerance = LoadedKernels::onGpu() && isPeriodic ? 1e-5 : f.tolerance;
  Buffer<float> a(5003), r(5003);
  Buffer<double> b(5003), s(5003);
  for (int i = 0; i < 5003; ++i) {
    b[i] = f.low + (f.high - f.low) * i / 5002;
    a[i] = b[i];
  }
  single.call({a.data(), r.data()});
  twice.call({b.data(), s.data()});
  for (int i = 0; i < 5003; ++i) {
    double expected = f.reference(a[i]);
    ASSERT_NEAR(r[i], expected, tolerance * std::max(1.0, std::abs(expected))) << f.op << " of " << a[i];
    if (!LoadedKernels::onGpu())
      ASSERT_NEAR(s[i], f.reference(b[i]), 1e-13 * std::max(1.0, std::abs(expected))) << f.op << " of " << b[i];
  }
}
INSTANTIATE_TEST_SUITE_P(
    All, Functions,
    testing::Values(Function{"log", std::log, 1e-6, 1000, 4e-7}, Function{"tanh", std::tanh, -12, 12, 1e-6},
                    Function{"erf", std::erf, -5, 5, 1e-6},
                    Function{"logistic", [](double x) { return 1 / (1 + std::exp(-x)); }, -30, 30, 4e-7},
                    Function{"log_plus_one", std::log1p, -0.9, 50, 1e-6},
                    Function{"exponential_minus_one", std::expm1, -5, 5, 1e-6},
                    Function{"sqrt", std::sqrt, 0, 100, 2e-7},
                    Function{"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1e-3, 100, 4e-7},
                    Function{"tan", std::tan, -1.4, 1.4, 1e-6}, Function{"cbrt", std::cbrt, -50, 50, 4e-7},
                    Function{"sine", std::sin, -100, 100, 4e-7}, Function{"cosine", std::cos, -100, 100, 4e-7}),
    [](const auto &info) { return std::string(info.param.op); });

TEST(Atan2, AllQuadrants) {
  LoadedKernels kernels("func.func @k(%y: tensor<1681xf32>, %x: tensor<1681xf32>) -> tensor<1681xf32> {\n"
                        "%r = dgc.atan2 %y, %x : tensor<1681xf32>\n return %r : tensor<1681xf32> }");
  ASSERT_TRUE(kernels.ok());
  Buffer<float> y(1681), x(1681), r(1681);
  for (int i = 0; i < 1681; ++i) {
    const int row = i / 41, column = i % 41;
    y[i] = (column - 20) / 7.0f;
    x[i] = (row - 20) / 5.0f;
  }
  kernels.call({y.data(), x.data(), r.data()});
  for (int i = 0; i < 1681; ++i)
    ASSERT_NEAR(r[i], std::atan2(y[i], x[i]), 1e-6) << y[i] << ", " << x[i];
}

TEST(Power, SignsZerosAndInfinities) {
  const double values[] = {-INFINITY, -2.5, -2, -1, -0.5, -0.0, 0.0, 0.5, 1, 1.5, 2, 3, INFINITY, NAN};
  constexpr size_t count = std::size(values), all = count * count;
  std::string type = "tensor<" + std::to_string(all) + "xf32>";
  LoadedKernels kernels("func.func @k(%a: " + type + ", %b: " + type + ") -> " + type +
                        " { %r = dgc.power %a, %b : " + type + "\n return %r : " + type + " }");
  ASSERT_TRUE(kernels.ok());
  Buffer<float> a(all), b(all), r(all);
  for (size_t i = 0; i < all; ++i) {
    a[i] = static_cast<float>(values[i / count]);
    b[i] = static_cast<float>(values[i % count]);
  }
  kernels.call({a.data(), b.data(), r.data()});
  for (size_t i = 0; i < all; ++i) {
    double expected = std::pow(double(a[i]), b[i]);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(r[i])) << a[i] << " to the " << b[i];
    else if (std::isinf(expected) || expected == 0)
      EXPECT_TRUE(r[i] == expected && std::signbit(r[i]) == std::signbit(expected)) << a[i] << " to the " << b[i];
    else
      EXPECT_NEAR(r[i], expected, 1e-6 * std::abs(expected)) << a[i] << " to the " << b[i];
  }
}

} // namespace
