// What oracle tests share: a model of an example, trained on one worker or on several, and how far two runs are apart.
#pragma once

#include "test/unit/support/Execute.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <regex>
#include <sstream>

namespace dgc::testing {

constexpr int64_t batch = 24;       // 2, 3, 4 and 8 divide it
constexpr int64_t unevenBatch = 11; // none of them does; of 8 workers one has a single example, two have none

/// The model of an example, with `optimizer` in place of its own.
inline std::string readModel(const std::string &name, const std::string &optimizer = "sgd learning_rate 0.05") {
  std::ifstream file(std::string(DGC_EXAMPLES) + "/" + name + ".mlir");
  std::stringstream text;
  text << file.rdbuf();
  return std::regex_replace(text.str(), std::regex("dgc\\.optimizer [^\\n]*"), "dgc.optimizer " + optimizer);
}

/// The model with tanh for relu and average for maximum pooling.
inline std::string smooth(const std::string &model) {
  std::string text = std::regex_replace(model, std::regex("dgc\\.relu"), "dgc.tanh");
  return std::regex_replace(text, std::regex("dgc\\.max_pool"), "dgc.avg_pool");
}

/// Images and labels of step i: no two steps, examples or pixels are alike.
inline NamedArrays batchOfStep(int i, int64_t size = batch) {
  std::mt19937 rng(1000 + i);
  std::vector<uint8_t> pixels(size * 28 * 28), labels(size);
  for (uint8_t &pixel : pixels) {
    pixel = rng() % 3 == 0 ? rng() % 256 : 0;
  }
  for (uint8_t &label : labels) {
    label = rng() % 10;
  }
  return {{"image", HostArray::of<uint8_t>({size, 28, 28}, pixels, rt::DType::U8)},
          {"label", HostArray::of<uint8_t>({size}, labels, rt::DType::U8)}};
}

struct TrainOptions {
  std::string mesh, strategy;
  int steps = 1;
  int validCount = -1; // of each batch; -1: all
  std::function<NamedArrays(int)> inputs = [](int step) { return batchOfStep(step); };
  int64_t size = batch;     // what `inputs` give
  int64_t microbatches = 0; // of the strategy pipeline
  std::string precision = "f32";
  std::string attention = "auto";
  std::string repeats = "auto";
  std::string target = targetOfTests();
};

inline ExecuteOptions optionsOf(const TrainOptions &how) {
  ExecuteOptions options;
  options.from = "input";
  options.batch = how.size;
  options.mesh = how.mesh;
  options.strategy = how.strategy;
  options.microbatches = how.microbatches;
  options.precision = how.precision;
  options.attention = how.attention;
  options.repeats = how.repeats;
  options.target = how.target;
  options.run.program = "train";
  options.run.seed = 7;
  options.run.steps = how.steps;
  options.run.validCount = how.validCount;
  options.run.inputsOfStep = how.inputs;
  return options;
}

/// The plan for the model, compiled once for all runs of it.
inline const absl::StatusOr<std::vector<uint8_t>> &planOf(const std::string &model, const TrainOptions &how) {
  using Key = std::tuple<std::string, std::string, std::string, int64_t, int64_t, std::string, std::string, std::string,
                         std::string>;
  static std::map<Key, absl::StatusOr<std::vector<uint8_t>>> plans;
  auto [plan, isNew] = plans.try_emplace({model, how.mesh, how.strategy, how.size, how.microbatches, how.precision,
                                          how.attention, how.repeats, how.target});
  if (isNew) {
    plan->second = compileText(model, optionsOf(how));
  }
  return plan->second;
}

/// The variables after training. Every replica has the same bits: runOnce checks that.
inline NamedArrays train(const std::string &model, const TrainOptions &how) {
  const absl::StatusOr<std::vector<uint8_t>> &plan = planOf(model, how);
  absl::StatusOr<rt::RunOnceResult> result =
      plan.ok() ? rt::runOnce(*plan, how.inputs(0), optionsOf(how).run) : plan.status();
  EXPECT_TRUE(result.ok()) << how.mesh << " " << how.strategy << ": " << result.status();
  return result.ok() ? result->variables : NamedArrays();
}

/// |a - b| / |b| over all variables together, relative to `base` when it is given: then of the changes from there.
inline double distance(const NamedArrays &a, const NamedArrays &b, const NamedArrays *base = nullptr) {
  double difference = 0, norm = 0;
  if (a.size() != b.size()) {
    return INFINITY;
  }
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

} // namespace dgc::testing
