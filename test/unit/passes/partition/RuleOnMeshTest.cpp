// Every sharding rule on a mesh of two by two, by running: the op cut in every way against the op alone.
#include "test/unit/passes/partition/Rule.h"

using namespace dgc::testing;

namespace {

class Rule : public ::testing::TestWithParam<Case> {};

TEST_P(Rule, OnTwoByTwo) { Runner(GetParam(), "data=2,model=2").expectSameHoweverCut(); }

INSTANTIATE_TEST_SUITE_P(Even, Rule, ::testing::ValuesIn(evenCases), nameOfCase);
INSTANTIATE_TEST_SUITE_P(Uneven, Rule, ::testing::ValuesIn(unevenCases), nameOfCase);

} // namespace
