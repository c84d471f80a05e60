// The same model on one worker and on several: the same gradients and the same weights. Plain SGD, the same seed and
// the same global batches; the workers are threads of this process.
//
// Tolerances: 1e-6 relative after one step, 1e-5 relative (L2) after 100; rounding differs because sums are cut.
// A relu or a max-pool may decide otherwise on values within rounding of each other; from then on two runs part by more
// than rounding, on any system. So the hundred steps are taken by the same models with smooth functions in their place.

#include "test/unit/support/Execute.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <regex>
#include <sstream>

using namespace dgc::testing;
using dgc::rt::DType;

namespace {

constexpr int64_t batch = 24; // 2, 3, 4 and 8 divide it
constexpr float learningRate = 0.05f;

/// The model of an example, with plain SGD in place of its optimizer.
std::string readModel(const std::string &name) {
  std::ifstream file(std::string(DGC_EXAMPLES) + "/" + name + ".mlir");
  std::stringstream text;
  text << file.rdbuf();
  return std::regex_replace(text.str(), std::regex("dgc\\.optimizer [^\\n]*"),
                            "dgc.optimizer sgd learning_rate " + std::to_string(learningRate));
}

/// The model with tanh for relu and average for maximum pooling.
std::string smooth(const std::string &model) {
  std::string text = std::regex_replace(model, std::regex("dgc\\.relu"), "dgc.tanh");
  return std::regex_replace(text, std::regex("dgc\\.max_pool"), "dgc.avg_pool");
}

/// Images and labels of step i: no two steps, examples or pixels are alike.
NamedArrays batchOfStep(int i) {
  std::mt19937 rng(1000 + i);
  std::vector<uint8_t> pixels(batch * 28 * 28), labels(batch);
  for (uint8_t &pixel : pixels) {
    pixel = rng() % 3 == 0 ? rng() % 256 : 0;
  }
  for (uint8_t &label : labels) {
    label = rng() % 10;
  }
  return {{"image", HostArray::of<uint8_t>({batch, 28, 28}, pixels, DType::U8)},
          {"label", HostArray::of<uint8_t>({batch}, labels, DType::U8)}};
}

/// The variables after so many steps on `workers` workers. Every replica has the same bits: runOnce checks that.
NamedArrays train(const std::string &model, int workers, int steps) {
  ExecuteOptions options;
  options.from = "input";
  options.batch = batch;
  options.mesh = workers > 1 ? "data=" + std::to_string(workers) : "";
  options.run.program = "train";
  options.run.seed = 7;
  options.run.steps = steps;
  options.run.inputsOfStep = batchOfStep;
  absl::StatusOr<dgc::rt::RunOnceResult> result = execute(model, batchOfStep(0), options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->variables : NamedArrays();
}

/// |a - b| / |b| over all variables together, relative to `base` when it is given: then of the changes from there.
double distance(const NamedArrays &a, const NamedArrays &b, const NamedArrays *base = nullptr) {
  double difference = 0, norm = 0;
  for (const auto &[name, array] : b) {
    std::vector<float> x = a.at(name).as<float>(), y = array.as<float>();
    std::vector<float> zero = base ? base->at(name).as<float>() : std::vector<float>(y.size());
    for (size_t i = 0; i < y.size(); ++i) {
      difference += (double(x[i]) - y[i]) * (double(x[i]) - y[i]);
      norm += (double(y[i]) - zero[i]) * (double(y[i]) - zero[i]);
    }
  }
  return std::sqrt(difference / norm);
}

class Oracle : public testing::TestWithParam<std::string> {};

TEST_P(Oracle, AnyNumberOfWorkersHasTheSameGradients) {
  std::string model = readModel(GetParam());
  NamedArrays initial = train(model, 1, 0), one = train(model, 1, 1);
  ASSERT_FALSE(one.empty());
  for (int workers : {2, 3, 4, 8}) {
    NamedArrays step = train(model, workers, 1);
    EXPECT_LE(distance(step, one), 1e-6) << workers << " workers, one step";
    // The change of the weights is the gradient times the learning rate; its rounding is that of the weights.
    EXPECT_LE(distance(step, one, &initial), 2e-5) << workers << " workers, gradients";
  }
}

TEST_P(Oracle, AnyNumberOfWorkersTrainsTheSameWeights) {
  std::string model = smooth(readModel(GetParam()));
  NamedArrays initial = train(model, 1, 0), hundred = train(model, 1, 100);
  ASSERT_FALSE(hundred.empty());
  EXPECT_GT(distance(hundred, initial), 1e-3) << "nothing was trained";
  for (int workers : {2, 3, 4, 8}) {
    EXPECT_LE(distance(train(model, workers, 100), hundred), 1e-5) << workers << " workers, 100 steps";
  }
}

TEST_P(Oracle, RunsHaveTheSameBits) {
  std::string model = readModel(GetParam());
  NamedArrays a = train(model, 2, 10), b = train(model, 2, 10);
  for (const auto &[name, array] : a) {
    EXPECT_TRUE(array.bytes == b.at(name).bytes) << name;
  }
}

// Gradients that are added where they should be averaged are noticed, at one step and at a hundred.
TEST_P(Oracle, WrongScaleIsNoticed) {
  std::string model = readModel(GetParam());
  std::string wrong = std::regex_replace(model, std::regex("dgc\\.loss %loss"),
                                         "%twice = dgc.scale %loss by 2.0\n  dgc.loss %twice");
  ASSERT_NE(model, wrong);
  NamedArrays initial = train(model, 1, 0), one = train(model, 1, 1);
  NamedArrays step = train(wrong, 2, 1);
  EXPECT_GT(distance(step, one, &initial), 0.5);
  EXPECT_GT(distance(step, one), 1e-5);
  EXPECT_GT(distance(train(wrong, 2, 100), train(model, 1, 100)), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Models, Oracle, testing::Values("mnist_mlp", "mnist_cnn", "mnist_cnn_deep"));

} // namespace
