// Data parallelism by running: gradients, weights and metrics on W workers against one device.
#include "test/unit/passes/partition/Compare.h"

using namespace dgc::testing;

namespace {

constexpr int batch = 48; // 1, 2, 3, 4 and 8 divide it

/// Loss and gradients of two layers; `annotated` marks the batch.
std::string gradients(bool annotated) {
  std::string batchDim = annotated ? " {dgc.batch_dim = 0 : i64}" : "";
  return "func.func @f(%x: tensor<48x5xf32>" + batchDim + ", %y: tensor<48x3xf32>" + batchDim +
         ", %w1: tensor<5x7xf32>, %b1: tensor<7xf32>, %w2: tensor<7x3xf32>)\n"
         "    -> (tensor<f32>, tensor<5x7xf32>, tensor<7xf32>, tensor<7x3xf32>) {\n"
         "  %0 = dgc.dot_general %x, %w1 contract [1] x [0] : tensor<48x5xf32>, tensor<5x7xf32>\n"
         "  %1 = dgc.broadcast_in_dim %b1 dims [1] to [48, 7] : tensor<7xf32>\n"
         "  %2 = dgc.add %0, %1 : tensor<48x7xf32>\n"
         "  %3 = dgc.tanh %2 : tensor<48x7xf32>\n"
         "  %4 = dgc.dot_general %3, %w2 contract [1] x [0] : tensor<48x7xf32>, tensor<7x3xf32>\n"
         "  %5 = dgc.subtract %4, %y : tensor<48x3xf32>\n"
         "  %6 = dgc.multiply %5, %5 : tensor<48x3xf32>\n"
         "  %7 = dgc.reduce sum %6 dims [0, 1] : tensor<48x3xf32>\n"
         "  %n = dgc.constant dense<48.0> : tensor<f32>\n"
         "  %loss = dgc.divide %7, %n : tensor<f32>\n"
         "  %g:3 = dgc.gradient %loss wrt %w1, %b1, %w2 : tensor<f32>, tensor<5x7xf32>, tensor<7xf32>, "
         "tensor<7x3xf32>\n"
         "  return %loss, %g#0, %g#1, %g#2 : tensor<f32>, tensor<5x7xf32>, tensor<7xf32>, tensor<7x3xf32>\n"
         "}\n";
}

NamedArrays gradientInputs() {
  return {{"arg0", array({batch, 5}, 1)},
          {"arg1", array({batch, 3}, 2)},
          {"arg2", array({5, 7}, 3)},
          {"arg3", array({7}, 4)},
          {"arg4", array({7, 3}, 5)}};
}

/// Central differences of the loss in double precision, on the host: for one weight.
double differenceOfLoss(const NamedArrays &inputs, const std::string &name, size_t index) {
  auto loss = [&](double step) {
    std::map<std::string, std::vector<double>> v;
    for (const auto &[key, array] : inputs) {
      std::vector<float> values = array.as<float>();
      v[key].assign(values.begin(), values.end());
    }
    v[name][index] += step;
    double sum = 0;
    for (int b = 0; b < batch; ++b) {
      double h[7];
      for (int j = 0; j < 7; ++j) {
        h[j] = v["arg3"][j];
        for (int i = 0; i < 5; ++i)
          h[j] += v["arg0"][b * 5 + i] * v["arg2"][i * 7 + j];
        h[j] = std::tanh(h[j]);
      }
      for (int k = 0; k < 3; ++k) {
        double p = -v["arg1"][b * 3 + k];
        for (int j = 0; j < 7; ++j)
          p += h[j] * v["arg4"][j * 3 + k];
        sum += p * p;
      }
    }
    return sum / batch;
  };
  return (loss(1e-5) - loss(-1e-5)) / 2e-5;
}

class DataParallel : public ::testing::TestWithParam<int> {};
class DataParallelMistake : public DataParallel {};

TEST_P(DataParallel, GradientsAreThoseOfOneDevice) {
  auto alone = execute(gradients(false), gradientInputs());
  ASSERT_TRUE(alone.ok()) << alone.status();
  // One device itself against central differences.
  const char *names[] = {"arg2", "arg3", "arg4"};
  for (int i = 0; i < 3; ++i) {
    std::vector<float> gradient = alone->outputs.at("result" + std::to_string(i + 1)).as<float>();
    for (size_t index = 0; index < gradient.size(); index += 3)
      EXPECT_NEAR(gradient[index], differenceOfLoss(gradientInputs(), names[i], index), 1e-4);
  }
  ExecuteOptions options;
  options.mesh = "data=" + std::to_string(GetParam());
  auto cut = execute(gradients(true), gradientInputs(), options);
  ASSERT_TRUE(cut.ok()) << cut.status();
  expectClose(alone->outputs, cut->outputs, 1e-6);
}

// The negative control: the classical mistake, a mean over the local batch that is then summed, must be seen by the
// comparison above.
TEST_P(DataParallelMistake, WrongScaleIsSeen) {
  int local = batch / GetParam();
  std::string b = std::to_string(local), w = std::to_string(GetParam());
  std::string text = "dist.mesh @mesh <data = " + w +
                     ">\n"
                     "func.func @f(%x: tensor<48x5xf32> {dgc.batch_dim = 0 : i64}) -> tensor<5xf32> {\n"
                     "  %r = dist.manual %x over @mesh [\"data\"] in [#dist.sharding<@mesh, [{\"data\"}, {}]>]\n"
                     "      out [#dist.sharding<@mesh, [{}]>] : (tensor<48x5xf32>) -> tensor<5xf32> {\n"
                     "  ^bb0(%l: tensor<" +
                     b +
                     "x5xf32>):\n"
                     "    %s = dgc.reduce sum %l dims [0] : tensor<" +
                     b +
                     "x5xf32>\n"
                     "    %n = dgc.constant dense<" +
                     b +
                     ".0> : tensor<5xf32>\n"
                     "    %m = dgc.divide %s, %n : tensor<5xf32>\n"
                     "    %a = dist.all_reduce sum %m over @mesh [\"data\"] : tensor<5xf32>\n"
                     "    dist.return %a : tensor<5xf32>\n"
                     "  }\n"
                     "  return %r : tensor<5xf32>\n"
                     "}\n";
  std::string right = "func.func @f(%x: tensor<48x5xf32>) -> tensor<5xf32> {\n"
                      "  %s = dgc.reduce sum %x dims [0] : tensor<48x5xf32>\n"
                      "  %n = dgc.constant dense<48.0> : tensor<5xf32>\n"
                      "  %m = dgc.divide %s, %n : tensor<5xf32>\n"
                      "  return %m : tensor<5xf32>\n"
                      "}\n";
  NamedArrays inputs = {{"arg0", array({batch, 5}, 1)}};
  auto alone = execute(right, inputs);
  ASSERT_TRUE(alone.ok()) << alone.status();
  ExecuteOptions options;
  options.mesh = "data=" + w;
  auto wrong = execute(text, inputs, options);
  ASSERT_TRUE(wrong.ok()) << wrong.status();
  double error = relativeError(alone->outputs.at("result0"), wrong->outputs.at("result0"));
  EXPECT_NEAR(error, GetParam() - 1, 1e-4);
}

// A value that the workers have computed differently is no result: without the all-reduce the replicas differ, and
// that is an error.
TEST_P(DataParallelMistake, ForgottenAllReduceIsSeen) {
  std::string b = std::to_string(batch / GetParam()), w = std::to_string(GetParam());
  std::string text = "dist.mesh @mesh <data = " + w +
                     ">\n"
                     "func.func @f(%x: tensor<48x5xf32> {dgc.batch_dim = 0 : i64}) -> tensor<5xf32> {\n"
                     "  %r = dist.manual %x over @mesh [\"data\"] in [#dist.sharding<@mesh, [{\"data\"}, {}]>]\n"
                     "      out [#dist.sharding<@mesh, [{}]>] : (tensor<48x5xf32>) -> tensor<5xf32> {\n"
                     "  ^bb0(%l: tensor<" +
                     b +
                     "x5xf32>):\n"
                     "    %s = dgc.reduce sum %l dims [0] : tensor<" +
                     b +
                     "x5xf32>\n"
                     "    dist.return %s : tensor<5xf32>\n"
                     "  }\n"
                     "  return %r : tensor<5xf32>\n"
                     "}\n";
  ExecuteOptions options;
  options.mesh = "data=" + w;
  EXPECT_FALSE(execute(text, {{"arg0", array({batch, 5}, 1)}}, options).ok());
}

const char *model = R"(
dgc.model @mlp {
  %x = dgc.input "x" : tensor<?x5xf32>
  %y = dgc.input "y" : tensor<?xi32>
  %w1 = dgc.variable "w1" glorot_uniform : tensor<5x7xf32>
  %b1 = dgc.variable "b1" zeros : tensor<7xf32>
  %w2 = dgc.variable "w2" glorot_uniform : tensor<7x4xf32>
  %b2 = dgc.variable "b2" zeros : tensor<4xf32>
  %h0 = dgc.dense %x, %w1, %b1
  %h1 = dgc.relu %h0
  %logits = dgc.dense %h1, %w2, %b2
  %loss = dgc.cross_entropy %logits, %y
  %accuracy = dgc.accuracy %logits, %y
  dgc.loss %loss
  dgc.metric "accuracy" %accuracy
  dgc.optimizer sgd learning_rate 0.1
}
)";

