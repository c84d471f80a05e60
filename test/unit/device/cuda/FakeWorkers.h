// What tests of several workers on fake GPUs share: how they are distributed, models, and what must hold afterwards.
#pragma once

#include "test/unit/device/cuda/FakeGpus.h"

#include <gmock/gmock.h>

namespace dgc::testing {

using rt::HostArray;
using rt::NamedArrays;

inline std::vector<std::shared_ptr<FakeLog>> newLogs(size_t workers) {
  std::vector<std::shared_ptr<FakeLog>> logs(workers);
  for (auto &log : logs)
    log = std::make_shared<FakeLog>();
  return logs;
}

inline void expectClean(const std::vector<std::shared_ptr<FakeLog>> &logs, const std::string &what = "") {
  for (size_t rank = 0; rank < logs.size(); ++rank) {
    EXPECT_THAT(logs[rank]->violations, ::testing::IsEmpty()) << what << ", rank " << rank;
    EXPECT_EQ(logs[rank]->allocatedBytes, 0u);
    EXPECT_EQ(logs[rank]->pinnedBytes, 0u);
  }
}

inline void expectSame(const rt::RunOnceResult &result, const rt::RunOnceResult &expected) {
  ASSERT_EQ(result.outputsOfStep.size(), expected.outputsOfStep.size());
  for (size_t step = 0; step < expected.outputsOfStep.size(); ++step)
    for (const auto &[name, array] : expected.outputsOfStep[step])
      EXPECT_LE(difference(result.outputsOfStep[step].at(name), array), 1e-5) << name;
  ASSERT_EQ(result.variables.size(), expected.variables.size());
  for (const auto &[name, array] : expected.variables)
    EXPECT_LE(difference(result.variables.at(name), array), 1e-5) << name;
}

struct Distribution {
  const char *mesh, *strategy;
  int workers, segments;
  bool overlap = false;
  int microbatches = 0;
  const char *name;
  /// mnist_mlp distributed so, for CPUs.
  ExecuteOptions options() const {
    ExecuteOptions options = mnistOptions();
    options.mesh = mesh;
    options.strategy = strategy;
    options.overlap = overlap;
    options.microbatches = microbatches;
    return options;
  }
  const char *serversOnGpus() const { return std::string_view(name) == "servers" ? "cuda:sm_90" : ""; }
};
inline void PrintTo(const Distribution &distribution, std::ostream *out) {
  *out << distribution.mesh << " " << distribution.strategy;
}

/// Plans of all strategies without stages.
inline std::vector<Distribution> distributions() {
  return {Distribution{"data=2", "data-parallel", 2, 2, false, 0, "data"},
          Distribution{"data=2", "zero3", 2, 3, false, 0, "zero3"},
          Distribution{"data=3", "zero3", 3, 3, true, 0, "zero3_overlap"},
          Distribution{"model=2", "tensor-parallel=w1:1", 2, 2, false, 0, "tensor"},
          Distribution{"data=2,model=2", "zero2,tensor-parallel=w1:1", 4, 3, true, 0, "zero2_tensor"},
          Distribution{"data=2", "parameter-server=1", 3, 2, false, 0, "servers"}};
}

/// Layers of n x n values, n = 150 to have a bucket for each gradient.
inline std::string deepModel(int n) {
  std::string size = std::to_string(n), w = " glorot_uniform : tensor<" + size + "x" + size + "xf32>\n";
  return "dgc.model @deep {\n"
         "%x = dgc.input \"x\" : tensor<?x" +
         size +
         "xf32>\n"
         "%y = dgc.input \"y\" : tensor<?x" +
         size +
         "xf32>\n"
         "%w1 = dgc.variable \"w1\"" +
         w + "%w2 = dgc.variable \"w2\"" + w + "%w3 = dgc.variable \"w3\"" + w +
         "%a = dgc.matmul %x, %w1\n%b = dgc.tanh %a\n%c = dgc.matmul %b, %w2\n%d = dgc.tanh %c\n"
         "%e = dgc.matmul %d, %w3\n%loss = dgc.mean_squared_error %e, %y\ndgc.loss %loss\n"
         "dgc.optimizer sgd learning_rate 0.1\n}";
}

inline ExecuteOptions deepOptions(int n) {
  ExecuteOptions options;
  options.from = "input";
  options.batch = 6;
  options.mesh = "data=2";
  options.run.program = "train";
  options.run.seed = 7;
  options.run.steps = 2;
  options.run.inputsOfStep = [n](int step) {
    std::vector<float> x(static_cast<size_t>(6 * n)), y(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>((i * 37 + static_cast<size_t>(step) * 11) % 101) / 101;
      y[i] = static_cast<float>((i * 53 + static_cast<size_t>(step) * 7) % 89) / 45 - 1;
    }
    return NamedArrays{{"x", HostArray::of({6, n}, x)}, {"y", HostArray::of({6, n}, y)}};
  };
  return options;
}

} // namespace dgc::testing
