// Every gradient against central differences.
#include "test/unit/passes/gradient/GradientCases.h"
#include "test/unit/passes/gradient/GradientCheck.h"

using namespace dgc::test;

namespace {

class Gradient : public testing::TestWithParam<GradientCase> {};

TEST_P(Gradient, AgreesWithCentralDifferences) {
  EXPECT_LT(gradientError(GetParam(), GetParam()), GetParam().tolerance);
}

INSTANTIATE_TEST_SUITE_P(Table, Gradient, testing::ValuesIn(gradientCases),
                         [](const auto &info) { return std::string(info.param.name); });

// What the comparison finds: a gradient of another function, and one that is wrong by a part in a thousand.
TEST(NegativeControl, AWrongGradientFails) {
  GradientCase sine{"sine", "%x: tensor<4xf64>", "%y = dgc.sine %x : tensor<4xf64>"};
  GradientCase tanh{"tanh", "%x: tensor<4xf64>", "%y = dgc.tanh %x : tensor<4xf64>"};
  GradientCase scaled{"scaled", "%x: tensor<4xf64>",
                      "%s = dgc.sine %x : tensor<4xf64>\n%c = dgc.constant dense<1.001> : tensor<4xf64>\n"
                      "%y = dgc.multiply %s, %c : tensor<4xf64>"};
  EXPECT_GT(gradientError(sine, tanh), 0.1);
  EXPECT_GT(gradientError(sine, scaled), 1e-4);
  EXPECT_LT(gradientError(sine, sine), sine.tolerance);
}

/// The gradient of the sum of what `body` computes from %x, at the given point.
std::vector<double> gradientAt(const char *arguments, const char *body, std::vector<double> x, size_t resultSize) {
  LoadedKernels kernels(buildFunction({"f", arguments, body}, "g", true));
  std::vector<double> weights(resultSize, 1.0), gradient(x.size());
  if (kernels.ok())
    kernels.call({x.data(), weights.data(), gradient.data()});
  return gradient;
}

// Of a, x, b: also where a > b.
TEST(Clamp, TheLimitInForceTakesTheGradient) {
  auto limits = [](const char *by, std::vector<double> values) {
    const std::string arguments = std::string("%v: tensor<6xf64>");
    const std::string body = std::string("%a = dgc.constant dense<[1.0, 1.0, 1.0, 5.0, 5.0, 5.0]> : tensor<6xf64>\n"
                                         "%b = dgc.constant dense<[3.0, 3.0, 3.0, 4.0, 4.0, 4.0]> : tensor<6xf64>\n") +
                             "%y = dgc.clamp " + by + " : tensor<6xf64>";
    return gradientAt(arguments.c_str(), body.c_str(), std::move(values), 6);
  };
  EXPECT_EQ(limits("%a, %v, %b", {0, 2, 4, 0, 4.5, 6}), (std::vector<double>{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(limits("%v, %a, %b", {0, 2, 4, 3, 9, 9}), (std::vector<double>{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(limits("%b, %a, %v", {5, 2, 4, 4, 1, 9}), (std::vector<double>{0, 1, 0, 1, 1, 0}));
}

TEST(Reductions, ExtremesShareTheGradient) {
  EXPECT_EQ(gradientAt("%x: tensor<5xf64>", "%y = dgc.reduce max %x dims [0] : tensor<5xf64>", {1, 3, 2, 3, 3}, 1),
            (std::vector<double>{0, 1.0 / 3, 0, 1.0 / 3, 1.0 / 3}));
  EXPECT_EQ(gradientAt("%x: tensor<2x2xf64>", "%y = dgc.reduce min %x dims [1] : tensor<2x2xf64>", {5, 4, 7, 7}, 2),
            (std::vector<double>{0, 1, 0.5, 0.5}));
}

TEST(Reductions, ProductsWithZeros) {
  const char *product = "%y = dgc.reduce product %x dims [1] : tensor<3x3xf64>";
  EXPECT_EQ(gradientAt("%x: tensor<3x3xf64>", product, {2, 3, 4, 2, 0, 4, 0, 0, 4}, 3),
            (std::vector<double>{12, 8, 6, 0, 8, 0, 0, 0, 0}));
}

TEST(Constants, StopGradient) {
  // Of x * stop(x) + stop(x * x) the gradient is stop(x).
  EXPECT_EQ(gradientAt("%x: tensor<3xf64>",
                       "%s = dgc.stop_gradient %x : tensor<3xf64>\n%a = dgc.multiply %x, %s : tensor<3xf64>\n"
                       "%b = dgc.multiply %x, %x : tensor<3xf64>\n%c = dgc.stop_gradient %b : tensor<3xf64>\n"
                       "%y = dgc.add %a, %c : tensor<3xf64>",
                       {2, -3, 0.5}, 3),
            (std::vector<double>{2, -3, 0.5}));
}

TEST(Windows, TheFirstMaximumTakesTheGradient) {
  EXPECT_EQ(gradientAt("%x: tensor<1x2x4x1xf64>",
                       "%y = dgc.reduce_window max %x window [1, 2, 2, 1] strides [1, 2, 2, 1] : tensor<1x2x4x1xf64>",
                       {1, 7, 5, 5, 7, 7, 5, 5}, 2),
            (std::vector<double>{0, 1, 1, 0, 0, 0, 0, 0}));
  // Overlapping and padded: the windows of 3 over [., 2, 2, 1, 2, .] see 2 2 | 2 2 1 | 2 1 2 | 1 2.
  EXPECT_EQ(gradientAt("%x: tensor<4xf64>", "%y = dgc.reduce_window max %x window [3] padding [[1, 1]] : tensor<4xf64>",
                       {2, 2, 1, 2}, 4),
            (std::vector<double>{2, 1, 0, 1}));
}

} // namespace