NamedArrays batchOf(int step) {
  std::vector<int32_t> labels(batch);
  std::vector<float> draws = numbers(batch, 100 + step);
  for (int i = 0; i < batch; ++i)
    labels[i] = int32_t((draws[i] + 1) * 2) & 3;
  return {{"x", array({batch, 5}, 200 + step)}, {"y", HostArray::of({batch}, labels)}};
}

// Oracle E: at most 1e-6 after one step, 1e-5 after a hundred; replicas are equal to the bit (RunOnceOptions).
TEST_P(DataParallel, TrainsAsOneDeviceDoes) {
  for (int steps : {1, 100}) {
    ExecuteOptions options;
    options.from = "input";
    options.batch = batch;
    options.run.program = "train";
    options.run.steps = steps;
    options.run.inputsOfStep = batchOf;
    auto alone = execute(model, batchOf(0), options);
    ASSERT_TRUE(alone.ok()) << alone.status();
    options.mesh = "data=" + std::to_string(GetParam());
    options.strategy = "data-parallel";
    auto cut = execute(model, batchOf(0), options);
    ASSERT_TRUE(cut.ok()) << cut.status();
    expectClose(alone->variables, cut->variables, steps == 1 ? 1e-6 : 1e-5);
    expectClose(alone->outputs, cut->outputs, 1e-5);
  }
}

