// A model with every op whose meaning spans the batch, on one worker and on several, at once and in micro-batches:
// dropout drops the same elements, batch normalization sees the statistics of the whole batch, padding counts nowhere.
// The workers are threads.

#include "test/unit/support/Execute.h"

#include "gtest/gtest.h"
#include <cmath>
#include <map>
#include <random>

using namespace dgc::testing;

namespace {

constexpr int64_t batch = 12;

// Plain SGD, as Adam hides a gradient that is too large by a factor.
const char *const model = R"(
dgc.model @mixed {
  %image = dgc.input "image" : tensor<?x8x6xf32>
  %label = dgc.input "label" : tensor<?xi32>
  %target = dgc.input "target" : tensor<?x3xf32>
  %k = dgc.variable "k" glorot_uniform : tensor<3x3x1x4xf32>
  %scale = dgc.variable "scale" constant 1.5 : tensor<4xf32>
  %offset = dgc.variable "offset" constant 0.1 : tensor<4xf32>
  %mean = dgc.variable "mean" zeros : tensor<4xf32>
  %variance = dgc.variable "variance" constant 1 : tensor<4xf32>
  %row_scale = dgc.variable "row_scale" constant 0.7 : tensor<48xf32>
  %row_offset = dgc.variable "row_offset" zeros : tensor<48xf32>
  %w = dgc.variable "w" he_normal : tensor<48x3xf32>
  %b = dgc.variable "b" zeros : tensor<3xf32>
  %x = dgc.expand_dims %image at 3
  %c = dgc.conv2d %x, %k padding same
  %n, %next_mean, %next_variance = dgc.batch_norm %c, %scale, %offset, %mean, %variance momentum 0.8
  dgc.assign %mean, %next_mean
  dgc.assign %variance, %next_variance
  %g = dgc.gelu %n tanh
  %p = dgc.avg_pool %g window [2, 2]
  %f = dgc.flatten %p
  %l = dgc.layer_norm %f, %row_scale, %row_offset
  %d = dgc.dropout %l rate 0.3
  %y = dgc.dense %d, %w, %b
  %entropy = dgc.cross_entropy %y, %label
  %soft = dgc.softmax %y
  %square = dgc.mean_squared_error %soft, %target
  %loss = dgc.add %entropy, %square
  %accuracy = dgc.accuracy %y, %label
  dgc.loss %loss
  dgc.metric "accuracy" %accuracy
  dgc.output "y" %y
  dgc.optimizer sgd learning_rate 0.05 momentum 0.9 clip_global_norm 2
}
)";

NamedArrays batchOfStep(int step) {
  std::mt19937 rng(step + 1);
  std::normal_distribution<float> normal;
  std::vector<float> image(batch * 8 * 6), target(batch * 3);
  std::vector<int32_t> label(batch);
  for (float &value : image)
    value = normal(rng) + 0.3f;
  for (float &value : target)
    value = normal(rng);
  for (int32_t &value : label)
    value = int32_t(rng() % 3);
  return {{"image", HostArray::of({batch, 8, 6}, image)},
          {"label", HostArray::of({batch}, label)},
          {"target", HostArray::of({batch, 3}, target)}};
}

/// How a batch is computed.
struct How {
  int workers, microbatches = 1;
  auto operator<=>(const How &) const = default;
};

void PrintTo(const How &how, std::ostream *os) { *os << how.workers << " workers, " << how.microbatches; }

/// The plan of a model; each is compiled once.
const std::vector<uint8_t> &planOf(const std::string &text, How how) {
  static std::map<std::pair<std::string, How>, std::vector<uint8_t>> plans;
  auto [entry, isNew] = plans.try_emplace({text, how});
  if (isNew) {
    ExecuteOptions options;
    options.from = "input";
    options.batch = batch;
    options.mesh = how.workers > 1 ? "data=" + std::to_string(how.workers) : "";
    options.strategy = how.microbatches > 1 ? "accumulate=" + std::to_string(how.microbatches) : "";
    absl::StatusOr<std::vector<uint8_t>> plan = compileText(text, options);
    EXPECT_TRUE(plan.ok()) << plan.status();
    if (plan.ok())
      entry->second = *std::move(plan);
  }
  return entry->second;
}

