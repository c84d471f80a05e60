// Layers that combine the examples of a batch, as a loop: mixtures of experts, and means over the batch. They train what the
// layers written out do, of batches that are not full, too.
#include "test/unit/oracle/Broken.h"

using namespace dgc::testing;

namespace {

/// Experts drop tokens at a CAPACITY below one.
const char *const kExperts = R"(
dgc.model @experts {
  %x = dgc.input "x" : tensor<?x3x6xf32>
  %y = dgc.input "y" : tensor<?x3x6xf32>
  %none = dgc.constant dense<0.0> : tensor<f32>
  %o, %uneven = dgc.repeat 2 "layer" (%h = %x, %before = %none) {
    %w = dgc.variable "w" glorot_uniform : tensor<6x6xf32>
    %router = dgc.variable "router" normal 0 1 : tensor<6x4xf32>
    %w1 = dgc.variable "w1" normal 0 0.4 : tensor<4x6x8xf32>
    %b1 = dgc.variable "b1" normal 0 0.4 : tensor<4x8xf32>
    %w2 = dgc.variable "w2" normal 0 0.4 : tensor<4x8x6xf32>
    %b2 = dgc.variable "b2" normal 0 0.4 : tensor<4x6xf32>
    %d = dgc.dense %h, %w
    %t = dgc.tanh %d
    %e, %balance = dgc.mixture_of_experts %t, %router, %w1, %b1, %w2, %b2 top 2 capacity CAPACITY gelu
    %z = dgc.add %h, %e
    %sum = dgc.add %before, %balance
    dgc.next %z, %sum
  }
  %square = dgc.mean_squared_error %o, %y
  %part = dgc.multiply %uneven, 0.05
  %loss = dgc.add %square, %part
  dgc.loss %loss
  dgc.metric "uneven" %uneven
  dgc.optimizer sgd learning_rate 0.05
}
)";

/// Means over examples, a loss and pairs of examples are in a layer, and loops in loops.
const char *const kMeans = R"(
dgc.model @means {
  %x = dgc.input "x" : tensor<?x3x6xf32>
  %y = dgc.input "y" : tensor<?x3x6xf32>
  %none = dgc.constant dense<0.0> : tensor<f32>
  %o, %c = dgc.repeat 2 "outer" (%h = %x, %before = %none) {
    %w = dgc.variable "w2" glorot_uniform : tensor<6x6xf32>
    %d = dgc.dense %h, %w
    %center = dgc.mean %d dims [0]
    %even = dgc.subtract %d, %center
    %i = dgc.repeat 2 "inner" (%g = %even) {
      %v = dgc.variable "w1" glorot_uniform : tensor<6x6xf32>
      %f = dgc.dense %g, %v
      %most = dgc.reduce max %f dims [0]
      %a = dgc.subtract %f, %most
      %r = dgc.tanh %a
      dgc.next %r
    }
    %flat = dgc.reshape %i to [-1, 18]
    %likeness = dgc.matmul %flat, %flat transposed
    %near = dgc.softmax %likeness dim 1
    %mixed = dgc.matmul %near, %flat
    %back = dgc.reshape %mixed to [-1, 3, 6]
    %sum = dgc.mean_squared_error %back, %d
    %z = dgc.add %h, %back
    %all = dgc.add %before, %sum
    dgc.next %z, %all
  }
  %square = dgc.mean_squared_error %o, %y
  %part = dgc.multiply %c, %c
  %loss = dgc.add %square, %part
  dgc.loss %loss
  dgc.metric "uneven" %c
  dgc.optimizer sgd learning_rate 0.05
}
)";

constexpr int64_t kBatch = 7; // two and three workers have unequal parts

std::string experts(const std::string &capacity) {
  return std::regex_replace(kExperts, std::regex("CAPACITY"), capacity);
}

/// No two examples or steps are alike; those that are padding are large.
NamedArrays examplesOfStep(int step, int64_t size) {
  auto fill = [&](float scale) {
    std::vector<float> values(static_cast<size_t>(size) * 18);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = std::sin(static_cast<float>(i + 7) * scale + static_cast<float>(step)) * (i < 90 ? 1.0F : 3.0F);
    return HostArray::of({size, 3, 6}, values);
  };
  return {{"x", fill(0.7F)}, {"y", fill(0.3F)}};
}

TrainOptions optionsFor(const std::string &repeats, int steps, int valid, const std::string &mesh = "",
                        const std::string &strategy = "", int64_t size = kBatch) {
  TrainOptions how{mesh, strategy, steps, valid};
  how.size = size;
  how.inputs = [size](int step) { return examplesOfStep(step, size); };
  how.repeats = repeats;
  return how;
}

struct Trained {
  NamedArrays weights;
  std::vector<float> reported; // loss and metric of each step
};

