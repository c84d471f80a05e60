// Loops and branches in which devices communicate, by running: cut in every way against the program alone.
#include "test/unit/passes/partition/LoopCases.h"
#include "test/unit/passes/partition/Rule.h"

using namespace dgc::testing;

namespace {

class Loop : public ::testing::TestWithParam<Case> {};

TEST_P(Loop, OnTwoByTwo) { Runner(GetParam(), "data=2,model=2").expectSameHoweverCut(); }

TEST_P(Loop, OnThree) {
  Runner runner(GetParam(), "data=3");
  for (const Cut &place : runner.places())
    runner.expectSame({cut(place, "\"data\"")});
}

INSTANTIATE_TEST_SUITE_P(All, Loop, ::testing::ValuesIn(loopCases), nameOfCase);

// The comparison sees a difference: one more round.
TEST(Loop, OneMoreRoundIsAnotherResult) {
  const Case &c = loopCases[0];
  Case other = c;
  std::string body = c.body;
  body.replace(body.find("dense<3>"), 8, "dense<4>");
  other.body = body.c_str();
  NamedArrays inputs = {{"arg0", array(c.arguments[0], 1)}, {"arg1", array(c.arguments[1], 2)}};
  auto one = execute(program(c, "", {}), inputs), two = execute(program(other, "", {}), inputs);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_GT(relativeError(one->outputs.at("result0"), two->outputs.at("result0")), 1e-2);
}

} // namespace