dgc::rt::RunOnceResult run(const std::string &text, const std::string &program, How how, int steps, int validCount,
                           const NamedArrays &variables = {}) {
  auto inputs = [&](int step) {
    NamedArrays arrays = batchOfStep(step);
    if (program == "predict")
      return NamedArrays{{"image", arrays.at("image")}};
    return arrays;
  };
  dgc::rt::RunOnceOptions options;
  options.program = program;
  options.seed = 11;
  options.steps = steps;
  options.validCount = validCount;
  options.variables = variables;
  options.inputsOfStep = inputs;
  absl::StatusOr<dgc::rt::RunOnceResult> result = dgc::rt::runOnce(planOf(text, how), inputs(0), options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : dgc::rt::RunOnceResult();
}

/// The largest relative L2 difference of two sets of arrays.
double difference(const NamedArrays &a, const NamedArrays &b) {
  double worst = a.size() == b.size() && !a.empty() ? 0 : 1;
  for (const auto &[name, array] : a) {
    std::vector<float> x = array.as<float>(), y = b.at(name).as<float>();
    double distance = 0, norm = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      distance += std::pow(double(x[i]) - y[i], 2);
      norm += std::pow(double(x[i]), 2);
    }
    worst = std::max(worst, std::sqrt(distance / std::max(norm, 1e-6)));
  }
  return worst;
}

class Workers : public ::testing::TestWithParam<How> {};

TEST_P(Workers, TrainAsOne) {
  for (int validCount : {-1, 7}) {
    auto one = run(model, "train", How{1}, 5, validCount), several = run(model, "train", GetParam(), 5, validCount);
    EXPECT_LT(difference(one.variables, several.variables), 2e-5) << "valid count " << validCount;
    EXPECT_LT(difference(one.outputs, several.outputs), 2e-5) << "valid count " << validCount;
  }
}

TEST_P(Workers, EvaluateAndPredictAsOne) {
  NamedArrays variables = run(model, "train", How{1}, 3, -1).variables;
  for (auto [program, validCount] : {std::pair("evaluate", 5), std::pair("predict", -1)}) {
    auto one = run(model, program, How{1}, 1, validCount, variables);
    auto several = run(model, program, GetParam(), 1, validCount, variables);
    EXPECT_LT(difference(one.outputs, several.outputs), 1e-5) << program;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Workers,
                         ::testing::Values(How{2}, How{3}, How{4}, How{1, 3}, How{1, 12}, How{3, 4}, How{4, 3},
                                           // Rounds of a loop.
                                           How{1, 6}, How{2, 6},
                                           // Micro-batches of 3 and 2, of which workers have 2, 1 and none.
                                           How{1, 5}, How{2, 5}, How{3, 5}));

// Losses of all kinds, and what draws: weights and ignored labels count over the whole batch, quotients are those of all
// examples, noise is the same wherever it is drawn.
const char *const losses = R"(
dgc.model @losses {
  %image = dgc.input "image" : tensor<?x8x6xf32>
  %label = dgc.input "label" : tensor<?xi32>
  %target = dgc.input "target" : tensor<?x3xf32>
  %w = dgc.variable "w" he_normal : tensor<48x3xf32>
  %k = dgc.variable "k" he_normal : tensor<6x4xf32>
  %f = dgc.flatten %image
  %noise = dgc.random_normal 0.0 0.3 : tensor<?x48xf32>
  %jitter = dgc.random_uniform -0.5 0.5 always : tensor<?x48xf32>
  %g = dgc.add %f, %noise
  %n = dgc.add %g, %jitter
  %y = dgc.dense %n, %w
  %class_weights = dgc.constant dense<[0.5, 2.0, 1.0]> : tensor<3xf32>
  %weighted = dgc.cross_entropy %y, %label ignore_index 1 weights %class_weights
  %counted = dgc.cross_entropy %y, %label ignore_index 2
  %squares = dgc.multiply %target, %target
  %s = dgc.reduce sum %squares dims [1]
  %distance = dgc.mean_squared_error %y, %target sample_weights %s
  %speech = dgc.dense %image, %k
  %sums = dgc.cumulative_sum %speech dim 1 reverse
  %scaled = dgc.scale %sums by 0.1
  %words = dgc.expand_dims %label at 1
  %ctc = dgc.ctc_loss %scaled, %words
  %a = dgc.add %weighted, %counted
  %c = dgc.add %distance, %ctc
  %loss = dgc.add %a, %c
  %top = dgc.top_k_accuracy %y, %label k 2
  %right, %found = dgc.precision %y, %target threshold 0.5
  dgc.loss %loss
  dgc.metric "top" %top
  dgc.metric "perplexity" exp %counted
  dgc.metric "precision" %right over %found
  dgc.output "speech" %scaled
  dgc.optimizer sgd learning_rate 0.05
}
)";