// A batch of which only the first 29 examples are real counts these, wherever they lie.
TEST_P(DataParallel, ShortBatchIsWeightedRight) {
  ExecuteOptions options;
  options.from = "input";
  options.batch = batch;
  options.run.program = "train";
  options.run.validCount = 29;
  auto alone = execute(model, batchOf(0), options);
  ASSERT_TRUE(alone.ok()) << alone.status();
  options.mesh = "data=" + std::to_string(GetParam());
  auto cut = execute(model, batchOf(0), options);
  ASSERT_TRUE(cut.ok()) << cut.status();
  expectClose(alone->variables, cut->variables, 1e-6);
  expectClose(alone->outputs, cut->outputs, 1e-6);
}

// Statistics of the batch are those of the global batch, and a dropped element is dropped on any number of workers.
const char *regularized = R"(
dgc.model @regularized {
  %x = dgc.input "x" : tensor<?x5xf32>
  %y = dgc.input "y" : tensor<?xi32>
  %w1 = dgc.variable "w1" glorot_uniform : tensor<5x8xf32>
  %scale = dgc.variable "scale" constant 1.0 : tensor<8xf32>
  %offset = dgc.variable "offset" zeros : tensor<8xf32>
  %mean = dgc.variable "mean" zeros : tensor<8xf32>
  %variance = dgc.variable "variance" constant 1.0 : tensor<8xf32>
  %w2 = dgc.variable "w2" glorot_uniform : tensor<8x4xf32>
  %h0 = dgc.matmul %x, %w1
  %h1, %mean_next, %variance_next = dgc.batch_norm %h0, %scale, %offset, %mean, %variance
  dgc.assign %mean, %mean_next
  dgc.assign %variance, %variance_next
  %h2 = dgc.relu %h1
  %h3 = dgc.dropout %h2 rate 0.5
  %logits = dgc.matmul %h3, %w2
  %loss = dgc.cross_entropy %logits, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
)";

TEST_P(DataParallel, StatisticsAndRandomNumbersAreThoseOfOneDevice) {
  ExecuteOptions options;
  options.from = "input";
  options.batch = batch;
  options.run.program = "train";
  options.run.steps = 5;
  options.run.seed = 7;
  options.run.inputsOfStep = batchOf;
  auto alone = execute(regularized, batchOf(0), options);
  ASSERT_TRUE(alone.ok()) << alone.status();
  options.mesh = "data=" + std::to_string(GetParam());
  auto cut = execute(regularized, batchOf(0), options);
  ASSERT_TRUE(cut.ok()) << cut.status();
  expectClose(alone->variables, cut->variables, 5e-6);
  expectClose(alone->outputs, cut->outputs, 5e-6);
}

INSTANTIATE_TEST_SUITE_P(Workers, DataParallel, ::testing::Values(1, 2, 3, 4, 8));
INSTANTIATE_TEST_SUITE_P(Workers, DataParallelMistake, ::testing::Values(2, 3, 4, 8));

} // namespace
