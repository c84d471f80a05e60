// A batch that is not full: what a model gives for its real examples among padding is what the same model, written for
// a batch of that size, gives for these alone. Models whose ops pair examples, or combine them along the batch.

#include "test/unit/oracle/ShortBatch.h"
#include "runtime/base/Status.h"

#include <gtest/gtest.h>
#include <regex>

using namespace dgc::testing;
using namespace dgc::testing::short_batch;
using namespace dgc::rt;

namespace {

/// A model body; N is the batch. %h: [N, 3], of the input x and the weights; %y: [N], from 0 to 2.
struct Model {
  const char *name, *body;
};

const Model models[] = {
    {"contrastive", R"(
  %s = dgc.matmul %h, %h transposed
  %loss = dgc.cross_entropy %s, %y
  %accuracy = dgc.accuracy %s, %y
  dgc.metric "accuracy" %accuracy
  dgc.output "h" %h
)"},
    {"softmax over the batch", R"(
  %p = dgc.softmax %h dim 0
  %q = dgc.log_softmax %h dim 0
  %m = dgc.multiply %p, %q
  %loss = dgc.mean_squared_error %m, %x
  dgc.output "p" %p
)"},
    {"softmax of pairs", R"(
  %s = dgc.matmul %h, %h transposed
  %p = dgc.softmax %s
  %z = dgc.matmul %p, %h
  %loss = dgc.cross_entropy %z, %y
  dgc.output "z" %z
)"},
    {"largest, smallest and product", R"(
  %a = dgc.reduce max %h dims [0]
  %k = dgc.reduce min %h dims [0]
  %c = dgc.reduce product %h dims [0]
  %d = dgc.multiply %a, %k
  %e = dgc.add %d, %c
  %loss = dgc.reduce sum %e dims [0]
  dgc.output "e" %e
)"},
    {"sum", R"(
  %t = dgc.tanh %h
  %loss = dgc.reduce sum %t dims [0, 1]
  dgc.output "h" %h
)"},
    {"variance", R"(
  %total = dgc.reduce sum %h dims [0]
  %mean = dgc.scale %total by 0.2
  %wide = dgc.broadcast_in_dim %mean dims [1] to [N, 3]
  %centered = dgc.subtract %h, %wide
  %squares = dgc.multiply %centered, %centered
  %square = dgc.reduce sum %squares dims [0]
  %variance = dgc.scale %square by 0.25
  %loss = dgc.reduce sum %variance dims [0]
  dgc.output "variance" %variance
)"},
    {"similarities", R"(
  %s = dgc.matmul %h, %h transposed
  %u = dgc.matmul %x, %x transposed
  %loss = dgc.mean_squared_error %s, %u
  %g = dgc.reduce max %s dims [1]
  dgc.output "g" %g
)"},
    {"flattened", R"(
  %f = dgc.reshape %x3 to [-1, 3]
  %yf = dgc.reshape %y2 to [-1]
  %g = dgc.dense %f, %w, %b
  %r = dgc.tanh %g
  %loss = dgc.cross_entropy %r, %yf
  %t = dgc.transpose %g permutation [1, 0]
  %p = dgc.softmax %t
  %back = dgc.transpose %p permutation [1, 0]
  %other = dgc.mean_squared_error %back, %g
  dgc.metric "other" %other
  dgc.output "g" %g
)"},
    {"normalized tokens", R"(
  %f = dgc.reshape %x3 to [-1, 3]
  %yf = dgc.reshape %y2 to [-1]
  %g = dgc.dense %f, %w, %b
  %scale = dgc.variable "scale" constant 1.5 : tensor<3xf32>
  %offset = dgc.variable "offset" zeros : tensor<3xf32>
  %mean = dgc.variable "mean" zeros : tensor<3xf32>
  %variance = dgc.variable "variance" constant 1.0 : tensor<3xf32>
  %n, %m, %v = dgc.batch_norm %g, %scale, %offset, %mean, %variance
  dgc.assign %mean, %m
  dgc.assign %variance, %v
  %loss = dgc.cross_entropy %n, %yf
)"},
    {"weights alone", R"(
  %c = dgc.cross_entropy %h, %y
  %zero = dgc.variable "zero" zeros frozen : tensor<3x3xf32>
  %r = dgc.mean_squared_error %w, %zero
  %loss = dgc.add %c, %r
)"},
    {"examples in the last dimension", R"(
  %t = dgc.transpose %h permutation [1, 0]
  %u = dgc.transpose %x permutation [1, 0]
  %loss = dgc.mean_squared_error %t, %u
  dgc.output "t" %t
)"},
    {"a batch dimension of an op", R"(
  %i = dgc.iota dim 0 : tensor<?xf32>
  %one = dgc.add %i, 1.0
  %n = dgc.reduce sum %one dims [0]
  %t = dgc.reduce sum %h dims [0, 1]
  %c = dgc.cross_entropy %h, %y
  %m = dgc.divide %t, %n
  %loss = dgc.add %c, %m
  dgc.output "one" %one
)"},
    {"pairs of the batch", R"(
  %loss = dgc.contrastive_loss %h, %x temperature 0.5
  %rows = dgc.contrastive_loss %x, %h one_way
  dgc.metric "rows" %rows
)"},
    {"weighted losses", R"(
  %class_weights = dgc.constant dense<[0.5, 2.0, 1.0]> : tensor<3xf32>
  %squares = dgc.multiply %x, %x
  %s = dgc.reduce sum %squares dims [1]
  %a = dgc.cross_entropy %h, %y ignore_index 1
  %c = dgc.cross_entropy %h, %y label_smoothing 0.1 ignore_index 2 weights %class_weights sample_weights %s
  %d = dgc.huber_loss %h, %x sample_weights %s
  %e = dgc.mean_squared_error %h, %x sample_weights %squares
  %ac = dgc.add %a, %c
  %de = dgc.add %d, %e
  %loss = dgc.add %ac, %de
  %top = dgc.top_k_accuracy %h, %y k 2
  %right, %found = dgc.precision %h, %x threshold 0.1
  %twice, %both = dgc.f1_score %h, %y class 1
  dgc.metric "top" %top
  dgc.metric "precision" %right over %found
  dgc.metric "f1" %twice over %both
)"},
    {"weighted columns", R"(
  %t = dgc.transpose %h permutation [1, 0]
  %u = dgc.transpose %x permutation [1, 0]
  %squares = dgc.multiply %u, %u
  %loss = dgc.mean_squared_error %t, %u sample_weights %squares
)"},
    {"paths of labels", R"(
  %speech = dgc.dense %x3, %w, %b
  %words = dgc.expand_dims %y at 1
  %n = dgc.minimum %y, 1
  %lengths = dgc.add %n, 1
  %a = dgc.ctc_loss %speech, %words
  %c = dgc.ctc_loss %speech, %words lengths %lengths
  %loss = dgc.add %a, %c
)"},
    {"noise", R"(
  %noise = dgc.random_normal 0.5 0.5 : tensor<?x3xf32>
  %jitter = dgc.random_uniform always : tensor<?x3xf32>
  %i = dgc.add %h, %noise
  %j = dgc.add %i, %jitter
  %sums = dgc.cumulative_sum %j
  %c = dgc.cross_entropy %sums, %y
  %squares = dgc.multiply %noise, %noise
  %n = dgc.reduce sum %squares dims [0, 1]
  %m = dgc.multiply %n, %c
  %loss = dgc.add %m, %c
  dgc.output "noise" %j
)"},
    {"masked attention", R"(
  %there = dgc.compare ge %y2, 1
  %mask = dgc.reshape %there to [-1, 1, 1, 2]
  %wide = dgc.variable "wide" normal 0.0 1.0 : tensor<3x8xf32>
  %narrow = dgc.variable "narrow" normal 0.0 1.0 : tensor<3x4xf32>
  %q0 = dgc.dense %x3, %wide
  %k0 = dgc.dense %x3, %narrow
  %q = dgc.rotary_embedding %q0 heads 2
  %k = dgc.rotary_embedding %k0
  %a = dgc.attention %q, %k, %x3 mask %mask heads 2 kv_heads 1
  %open = dgc.swiglu %a
  %z = dgc.dense %open, %w, %b
  %loss = dgc.cross_entropy %z, %y2
  dgc.output "a" %a
)"},
    {"experts", R"(
  %router = dgc.variable "router" normal 0.0 1.0 : tensor<3x4xf32>
  %w1 = dgc.variable "w1" normal 0.0 1.0 : tensor<4x3x5xf32>
  %b1 = dgc.variable "b1" normal 0.0 1.0 : tensor<4x5xf32>
  %w2 = dgc.variable "w2" normal 0.0 1.0 : tensor<4x5x3xf32>
  %b2 = dgc.variable "b2" normal 0.0 1.0 : tensor<4x3xf32>
  %f, %even = dgc.mixture_of_experts %x3, %router, %w1, %b1, %w2, %b2 top 2 capacity 4
  %e, %balance = dgc.mixture_of_experts %h, %router, %w1, %b1, %w2, %b2 top 1 capacity 4
  %c = dgc.cross_entropy %f, %y2
  %d = dgc.cross_entropy %e, %y
  %cd = dgc.add %c, %d
  %bb = dgc.add %balance, %even
  %loss = dgc.add %cd, %bb
  dgc.output "f" %f
)"},
    {"loops and branches", R"(
  %even = dgc.constant dense<0.5> : tensor<Nx3xf32>
  %none = dgc.constant dense<0.0> : tensor<f32>
  %g = dgc.dense %x3, %w, %b
  %last, %sum, %all = dgc.scan (%a = %even, %before = %none) over (%s = %g) dim 1 {
    %most = dgc.reduce max %s dims [0]
    %z = dgc.subtract %s, %most
    %p = dgc.softmax %z dim 0
    %least = dgc.reduce min %a dims [0]
    %c = dgc.add %p, %least
    %t = dgc.tanh %c
    %apart = dgc.mean_squared_error %t, %s
    %next = dgc.add %before, %apart
    dgc.yield %t, %next, %p
  }
  %fixed = dgc.stop_gradient %h
  %less = dgc.while (%v = %fixed) {
    %size = dgc.abs %v
    %largest = dgc.reduce max %size dims [0, 1]
    %more = dgc.compare gt %largest, 0.3
    dgc.condition %more
  } do {
    %half = dgc.multiply %v, 0.7
    dgc.yield %half
  }
  %total = dgc.reduce sum %fixed dims [0, 1]
  %above = dgc.compare gt %total, 0.0
  %n = dgc.if %above (%v = %h) {
    %m = dgc.mean %v dims [0]
    %r = dgc.subtract %v, %m
    dgc.yield %r
  } else {
    %m = dgc.reduce min %v dims [0]
    %r = dgc.subtract %m, %v
    dgc.yield %r
  }
  %e = dgc.cross_entropy %last, %y
  %i = dgc.cross_entropy %n, %y
  %ei = dgc.add %e, %i
  %loss = dgc.add %ei, %sum
  dgc.output "all" %all
  dgc.output "less" %less
)"},
    {"random numbers for each example", R"(
  %seed = dgc.constant dense<7> : tensor<i64>
  %bits = dgc.rng_bit_generator %seed, %seed id 3 : tensor<?x3xui32>
  %byte = dgc.divide %bits, 16777216
  %r = dgc.convert %byte to f32
  %u = dgc.add %r, 1.0
  %n = dgc.reduce max %u dims [0]
  %k = dgc.reduce sum %n dims [0]
  %s = dgc.reduce sum %u dims [0, 1]
  %c = dgc.cross_entropy %h, %y
  %m = dgc.divide %s, %k
  %p = dgc.multiply %m, %c
  %loss = dgc.add %c, %p
  dgc.output "u" %u
)"},
};

std::string modelOf(const Model &model, int64_t batch) {
  std::string text = str("dgc.model @m {\n", R"(
  %x = dgc.input "x" : tensor<?x3xf32>
  %y = dgc.input "y" : tensor<?xi32>
  %x3 = dgc.input "x3" : tensor<?x2x3xf32>
  %y2 = dgc.input "y2" : tensor<?x2xi32>
  %w = dgc.variable "w" normal 0.0 1.0 : tensor<3x3xf32>
  %b = dgc.variable "b" normal 0.0 1.0 : tensor<3xf32>
  %h = dgc.dense %x, %w, %b
)",
                         model.body, "  dgc.loss %loss\n  dgc.optimizer sgd learning_rate 0.5\n}\n");
  return std::regex_replace(text, std::regex("\\bN(?=,|x)"), std::to_string(batch));
}

