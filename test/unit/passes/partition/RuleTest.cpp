// Every sharding rule on a row of devices, by running: the op cut in every way against the op alone.
#include "test/unit/passes/partition/Rule.h"

using namespace dgc::testing;

namespace {

// Each dimension cut. The rest follows by propagation, or is resharded.
class Rule : public ::testing::TestWithParam<Case> {};

TEST_P(Rule, OnTwo) {
  Runner runner(GetParam(), "data=2");
  for (const Cut &place : runner.places())
    runner.expectSame({cut(place, "\"data\"")});
}

// Three parts, so that there is one in the middle, with two neighbours.
TEST_P(Rule, OnThree) {
  Runner runner(GetParam(), "data=3");
  for (const Cut &place : runner.places())
    runner.expectSame({cut(place, "\"data\"")});
}

INSTANTIATE_TEST_SUITE_P(Even, Rule, ::testing::ValuesIn(evenCases), nameOfCase);
INSTANTIATE_TEST_SUITE_P(Uneven, Rule, ::testing::ValuesIn(unevenCases), nameOfCase);

/// A sum of seven elements in blocks of four, written for one device; `mask` makes the padding of the last block zero.
std::string sumOfBlocks(bool mask) {
  std::string masked = mask ? "%k = dist.axis_index @mesh [\"data\"]\n"
                              "%four = dgc.constant dense<4> : tensor<i64>\n"
                              "%s = dgc.multiply %k, %four : tensor<i64>\n"
                              "%i = dgc.iota dim 0 from %s : tensor<4xi64>\n"
                              "%n = dgc.constant dense<7> : tensor<4xi64>\n"
                              "%p = dgc.compare lt %i, %n : tensor<4xi64>\n"
                              "%z = dgc.constant dense<0.0> : tensor<4xf32>\n"
                              "%x = dgc.select %p, %a, %z : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>\n"
                            : "%x = dgc.negate %a : tensor<4xf32>\n";
  return "dist.mesh @mesh <data = 2>\n"
         "func.func @f(%a: tensor<4xf32> {dist.global_type = tensor<7xf32>, "
         "dist.sharding = #dist.sharding<@mesh, [{\"data\"}]>}) -> (tensor<f32> {dist.global_type = tensor<f32>, "
         "dist.sharding = #dist.sharding<@mesh, []>}) {\n" +
         masked +
         "%r = dgc.reduce sum %x dims [0] : tensor<4xf32>\n"
         "%t = dist.all_reduce sum %r over @mesh [\"data\"] : tensor<f32>\n"
         "return %t : tensor<f32>\n}\n";
}

// The negative control: without the mask that the partitioner puts before a reduction the result is another one.
TEST(Padding, ForgottenMaskIsSeen) {
  NamedArrays inputs = {{"arg0", array({7}, 1)}};
  double expected = 0;
  for (float x : inputs.at("arg0").as<float>())
    expected += x;
  ExecuteOptions options;
  options.mesh = "data=2";
  options.from = "partition";
  auto right = execute(sumOfBlocks(true), inputs, options), wrong = execute(sumOfBlocks(false), inputs, options);
  ASSERT_TRUE(right.ok()) << right.status();
  EXPECT_NEAR(right->outputs.at("result0").as<float>()[0], expected, 1e-6);
  // Its padding is NaN; replicas that differ would be an error as well.
  ASSERT_TRUE(wrong.ok()) << wrong.status();
  EXPECT_FALSE(std::abs(std::abs(wrong->outputs.at("result0").as<float>()[0]) - std::abs(expected)) < 1e-3);
}

} // namespace
