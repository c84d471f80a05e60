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
              ContainsRegex("output 'ratio'.*'loss': both must be metrics of one shape, the second no quotient"));
  EXPECT_THAT(messageOf([](fb::OutputT &, fb::OutputT &ratio) { ratio.over = "ratio"; }),
              ContainsRegex("output 'ratio'.*'ratio': both must be metrics of one shape, the second no quotient"));
  EXPECT_THAT(messageOf([](fb::OutputT &loss, fb::OutputT &ratio) {
                loss.role = fb::OutputRole::Metric;
                ratio.over = "loss";
                ratio.function = fb::MetricFunction::Last;
              }),
              ContainsRegex("output 'ratio'.*the last value is reported of it"));
  EXPECT_THAT(messageOf([](fb::OutputT &, fb::OutputT &ratio) { ratio.over = "count"; }),
              ContainsRegex("output 'ratio'.*'count', which is no output of the program"));
}

TEST(CheckReport, OfAreasThatCannotBe) {
  auto area = [](fb::OutputT &loss, fb::OutputT &ratio) {
    loss.role = fb::OutputRole::Metric;
    ratio.over = "loss";
    ratio.function = fb::MetricFunction::AreaUnderCurve;
  };
  EXPECT_EQ(messageOf(area), "");
  EXPECT_THAT(messageOf([](fb::OutputT &, fb::OutputT &ratio) { ratio.function = fb::MetricFunction::AreaUnderCurve; }),
              ContainsRegex("output 'ratio'.*an area under a curve that has no labels"));
  EXPECT_THAT(messageOf([&](fb::OutputT &loss, fb::OutputT &ratio) {
                area(loss, ratio);
                loss.role = fb::OutputRole::Prediction;
              }),
              ContainsRegex("output 'ratio'.*its labels are 'loss': both must be metrics of one shape"));
  EXPECT_THAT(messageOf([&](fb::OutputT &loss, fb::OutputT &ratio) {
                area(loss, ratio);
                loss.function = fb::MetricFunction::SquareRoot;
              }),
              ContainsRegex("output 'ratio'.*its labels are 'loss': both must be metrics of one shape"));
  EXPECT_THAT(messageOf([&](fb::OutputT &loss, fb::OutputT &ratio) {
                area(loss, ratio);
                ratio.over = "count";
              }),
              ContainsRegex("output 'ratio'.*its labels are 'count', which is no output of the program"));
}

/// What is said of the sample with a second output, the metric 'table' of this type, in a buffer of its own.
std::string messageOfTable(const std::vector<int64_t> &shape, int32_t batchDim, fb::MetricFunction function,
                           bool hasLabels) {
  fb::PlanT plan = samplePlan();
  plan.private_bytes = 1 << 20;
  fb::ProgramT &program = *plan.programs[0];
  const uint32_t buffer = addBuffer(program, 1 << 16, shape);
  for (const char *name : {"table", "labels"}) {
    auto output = std::make_unique<fb::OutputT>(*program.outputs[0]);
    output->name = name;
    output->role = fb::OutputRole::Metric;
    output->result = -1;
    output->global_shape = shape;
    output->batch_dim = batchDim;
    output->buffer = buffer;
    if (output->name == "table") {
      output->function = function;
      output->over = hasLabels ? "labels" : "";
    }
    program.outputs.push_back(std::move(output));
    if (!hasLabels)
      break;
  }
  return std::string(loadBytes(*finishPlan(std::move(plan))).status().message());
}

TEST(CheckReport, OfTensors) {
  using enum fb::MetricFunction;
  EXPECT_EQ(messageOfTable({64, 64}, -1, Last, false), "");
  EXPECT_EQ(messageOfTable({64, 64}, -1, SquareRoot, true), "");
  EXPECT_THAT(messageOfTable({64, 65}, -1, Last, false),
              ContainsRegex("output 'table'.*a metric has from 1 to 4096 elements"));
  EXPECT_THAT(messageOfTable({0, 65}, -1, Last, false),
              ContainsRegex("output 'table'.*a metric has from 1 to 4096 elements"));
  EXPECT_THAT(messageOfTable({4, 4}, 0, Identity, false),
              ContainsRegex("output 'table'.*a metric has no dimension of examples"));
  // Of an area dgc-run has all examples.
  EXPECT_EQ(messageOfTable({64, 65}, 0, AreaUnderCurve, true), "");
}

// The labels of an area may be cut over the workers; as a divisor they may not.
TEST(CheckReport, OfWhatIsCut) {
  for (const char *cut : {"area", "ratio", "labels"}) {
    fb::PlanT plan = samplePlan();
    plan.private_bytes = 1 << 20;
    fb::ProgramT &program = *plan.programs[0];
    const uint32_t whole = addBuffer(program, 1 << 16, {4}), half = addBuffer(program, 1 << 17, {2});
    for (const char *name : {"area", "ratio", "labels"}) {
      auto output = std::make_unique<fb::OutputT>();
      output->name = name;
      output->role = fb::OutputRole::Metric;
      output->global_shape = {4};
      output->buffer = whole;
      if (output->name == cut) {
        output->buffer = half;
        output->sharding = sharding({{0}});
      }
      if (output->name != "labels")
        output->over = "labels";
      if (output->name == "area")
        output->function = fb::MetricFunction::AreaUnderCurve;
      program.outputs.push_back(std::move(output));
    }
    const std::string message(loadBytes(*finishPlan(std::move(plan))).status().message());
    EXPECT_THAT(message, ContainsRegex(std::string(cut) == "area" ? "^$" : "output 'ratio'.*cut over the workers"));
  }
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