struct How {
  int64_t batch = full;
  int validCount = -1;
  std::string mesh, strategy, precision = "f32";
};

RunOnceResult run(const Model &model, const std::string &program, const How &how) {
  ExecuteOptions options;
  options.from = "input";
  options.batch = how.batch;
  options.mesh = how.mesh;
  options.strategy = how.strategy;
  options.precision = how.precision;
  options.run.program = program;
  options.run.seed = 7;
  options.run.validCount = how.validCount;
  static std::map<std::tuple<std::string, int64_t, std::string, std::string, std::string>,
                  absl::StatusOr<std::vector<uint8_t>>>
      plans;
  auto [plan, isNew] = plans.try_emplace({model.name, how.batch, how.mesh, how.strategy, how.precision});
  if (isNew)
    plan->second = compileText(modelOf(model, how.batch), options);
  auto result = plan->second.ok() ? runOnce(*plan->second, inputsOf(*plan->second, program, how.batch), options.run)
                                  : plan->second.status();
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : RunOnceResult();
}

class ShortBatch : public ::testing::TestWithParam<Model> {};

TEST_P(ShortBatch, GivesWhatItsExamplesGiveAlone) {
  const Model &model = GetParam();
  const How alone{.batch = real};
  const RunOnceResult trained = run(model, "train", alone), evaluated = run(model, "evaluate", alone);
  bool predicts = std::string(model.body).find("dgc.output") != std::string::npos;
  for (const char *mesh : {"", "data=2", "data=4"}) {
    SCOPED_TRACE(mesh);
    How how{.validCount = real, .mesh = mesh};
    const RunOnceResult shortTrain = run(model, "train", how);
    EXPECT_LE(apart(shortTrain.outputs, trained.outputs), 2e-6);
    EXPECT_LE(apart(shortTrain.variables, trained.variables), 1e-5);
    EXPECT_LE(apart(run(model, "evaluate", how).outputs, evaluated.outputs), 2e-6);
    if (!predicts)
      continue;
    RunOnceResult predicted = run(model, "predict", alone), shortPredict = run(model, "predict", how);
    for (const auto &[name, array] : predicted.outputs)
      EXPECT_LE(apart(realPart(shortPredict.outputs[name], array.shape), array.as<float>()), 2e-6) << name;
  }
}

