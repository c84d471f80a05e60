// Random annotations on valid models: every one of them is compiled, and trains as one device does. DGC_FUZZ_FIRST and
// DGC_FUZZ_COUNT choose the seeds; the target `fuzz` runs 2000.
#include "test/unit/fuzz/RandomModel.h"
#include "test/unit/fuzz/Seeds.h"

#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <map>
#include <regex>

using namespace dgc::testing;

namespace {

ExecuteOptions training(int steps) {
  ExecuteOptions options;
  options.from = "input";
  options.run.program = "train";
  options.run.seed = 7;
  options.run.steps = steps;
  return options;
}

/// The variables after so many steps.
NamedArrays trained(const std::vector<uint8_t> &plan, const NamedArrays &inputs, int steps) {
  auto result = dgc::rt::runOnce(plan, inputs, training(steps).run);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->variables : NamedArrays();
}

std::vector<double> valuesOf(const HostArray &array) {
  if (array.dtype == dgc::rt::DType::F64)
    return array.as<double>();
  std::vector<float> values = array.as<float>();
  return {values.begin(), values.end()};
}

/// |a - b| / |b - base|: of what a step of gradient descent changes.
double distance(const NamedArrays &a, const NamedArrays &b, const NamedArrays &base) {
  double difference = 0, norm = 1e-12;
  for (const auto &[name, array] : b) {
    std::vector<double> x = valuesOf(a.at(name)), y = valuesOf(array), zero = valuesOf(base.at(name));
    for (size_t i = 0; i < y.size(); ++i) {
      difference += (x[i] - y[i]) * (x[i] - y[i]);
      norm += (y[i] - zero[i]) * (y[i] - zero[i]);
    }
  }
  return std::sqrt(difference / norm);
}

const double tolerance = 2e-5, toleranceInDouble = 1e-10;

/// The variables of the model before and after a step, computed in f64.
std::pair<NamedArrays, NamedArrays> trainedInDouble(const RandomModel &model) {
  NamedArrays inputs = model.inputs;
  for (auto &[name, array] : inputs)
    if (array.dtype == dgc::rt::DType::F32)
      array = HostArray::of(array.shape, valuesOf(array));
  auto plan = compileText(std::regex_replace(model.text, std::regex("f32>"), "f64>"), training(1));
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? std::pair(trained(*plan, inputs, 0), trained(*plan, inputs, 1))
                   : std::pair<NamedArrays, NamedArrays>();
}

/// How far the cut model is from the whole one where rounding is no reason to be.
double distanceInDouble(const RandomModel &cut, const RandomModel &whole) {
  auto [initial, alone] = trainedInDouble(whole);
  return distance(trainedInDouble(cut).second, alone, initial);
}

TEST(AnnotationFuzz, ModelsTrainAsOnOneDevice) {
  const uint32_t first = numberOf("DGC_FUZZ_FIRST", 60), count = numberOf("DGC_FUZZ_COUNT", 18);
  uint32_t refused = 0;
  NamedArrays initial, alone; // of the model on one device
  for (uint32_t seed = first; seed < first + count; ++seed) {
    // Three annotations of one model.
    uint32_t number = seed / 3;
    RandomModel whole = randomModel(number, /*slots=*/false, /*annotated=*/false);
    RandomModel cut = randomModel(number, /*slots=*/false, /*annotated=*/true, seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + cut.text);
    if (seed == first || seed % 3 == 0) {
      auto plan = compileText(whole.text, training(1));
      ASSERT_TRUE(plan.ok()) << plan.status();
      initial = trained(*plan, whole.inputs, 0);
      alone = trained(*plan, whole.inputs, 1);
    }
    auto plan = compileText(cut.text, training(1));
    EXPECT_TRUE(plan.ok()) << plan.status();
    refused += !plan.ok();
    if (!plan.ok())
      continue;
    // Some models, such as those that normalize a few features, amplify rounding; f64 tells it from an error.
    double apart = distance(trained(*plan, cut.inputs, 1), alone, initial);
    if (apart > tolerance) {
      std::printf("seed %u differs by %g in f32\n", seed, apart);
      EXPECT_LE(apart, 100 * tolerance);
      EXPECT_LE(distanceInDouble(cut, whole), toleranceInDouble);
    }
  }
  std::printf("%u of %u annotated models were refused\n", refused, count);
  EXPECT_EQ(refused, 0u);
}

// The optimizer's state has the sharding of its variable: compiled for all entry points and run.
TEST(AnnotationFuzz, OptimizersWithStateAreCompiled) {
  const uint32_t first = numberOf("DGC_FUZZ_FIRST", 0), count = numberOf("DGC_FUZZ_COUNT", 8);
  for (uint32_t seed = first; seed < first + count; ++seed) {
    RandomModel cut = randomModel(seed, /*slots=*/true, /*annotated=*/true, seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + cut.text);
    auto plan = compileText(cut.text, training(1));
    EXPECT_TRUE(plan.ok()) << plan.status();
  }
}

// What the comparison cannot miss: a gradient of three quarters of the size.
TEST(AnnotationFuzz, SmallerGradientsAreSeen) {
  RandomModel whole = randomModel(0, /*slots=*/false, /*annotated=*/false);
  auto withRate = [&](const char *rate) {
    return std::regex_replace(whole.text, std::regex("sgd learning_rate[^\\n]*"),
                              std::string("sgd learning_rate ") + rate);
  };
  auto plan = compileText(withRate("1"), training(1)), smallerPlan = compileText(withRate("0.75"), training(1));
  ASSERT_TRUE(plan.ok() && smallerPlan.ok());
  NamedArrays initial = trained(*plan, whole.inputs, 0), after = trained(*plan, whole.inputs, 1);
  EXPECT_GT(distance(trained(*smallerPlan, whole.inputs, 1), after, initial), 1000 * tolerance);
}

} // namespace