Trained trained(const std::string &text, const TrainOptions &how) {
  const absl::StatusOr<std::vector<uint8_t>> &plan = planOf(text, how);
  auto result = plan.ok() ? dgc::rt::runOnce(*plan, how.inputs(0), optionsOf(how).run) : plan.status();
  EXPECT_TRUE(result.ok()) << how.mesh << " " << how.strategy << ": " << result.status();
  if (!result.ok())
    return {};
  Trained all{result->variables, {}};
  for (const NamedArrays &outputs : result->outputsOfStep)
    for (const char *name : {"loss", "uneven"})
      all.reported.push_back(outputs.at(name).as<float>().at(0));
  return all;
}

void expectSame(const Trained &a, const Trained &b, const NamedArrays &initial, const std::string &what) {
  EXPECT_LE(distance(a.weights, b.weights, &initial), 2e-5) << what;
  ASSERT_EQ(a.reported.size(), b.reported.size()) << what;
  for (size_t i = 0; i < b.reported.size(); ++i)
    EXPECT_NEAR(a.reported[i], b.reported[i], 2e-6 * std::max(1.0F, std::abs(b.reported[i]))) << what << ", " << i;
}

size_t countLoops(const std::string &text, const TrainOptions &how) {
  const absl::StatusOr<std::vector<uint8_t>> &plan = planOf(text, how);
  EXPECT_TRUE(plan.ok()) << plan.status();
  size_t loops = 0;
  if (plan.ok())
    for (const auto *program : *dgc::artifact::GetPlan(plan->data())->programs())
      if (program->name()->string_view() == "train")
        for (const auto *step : *program->steps())
          loops += step->action_type() == dgc::artifact::Action::While;
  return loops;
}

class MixtureLoops : public ::testing::TestWithParam<const char *> {
protected:
  static std::string text() { return *GetParam() == 'e' ? experts("0.8") : kMeans; }
};

TEST_P(MixtureLoops, TrainTheSameWeights) {
  const std::pair<const char *, const char *> cases[] = {
      {"", ""},
      {"", "accumulate=3"},
      {"", "recompute=*"},
      {"data=2", "data-parallel"},
      {"data=3", "data-parallel"},
      {"data=2", "zero1"},
      {"data=2", "zero3"},
      {"data=2", "zero2,accumulate=2"},
      {"data=2,model=2", "data-parallel,tensor-parallel=*w1:0,*w2:0"}, // cut by experts, or by features
  };
  EXPECT_EQ(countLoops(text(), optionsFor("unroll", 1, kBatch)), 0u);
  EXPECT_GE(countLoops(text(), optionsFor("loop", 1, kBatch)), 2u);
  for (int valid : {7, 5}) {
    const NamedArrays initial = trained(text(), optionsFor("unroll", 0, valid)).weights;
    const Trained two = trained(text(), optionsFor("unroll", 2, valid));
    EXPECT_GT(distance(two.weights, initial), 1e-3);
    EXPECT_EQ(distance(trained(text(), optionsFor("loop", 0, valid)).weights, initial), 0);
    for (auto [mesh, strategy] : cases) {
      const std::string what = std::string(mesh) + " " + strategy + " " + std::to_string(valid);
      expectSame(trained(text(), optionsFor("loop", 2, valid, mesh, strategy)), two, initial, what);
    }
  }
}

// Without what workers tell each other, or with padding that counts, the numbers are others.
TEST_P(MixtureLoops, NegativeControl) {
  const NamedArrays initial = trained(text(), optionsFor("unroll", 0, 5)).weights;
  const Trained one = trained(text(), optionsFor("unroll", 1, 5)), full = trained(text(), optionsFor("loop", 1, 7));
  EXPECT_GT(distance(full.weights, one.weights, &initial), 1e-2);
  EXPECT_GT(std::abs(full.reported.at(1) - one.reported.at(1)), 1e-4);
  expectBrokenIsNoticed(text(), optionsFor("loop", 1, 5, "data=2", "data-parallel"), one.weights, initial);
}

INSTANTIATE_TEST_SUITE_P(Layers, MixtureLoops, ::testing::Values("experts", "means"),
                         [](const auto &info) { return info.param; });

// The batch that is not full gives what its examples give as a batch of their own, where all experts have places enough.
TEST(MixtureLoopsPadding, IsLeftOut) {
  const std::string text = experts("4");
  const NamedArrays initial = trained(text, optionsFor("unroll", 0, 5, "", "", 5)).weights;
  const Trained five = trained(text, optionsFor("unroll", 2, 5, "", "", 5));
  for (const char *mesh : {"", "data=2"})
    expectSame(trained(text, optionsFor("loop", 2, 5, mesh)), five, initial, mesh);
  EXPECT_GT(distance(trained(text, optionsFor("loop", 2, 7)).weights, five.weights, &initial), 1e-2);
}

} // namespace