/// The negative control: padding that counts is noticed, in what is reported and in the weights.
TEST_P(ShortBatch, NoticesPaddingThatCounts) {
  const Model &model = GetParam();
  const How alone{.batch = real}, counting{.validCount = full};
  EXPECT_GT(apart(run(model, "train", counting).outputs, run(model, "train", alone).outputs), 1e-3);
  EXPECT_GT(apart(run(model, "train", counting).variables, run(model, "train", alone).variables), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Models, ShortBatch, ::testing::ValuesIn(models), [](const auto &info) {
  std::string name = info.param.name;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
});

/// Micro-batches of what does not pair examples: also of tokens of all examples in one dimension, and of a batch that
/// is not full.
TEST(ShortBatches, IsSplitIntoMicrobatches) {
  for (const Model &model : models) {
    const std::string name = model.name;
    if (name != "largest, smallest and product" && name != "weights alone" && name != "normalized tokens" &&
        name != "examples in the last dimension" && name != "weighted losses" && name != "weighted columns" &&
        name != "paths of labels" && name != "noise" && name != "masked attention" && name != "experts" &&
        name != "loops and branches")
      continue;
    SCOPED_TRACE(name);
    const RunOnceResult alone = run(model, "train", {.batch = real});
    for (const char *mesh : {"", "data=2"}) {
      SCOPED_TRACE(mesh);
      const RunOnceResult split = run(model, "train", {.validCount = real, .mesh = mesh, .strategy = "accumulate=3"});
      EXPECT_LE(apart(split.outputs, alone.outputs), 2e-6);
      EXPECT_LE(apart(split.variables, alone.variables), 1e-5);
    }
  }
}

/// A mean over something else than the batch takes all of it, whatever the batch is, and one over the tokens of all
/// examples all tokens.
TEST(FullBatch, MeansAreOverAllThatThereIs) {
  const Model &flattened = models[7];
  ASSERT_STREQ(flattened.name, "flattened");
  Model whole{"not flattened", R"(
  %g = dgc.dense %x3, %w, %b
  %r = dgc.tanh %g
  %loss = dgc.cross_entropy %r, %y2
)"};
  EXPECT_LE(apart({{"loss", run(flattened, "evaluate", {}).outputs["loss"]}}, run(whole, "evaluate", {}).outputs),
            2e-6);
  Model regularized{"regularized", R"(
  %zero = dgc.variable "zero" zeros frozen : tensor<3x3xf32>
  %r = dgc.mean_squared_error %w, %zero
  %loss = dgc.cross_entropy %h, %y
  dgc.metric "r" %r
)"};
  RunOnceResult result = run(regularized, "evaluate", {.batch = 2});
  double squares = 0;
  for (float w : result.variables["w"].as<float>())
    squares += double{w} * w;
  EXPECT_NEAR(result.outputs["r"].as<float>().at(0), squares / 9, 1e-6 * squares);
}

} // namespace
