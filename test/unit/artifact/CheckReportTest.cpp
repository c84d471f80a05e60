// What is wrong in how a metric is reported.
#include "SamplePlan.h"

#include "runtime/artifact/Reader.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <functional>

using namespace dgc::rt;
using namespace dgc::rt::test;
using ::testing::ContainsRegex;

namespace {
/// What is said of the sample with a second output, the metric 'ratio'.
std::string messageOf(const std::function<void(fb::OutputT &loss, fb::OutputT &ratio)> &change) {
  fb::PlanT plan = samplePlan();
  auto &outputs = plan.programs[0]->outputs;
  outputs.push_back(std::make_unique<fb::OutputT>(*outputs[0]));
  outputs[1]->name = "ratio";
  outputs[1]->role = fb::OutputRole::Metric;
  outputs[1]->result = -1;
  change(*outputs[0], *outputs[1]);
  return std::string(loadBytes(*finishPlan(std::move(plan))).status().message());
}

TEST(CheckReport, OfQuotientsThatCannotBe) {
  EXPECT_EQ(messageOf([](fb::OutputT &, fb::OutputT &) {}), "");
  EXPECT_EQ(messageOf([](fb::OutputT &loss, fb::OutputT &ratio) {
              loss.role = fb::OutputRole::Metric;
              ratio.over = "loss";
              ratio.function = fb::MetricFunction::SquareRoot;
            }),
            "");
  EXPECT_THAT(messageOf([](fb::OutputT &, fb::OutputT &ratio) { ratio.over = "loss"; }),
              ContainsRegex("output 'ratio'.*'loss': both must be scalar metrics"));
  EXPECT_THAT(messageOf([](fb::OutputT &, fb::OutputT &ratio) { ratio.over = "ratio"; }),
              ContainsRegex("output 'ratio'.*'ratio': both must be scalar metrics"));
  EXPECT_THAT(messageOf([](fb::OutputT &loss, fb::OutputT &ratio) {
                loss.role = fb::OutputRole::Metric;
                ratio.over = "loss";
                ratio.function = fb::MetricFunction::Last;
              }),
              ContainsRegex("output 'ratio'.*the last value is reported of it"));
  EXPECT_THAT(messageOf([](fb::OutputT &, fb::OutputT &ratio) { ratio.over = "count"; }),
              ContainsRegex("output 'ratio'.*'count', which is no output of the program"));
}

TEST(CheckReport, OfSumsThatDoNotBeginAtZero) {
  fb::PlanT plan = samplePlan();
  plan.variables[0]->role = fb::VariableRole::Total;
  EXPECT_THAT(std::string(loadBytes(*finishPlan(std::move(plan))).status().message()),
              ContainsRegex("is a sum of an evaluation, and does not begin at 0"));
}

TEST(CheckReport, OfWhatIsNoMetric) {
  EXPECT_THAT(messageOf([](fb::OutputT &loss, fb::OutputT &) { loss.over = "ratio"; }),
              ContainsRegex("output 'loss'.*only a metric is divided"));
  EXPECT_THAT(messageOf([](fb::OutputT &loss, fb::OutputT &) { loss.function = fb::MetricFunction::Exponential; }),
              ContainsRegex("output 'loss'.*only a metric is divided"));
  EXPECT_THAT(messageOf([](fb::OutputT &loss, fb::OutputT &) { loss.function = fb::MetricFunction(9); }),
              ContainsRegex("'loss'.*unknown function"));
}
} // namespace