class Losses : public ::testing::TestWithParam<How> {};

TEST_P(Losses, TrainAndEvaluateAsOne) {
  for (int validCount : {-1, 7}) {
    auto one = run(losses, "train", How{1}, 4, validCount), several = run(losses, "train", GetParam(), 4, validCount);
    EXPECT_LT(difference(one.variables, several.variables), 2e-5) << "valid count " << validCount;
    EXPECT_LT(difference(one.outputs, several.outputs), 2e-5) << "valid count " << validCount;
    auto evaluated = run(losses, "evaluate", How{1}, 1, validCount, one.variables);
    EXPECT_LT(difference(evaluated.outputs, run(losses, "evaluate", GetParam(), 1, validCount, one.variables).outputs),
              2e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Losses,
                         ::testing::Values(How{2}, How{3}, How{1, 3}, How{3, 4}, How{2, 5}, How{1, 6}, How{2, 6}));

// Each example is told from all others of the batch, also those of other micro-batches.
const char *const pairs = R"(
dgc.model @pairs {
  %image = dgc.input "image" : tensor<?x8x6xf32>
  %label = dgc.input "label" : tensor<?xi32>
  %target = dgc.input "target" : tensor<?x3xf32>
  %w = dgc.variable "w" he_normal : tensor<48x5xf32>
  %u = dgc.variable "u" he_normal : tensor<3x5xf32>
  %z = dgc.variable "z" he_normal : tensor<5x3xf32>
  %f = dgc.flatten %image
  %h = dgc.dense %f, %w
  %t = dgc.tanh %h
  %v = dgc.dense %target, %u
  %told = dgc.contrastive_loss %t, %v temperature 0.5
  %y = dgc.dense %t, %z
  %classes = dgc.cross_entropy %y, %label
  %loss = dgc.add %told, %classes
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.05
}
)";

class Pairs : public ::testing::TestWithParam<How> {};

TEST_P(Pairs, TrainAsOne) {
  for (int validCount : {-1, 7}) {
    auto one = run(pairs, "train", How{1}, 4, validCount), several = run(pairs, "train", GetParam(), 4, validCount);
    EXPECT_LT(difference(one.variables, several.variables), 2e-5) << "valid count " << validCount;
    EXPECT_LT(difference(one.outputs, several.outputs), 2e-5) << "valid count " << validCount;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Pairs, ::testing::Values(How{3}, How{1, 3}, How{3, 4}, How{2, 5}, How{1, 6}, How{2, 6}));

/// `text` with the first `from` replaced.
std::string replaced(std::string text, const std::string &from, const std::string &to) {
  return text.replace(text.find(from), from.size(), to);
}

// Noise is another in each step, and in training only, unless it is always there.
TEST(Noise, IsInTrainingOnly) {
  NamedArrays variables = run(losses, "train", How{1}, 1, -1).variables;
  const std::string still = replaced(losses, "normal 0.0 0.3 :", "normal 0.0 0.0 :");
  auto evaluated = [&](const std::string &text) { return run(text, "evaluate", How{1}, 1, -1, variables).outputs; };
  EXPECT_LT(difference(evaluated(losses), evaluated(still)), 1e-6);
  EXPECT_GT(difference(evaluated(losses), evaluated(replaced(losses, "0.5 always", "0.5"))), 1e-3);
  auto trained = [&](const std::string &text) { return run(text, "train", How{1}, 1, -1, variables).outputs; };
  EXPECT_GT(difference(trained(losses), trained(still)), 1e-3);
}

// The negative control: another count of real examples is another result.
TEST(Padding, DoesNotCount) {
  auto seven = run(model, "train", How{1}, 1, 7), eight = run(model, "train", How{1}, 1, 8);
  EXPECT_GT(difference(seven.variables, eight.variables), 1e-3);
}

// Dropout is in training only: two evaluations of different seeds agree, two trainings do not.
TEST(Dropout, IsInTrainingOnly) {
  NamedArrays variables = run(model, "train", How{1}, 1, -1).variables;
  std::string without(model);
  without.replace(without.find("rate 0.3"), 8, "rate 0.0");
  EXPECT_LT(difference(run(model, "evaluate", How{1}, 1, -1, variables).outputs,
                       run(without, "evaluate", How{1}, 1, -1, variables).outputs),
            1e-6);
  EXPECT_GT(difference(run(model, "train", How{1}, 1, -1, variables).outputs,
                       run(without, "train", How{1}, 1, -1, variables).outputs),
            1e-3);
}

} // namespace
