// Composite ops compute what numpy says: each is compiled and run. The expected numbers are in the .inc files.

#include "test/unit/support/Execute.h"

#include "gtest/gtest.h"
#include <cmath>

using namespace dgc::testing;
using dgc::rt::DType;

namespace {

struct Case {
  const char *name;
  const char *text;
  NamedArrays inputs, expected;
  double tolerance; // relative to the larger of 1 and the expected number
};

void PrintTo(const Case &test, std::ostream *os) { *os << test.name; }

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
#include "test/unit/dialects/dgc/Composites.inc"
#include "test/unit/dialects/dgc/Layers.inc"
#include "test/unit/dialects/dgc/Losses.inc"
  };
  return all;
}

class Composites : public ::testing::TestWithParam<Case> {};

TEST_P(Composites, MatchNumpy) {
  const Case &test = GetParam();
  auto result = execute(test.text, test.inputs);
  ASSERT_TRUE(result.ok()) << result.status();
  for (const auto &[name, expected] : test.expected) {
    ASSERT_TRUE(result->outputs.count(name)) << name;
    std::vector<float> want = expected.as<float>(), got = result->outputs.at(name).as<float>();
    ASSERT_EQ(want.size(), got.size()) << name;
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(want[i], got[i], test.tolerance * std::max(1.0f, std::fabs(want[i]))) << name << " element " << i;
  }
}

/// Calls of libraries read constants from the artifact; kernels have theirs inside. Equal ones are there once.
TEST(Constants, AreOperandsOfLibraryCalls) {
  const auto result = execute(R"(
    func.func @f(%x: tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x2xf32>) {
      %w = dgc.constant dense<[[1.0, 2.0, 3.0, 4.0], [0.5, 0.25, 0.125, 8.0], [-1.0, -2.0, -3.0, -4.0]]> : tensor<3x4xf32>
      %v = dgc.constant dense<[[1.0, -1.0], [2.0, -2.0], [3.0, -3.0], [4.0, -4.0]]> : tensor<4x2xf32>
      %0 = dgc.matmul %x, %w : tensor<2x3xf32>, tensor<3x4xf32>
      %n = dgc.negate %x : tensor<2x3xf32>
      %1 = dgc.matmul %n, %w : tensor<2x3xf32>, tensor<3x4xf32>
      %2 = dgc.matmul %0, %v : tensor<2x4xf32>, tensor<4x2xf32>
      return %0, %1, %2 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x2xf32>
    })",
                              {{"arg0", HostArray::of({2, 3}, std::vector<float>{1, 2, 0, 0, 4, 1}, DType::F32)}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outputs.at("result0").as<float>(), (std::vector<float>{2, 2.5, 3.25, 20, 1, -1, -2.5, 28}));
  EXPECT_EQ(result->outputs.at("result1").as<float>(), (std::vector<float>{-2, -2.5, -3.25, -20, -1, 1, 2.5, -28}));
  EXPECT_EQ(result->outputs.at("result2").as<float>(), (std::vector<float>{96.75, -96.75, 103.5, -103.5}));
}

INSTANTIATE_TEST_SUITE_P(All, Composites, ::testing::ValuesIn(cases()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
