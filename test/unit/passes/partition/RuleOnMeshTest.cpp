// Every sharding rule on a mesh of two by two, by running: the op cut in every way against the op alone.
#include "test/unit/passes/partition/Rule.h"

using namespace dgc::testing;

namespace {

// Each dimension cut by one axis, by both, and each two dimensions (of one value or of two) by one each. The rest
// follows by propagation, or is resharded.
class Rule : public ::testing::TestWithParam<Case> {};

TEST_P(Rule, OnTwoByTwo) {
  Runner runner(GetParam(), "data=2,model=2");
  std::vector<Cut> places = runner.places();
  for (size_t i = 0; i < places.size(); ++i) {
    runner.expectSame({cut(places[i], "\"model\", \"data\"")});
    for (size_t j = i + 1; j < places.size(); ++j)
      runner.expectSame({cut(places[i], "\"data\""), cut(places[j], "\"model\"")});
  }
}
INSTANTIATE_TEST_SUITE_P(Even, Rule, ::testing::ValuesIn(evenCases), nameOfCase);
INSTANTIATE_TEST_SUITE_P(Uneven, Rule, ::testing::ValuesIn(unevenCases), nameOfCase);

} // namespace
