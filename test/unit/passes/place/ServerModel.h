// Models on parameter servers, and running them.
#pragma once

#include "test/unit/passes/place/StagedModel.h"

#include "runtime/artifact/Reader.h"

#include <algorithm>
#include <cctype>

namespace dgc::testing {

using Layout = std::pair<const char *, const char *>; // mesh, strategy

inline std::string nameOfLayout(const ::testing::TestParamInfo<Layout> &info) {
  std::string name = std::string(info.param.second) + "_" + info.param.first;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

/// Runs models that read these inputs.
struct ServerRuns {
  NamedArrays (*inputsOfStep)(int);

  ExecuteOptions options(const std::string &mesh, const std::string &strategy, int steps,
                         const std::string &program = "train") const {
    ExecuteOptions options = optionsFor(mesh, program, steps);
    options.strategy = strategy;
    options.batch = batch;
    options.run.inputsOfStep = inputsOfStep;
    return options;
  }

  dgc::rt::RunOnceResult train(const std::string &model, const std::string &mesh, const std::string &strategy,
                               int steps) const {
    auto result = execute(model, inputsOfStep(0), options(mesh, strategy, steps));
    EXPECT_TRUE(result.ok()) << mesh << " " << strategy << ": " << result.status();
    return result.ok() ? *std::move(result) : dgc::rt::RunOnceResult();
  }

  std::unique_ptr<dgc::rt::Artifact> plan(const std::string &model, const std::string &mesh,
                                          const std::string &strategy) const {
    auto bytes = compileText(model, options(mesh, strategy, 1));
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    auto artifact = dgc::rt::loadBytes(*bytes);
    EXPECT_TRUE(artifact.ok()) << artifact.status();
    return *std::move(artifact);
  }

  /// The initial values, the gradients of a step, and what `steps` steps give, the state of the optimizer, too.
  void expectToTrainAsOneDevice(const std::string &model, const Layout &layout, int steps) const {
    const auto &[mesh, strategy] = layout;
    NamedArrays initial = train(model, "", "", 0).variables, one = train(model, "", "", 1).variables;
    NamedArrays start = train(model, mesh, strategy, 0).variables, step = train(model, mesh, strategy, 1).variables;
    for (const auto &[name, array] : initial)
      EXPECT_EQ(start.at(name).bytes, array.bytes) << name << " begins with other values";
    expectClose(one, step, 1e-6);
    expectClose(changes(initial, one), changes(initial, step), 2e-5);
    dgc::rt::RunOnceResult alone = train(model, "", "", steps), many = train(model, mesh, strategy, steps);
    expectClose(alone.variables, many.variables, 1e-5);
    expectClose(alone.outputs, many.outputs, 1e-5);
  }

  /// What it evaluates and predicts, which takes no `label`.
  void expectToPredictAsOneDevice(const std::string &model, const std::string &label) const {
    for (const std::string program : {"evaluate", "predict"}) {
      ExecuteOptions alone = options("", "", 1, program), many = options("data=2", "parameter-server=3", 1, program);
      NamedArrays given = inputsOfStep(0);
      if (program == "predict") {
        given.erase(label);
        alone.run.inputsOfStep = many.run.inputsOfStep = nullptr;
      }
      auto expected = execute(model, given, alone), actual = execute(model, given, many);
      ASSERT_TRUE(expected.ok()) << expected.status();
      ASSERT_TRUE(actual.ok()) << actual.status();
      expectClose(expected->outputs, actual->outputs, 1e-6);
    }
  }
};

/// Of a buffer of f32.
inline uint64_t bytesOf(const dgc::artifact::Buffer &buffer) {
  uint64_t size = sizeof(float);
  for (uint32_t i = 0; buffer.shape() && i < buffer.shape()->size(); ++i)
    size *= uint64_t(buffer.shape()->Get(i));
  return size;
}

} // namespace dgc::testing
