// Composite ops compute what numpy says: each is compiled and run. The expected numbers are in Composites.inc.

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

INSTANTIATE_TEST_SUITE_P(All, Composites, ::testing::ValuesIn(cases()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
