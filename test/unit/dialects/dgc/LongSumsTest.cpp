// Ops that add up millions of numbers, against f64 and on one worker against two: sums of columns, the statistics and
// gradients of batch normalization, mean losses, norms of gradients. A sum whose additions follow one another is off by
// thousands of units in the last place here.

#include "test/unit/support/Execute.h"

#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <random>

using namespace dgc::testing;

namespace {

std::vector<float> uniform(size_t count, int seed, float from = 0) {
  std::mt19937 rng(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = from + std::ldexp(float(rng() >> 8), -24);
  return values;
}

dgc::rt::RunOnceResult run(const std::string &text, const NamedArrays &inputs, const std::string &program,
                           const std::string &mesh = "", const std::string &strategy = "", int threads = 1) {
  ExecuteOptions options;
  options.from = program.empty() ? "model" : "input";
  options.mesh = mesh;
  options.strategy = strategy;
  options.run.program = program;
  options.run.threads = threads;
  auto result = execute(text, inputs, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : dgc::rt::RunOnceResult();
}

/// The largest relative error; infinite where one is not a number.
double errorOf(const std::vector<float> &values, const std::vector<double> &expected) {
  double worst = values.size() == expected.size() && !values.empty() ? 0 : 1;
  for (size_t i = 0; i < std::min(values.size(), expected.size()); ++i) {
    double error = std::abs(values[i] - expected[i]) / std::abs(expected[i]);
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

double errorOf(const std::vector<float> &values, const std::vector<float> &expected) {
  return errorOf(values, std::vector<double>(expected.begin(), expected.end()));
}

TEST(LongSums, NoNumberIsAnError) {
  EXPECT_EQ(errorOf({NAN, 1}, std::vector<double>{1, 1}), INFINITY);
  EXPECT_EQ(errorOf({1, NAN}, std::vector<double>{1, 1}), INFINITY);
}

TEST(LongSums, ColumnsOfOneNumber) {
  const char *text = R"(
    dgc.model @m {
      %x = dgc.input "x" : tensor<802816x8xf32>
      %s = dgc.reduce sum %x dims [0]
      dgc.output "s" %s
    })";
  NamedArrays inputs{{"x", HostArray::of({802816, 8}, std::vector<float>(802816 * 8, 0.1f))}};
  std::vector<double> expected(8, 802816 * double(0.1f));
  EXPECT_LT(errorOf(run(text, inputs, "predict").outputs.at("s").as<float>(), expected), 2e-6);
}

// The scale begins at zero: then a step with a rate of 1 leaves the gradient in it, not rounded.
const char *const batchNorm = R"(
  dgc.model @m {
    %x = dgc.input "x" : tensor<64x112x112x8xf32>
    %t = dgc.input "t" : tensor<64x112x112x8xf32>
    %scale = dgc.variable "scale" zeros : tensor<8xf32>
    %offset = dgc.variable "offset" zeros : tensor<8xf32>
    %mean = dgc.variable "mean" zeros : tensor<8xf32>
    %variance = dgc.variable "variance" zeros : tensor<8xf32>
    %n, %next_mean, %next_variance = dgc.batch_norm %x, %scale, %offset, %mean, %variance momentum 0
    dgc.assign %mean, %next_mean
    dgc.assign %variance, %next_variance
    %loss = dgc.mean_squared_error %n, %t
    dgc.loss %loss
    dgc.optimizer sgd learning_rate 1
  })";

TEST(LongSums, BatchNormalization) {
  constexpr int64_t rows = 64 * 112 * 112, channels = 8;
  std::vector<float> x = uniform(rows * channels, 1, 1), t = uniform(rows * channels, 1);
  NamedArrays inputs{{"x", HostArray::of({64, 112, 112, 8}, x)}, {"t", HostArray::of({64, 112, 112, 8}, t)}};
  std::vector<double> mean(channels), variance(channels), scale(channels), offset(channels);
  for (int64_t i = 0; i < rows * channels; ++i)
    mean[i % channels] += x[i] / double(rows);
  for (int64_t i = 0; i < rows * channels; ++i)
    variance[i % channels] += std::pow(x[i] - mean[i % channels], 2) / rows;
  // The loss is the mean of (0 - t)^2, so dy is -2 t / n; the step subtracts it.
  for (int64_t i = 0; i < rows * channels; ++i) {
    int64_t c = i % channels;
    double dy = 2.0 * t[i] / (rows * channels);
    offset[c] += dy;
    scale[c] += dy * (x[i] - mean[c]) / std::sqrt(variance[c] + 1e-5);
  }
  auto one = run(batchNorm, inputs, "train");
  EXPECT_LT(errorOf(one.variables.at("mean").as<float>(), mean), 1e-6);
  EXPECT_LT(errorOf(one.variables.at("variance").as<float>(), variance), 2e-6);
  EXPECT_LT(errorOf(one.variables.at("offset").as<float>(), offset), 2e-6);
  EXPECT_LT(errorOf(one.variables.at("scale").as<float>(), scale), 1e-5);

  auto threads = run(batchNorm, inputs, "train", "", "", 2);
  auto workers = run(batchNorm, inputs, "train", "data=2"), parts = run(batchNorm, inputs, "train", "", "accumulate=4");
  for (const auto &[name, array] : one.variables) {
    EXPECT_EQ(array.bytes, threads.variables.at(name).bytes) << name;
    EXPECT_LT(errorOf(workers.variables.at(name).as<float>(), array.as<float>()), 1e-5) << name;
    EXPECT_LT(errorOf(parts.variables.at(name).as<float>(), array.as<float>()), 1e-5) << name;
  }
}

TEST(LongSums, MeanSquaredError) {
  const char *text = R"(
    func.func @f(%x: tensor<16x128x128x64xf32>, %y: tensor<16x128x128x64xf32>) -> tensor<f32> {
      %loss = dgc.mean_squared_error %x, %y : tensor<16x128x128x64xf32>, tensor<16x128x128x64xf32>
      return %loss : tensor<f32>
    })";
  constexpr size_t count = 16 * 128 * 128 * 64;
  std::vector<float> x = uniform(count, 2, 0.5), y = uniform(count, 3, -0.5);
  double expected = 0;
  for (size_t i = 0; i < count; ++i)
    expected += std::pow(double(x[i]) - y[i], 2) / count;
  NamedArrays inputs{{"arg0", HostArray::of({16, 128, 128, 64}, x)}, {"arg1", HostArray::of({16, 128, 128, 64}, y)}};
  EXPECT_LT(errorOf(run(text, inputs, "").outputs.at("result0").as<float>(), std::vector<double>{expected}), 1e-6);
}

TEST(LongSums, NormOfAGradient) {
  const char *text = R"(
    func.func @f(%g: tensor<3072x3072xf32>, %h: tensor<5xf32>) -> tensor<5xf32> {
      %a, %b = dgc.clip_by_global_norm %g, %h max 1.0 : tensor<3072x3072xf32>, tensor<5xf32>
      return %b : tensor<5xf32>
    })";
  std::vector<float> g = uniform(3072 * 3072, 4), h = {1, 2, 3, 4, 5};
  double squares = 55;
  for (float value : g)
    squares += double(value) * value;
  std::vector<double> expected;
  for (float value : h)
    expected.push_back(value / std::sqrt(squares));
  NamedArrays inputs{{"arg0", HostArray::of({3072, 3072}, g)}, {"arg1", HostArray::of({5}, h)}};
  EXPECT_LT(errorOf(run(text, inputs, "").outputs.at("result0").as<float>(), expected), 1e-6);
}

} // namespace
