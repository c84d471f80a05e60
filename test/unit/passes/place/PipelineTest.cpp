// Pipelines by running: whatever the schedule, stages and micro-batches compute what one device computes on the whole
// batch.
#include "test/unit/passes/place/StagedModel.h"

#include "runtime/artifact/Groups.h"
#include "runtime/artifact/PlanTraffic.h"
#include "runtime/artifact/Reader.h"

#include <optional>

using namespace dgc::testing;

namespace {

struct Pipeline {
  const char *schedule, *mesh;
  int stages, microbatches;
};

ExecuteOptions optionsOf(const Pipeline &pipeline, int steps) {
  ExecuteOptions options = optionsFor(pipeline.mesh, "train", steps);
  options.strategy = std::string("pipeline=") + pipeline.schedule;
  options.microbatches = pipeline.microbatches;
  return options;
}

dgc::rt::RunOnceResult run(const std::string &model, const Pipeline &pipeline, int steps) {
  auto result = execute(model, batchOfStep(0), optionsOf(pipeline, steps));
  EXPECT_TRUE(result.ok()) << pipeline.schedule << " on " << pipeline.mesh << ": " << result.status();
  return result.ok() ? *std::move(result) : dgc::rt::RunOnceResult();
}

class Pipelines : public ::testing::TestWithParam<Pipeline> {};

TEST_P(Pipelines, HaveTheGradientsAndWeightsOfOneDevice) {
  std::string model = mlp(GetParam().stages);
  NamedArrays initial = dgc::testing::run(model, "", 0).variables, one = dgc::testing::run(model, "", 1).variables;
  NamedArrays step = run(model, GetParam(), 1).variables;
  expectClose(one, step, 1e-6);
  expectClose(changes(initial, one), changes(initial, step), 2e-5);
  dgc::rt::RunOnceResult alone = dgc::testing::run(model, "", 20), many = run(model, GetParam(), 20);
  expectClose(alone.variables, many.variables, 1e-5);
  expectClose(alone.outputs, many.outputs, 1e-5);
}

// A batch of which the last examples are padding: the mean is over the real ones, in whichever micro-batch they are.
TEST(Pipeline, WeightsAShortBatchRight) {
  std::string model = mlp(2);
  ExecuteOptions alone = optionsFor("", "train", 2), many = optionsOf({"1f1b", "stage=2,data=2", 2, 3}, 2);
  alone.run.validCount = many.run.validCount = 17;
  auto expected = execute(model, batchOfStep(0), alone), actual = execute(model, batchOfStep(0), many);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status();
  expectClose(expected->variables, actual->variables, 1e-6);
}

TEST(Pipeline, NoticesGradientsOfAnotherSize) {
  NamedArrays initial = dgc::testing::run(mlp(2), "", 0).variables, one = dgc::testing::run(mlp(2), "", 1).variables;
  NamedArrays wrong = run(mlp(2, "sgd learning_rate 0.05", "2.0"), {"1f1b", "stage=2", 2, 4}, 1).variables;
  NamedArrays expected = changes(initial, one), actual = changes(initial, wrong);
  for (const auto &[name, array] : expected)
    EXPECT_GT(relativeError(array, actual.at(name)), 0.5) << name;
}

INSTANTIATE_TEST_SUITE_P(Schedules, Pipelines,
                         ::testing::Values(Pipeline{"gpipe", "stage=2", 2, 4}, Pipeline{"1f1b", "stage=2", 2, 5},
                                           Pipeline{"zb-h1", "stage=2", 2, 4}, Pipeline{"interleaved", "stage=2", 4, 4},
                                           Pipeline{"gpipe", "stage=2,data=2", 2, 3}, Pipeline{"1f1b", "stage=4", 4, 6},
                                           Pipeline{"zb-h1", "stage=4", 4, 8}, Pipeline{"interleaved", "stage=4", 8, 4},
                                           Pipeline{"1f1b", "stage=4,data=2", 4, 6},
                                           Pipeline{"zb-h1", "stage=2,data=4", 2, 3}, Pipeline{"1f1b", "stage=8", 8, 8},
                                           Pipeline{"gpipe", "stage=3", 3, 4}, Pipeline{"zb-h1", "stage=3", 3, 5},
                                           Pipeline{"interleaved", "stage=3", 6, 3}, Pipeline{"gpipe", "stage=8", 8, 3},
                                           Pipeline{"zb-h1", "stage=8", 8, 4},
                                           Pipeline{"interleaved", "stage=8", 16, 8}),
                         [](const auto &info) {
                           std::string name = std::string(info.param.schedule) + "_" + info.param.mesh;
                           std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

/// Four stages of `layers` equal layers each; a value of one micro-batch is `valueBytes`, a weight a quarter of that.
constexpr int layers = 2, width = 16, examples = 64, valueBytes = examples * width * 4;

/// The sum of squares is divided by the number of elements, or by what the labels add up to.
std::string chain(int microbatches, bool isCounted = false) {
  std::string type = "tensor<" + std::to_string(microbatches * examples) + "x" + std::to_string(width) + "xf32>";
  std::string weight = "tensor<" + std::to_string(width) + "x" + std::to_string(width) + "xf32>";
  std::string text =
      "dgc.model @chain {\n  %x = dgc.input \"x\" : " + type + "\n  %y = dgc.input \"y\" : " + type + "\n";
  std::string value = "%x";
  for (int i = 0; i < 4 * layers; ++i) {
    std::string n = std::to_string(i), stage = " {dist.stage = " + std::to_string(i / layers) + "}";
    text += "  %w" + n + " = dgc.variable \"w" + n + "\" glorot_uniform : " + weight + "\n";
    text += "  %d" + n + " = dgc.matmul " + value + ", %w" + n + stage + "\n  %h" + n + " = dgc.tanh %d" + n + "\n";
    value = "%h" + n;
  }
  text += isCounted ? "  %e = dgc.subtract " + value +
                          ", %y\n  %q = dgc.multiply %e, %e\n  %sum = dgc.reduce sum %q dims [0, 1]\n"
                          "  %n = dgc.reduce sum %y dims [0, 1]\n  %loss = dgc.divide %sum, %n\n"
                    : "  %loss = dgc.mean_squared_error " + value + ", %y\n";
  return text + "  dgc.loss %loss\n  dgc.optimizer sgd learning_rate 0.1\n}\n";
}

/// Bytes of the arenas of the workers of each stage.
std::vector<uint64_t> memoryOf(const char *schedule, int microbatches, bool isCounted = false) {
  auto bytes = compileText(chain(microbatches, isCounted), optionsOf({schedule, "stage=4", 4, microbatches}, 1));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  auto artifact = dgc::rt::loadBytes(*bytes);
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  std::vector<uint64_t> result;
  for (const dgc::artifact::Group *group : *(*artifact)->plan().groups())
    result.push_back(group->private_bytes() + group->shared_bytes());
  return result;
}

// Of a micro-batch in flight a stage holds its input and what each of its layers gives, the last one its labels as
// well. With gpipe all M are in flight, with 1f1b min(p - i, M) on stage i of p. The first and the last stage hold
// inputs of the whole batch. What comes on top is the same for all numbers of micro-batches (on the first and the last
// stage up to a quarter of a value), and for all stages between those: weights, their gradients, and two to four values
// that are on their way or being computed. (With gpipe the first stage is done with the whole batch when it holds
// most.)
TEST(Memory, IsThatOfTheMicrobatchesInFlight) {
  for (const std::string schedule : {"gpipe", "1f1b"}) {
    std::optional<int64_t> rest[3]; // of the first stage, of those between, of the last one
    const int least = schedule == "gpipe" ? 5 : 6;
    for (int microbatches : {least, least + 1}) { // written out
      std::vector<uint64_t> bytes = memoryOf(schedule.c_str(), microbatches);
      ASSERT_EQ(bytes.size(), 4u);
      for (int stage = 0; stage < 4; ++stage) {
        SCOPED_TRACE(schedule + ", " + std::to_string(microbatches) + " micro-batches, stage " + std::to_string(stage));
        const bool first = stage == 0, last = stage == 3;
        int held = schedule == "gpipe" ? microbatches : std::min(4 - stage, microbatches);
        int values = held * (layers + 1 + last) + (first || last ? microbatches : 0);
        int64_t more = static_cast<int64_t>(bytes[stage]) - values * valueBytes;
        std::optional<int64_t> &known = rest[last ? 2 : !first];
        EXPECT_NEAR(more, known.value_or(more), first || last ? valueBytes / 4 : 0);
        EXPECT_GE(more, (first && schedule == "gpipe" ? -1 : last ? 1 : 2) * valueBytes);
        EXPECT_LE(more, 4 * valueBytes);
        known = more;
      }
    }
  }
}

// The same for any number of micro-batches, from those on that are rounds of a loop, but for inputs of the whole batch.
TEST(Memory, OfRoundsIsThatOfAFewMicrobatches) {
  for (const char *schedule : {"1f1b", "zb-h1"}) {
    std::vector<uint64_t> few = memoryOf(schedule, 16), many = memoryOf(schedule, 32);
    ASSERT_EQ(few.size(), many.size());
    for (size_t stage = 0; stage < few.size(); ++stage) {
      const bool hasInputs = stage == 0 || stage + 1 == few.size();
      EXPECT_NEAR(static_cast<double>(many[stage] - few[stage]), hasInputs ? 16 * valueBytes : 0,
                  hasInputs ? valueBytes : 0)
          << schedule << ", stage " << stage;
    }
  }
}

// What inputs alone give, and all micro-batches wait for, is there before the first forward pass: the schedule is that
// of a constant denominator, and holds as much.
TEST(Memory, IsThatOfAConstantDenominator) {
  for (const char *schedule : {"1f1b", "zb-h1"}) {
    std::vector<uint64_t> constant = memoryOf(schedule, 6), counted = memoryOf(schedule, 6, true);
    ASSERT_EQ(constant.size(), counted.size());
    for (size_t stage = 0; stage < counted.size(); ++stage)
      EXPECT_LE(counted[stage], constant[stage] + valueBytes) << schedule << ", stage " << stage;
  }
}

// With m micro-batches each boundary has m activations forward and m gradients back; loss and accuracy come once.
TEST(Transfers, AreOnePerMicrobatchAndBoundary) {
  for (int microbatches : {3, 6, 24}) { // written out, and in a loop
    auto bytes = compileText(mlp(2), optionsOf({"1f1b", "stage=2", 2, microbatches}, 1));
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    auto artifact = dgc::rt::loadBytes(*bytes);
    ASSERT_TRUE(artifact.ok()) << artifact.status();
    const uint64_t each = microbatches;
    for (uint32_t rank : {0, 1}) {
      dgc::rt::Traffic traffic = dgc::rt::trafficOf(*dgc::rt::programOf((*artifact)->plan(), "train", rank));
      EXPECT_EQ(traffic.sends, each + (rank == 1 ? 2 : 0));
      EXPECT_EQ(traffic.receives, each + (rank == 0 ? 2 : 0));
    }
  }
}

TEST(Refusals, SayWhatWouldBeAccepted) {
  auto errorOf = [](const Pipeline &pipeline) {
    return std::string(compileText(mlp(pipeline.stages), optionsOf(pipeline, 1)).status().message());
  };
  EXPECT_NE(errorOf({"2f2b", "stage=2", 2, 4}).find("one of gpipe, 1f1b, interleaved, zb-h1"), std::string::npos);
  EXPECT_NE(errorOf({"1f1b", "stage=2", 2, 0}).find("add --microbatches M"), std::string::npos);
  EXPECT_NE(errorOf({"interleaved", "stage=2", 4, 3}).find("needs a multiple of 2 micro-batches, not 3"),
            std::string::npos);
  EXPECT_NE(errorOf({"1f1b", "stage=2", 3, 4}).find("is on stage 2, but the mesh has 2 positions"), std::string::npos);
  EXPECT_NE(errorOf({"1f1b", "data=2", 2, 4}).find("distributes over the axis 'stage'"), std::string::npos);
}

} // namespace
