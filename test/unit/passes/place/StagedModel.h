// A model whose layers are on stages, and running it.
#pragma once

#include "test/unit/passes/partition/Compare.h"

namespace dgc::testing {

inline constexpr int batch = 24;

/// Dense layers with tanh, four or as many as there are stages; layer i begins stage i when it is below `stages`. The
/// loss is multiplied by `scale`.
inline std::string mlp(int stages, const std::string &optimizer = "sgd learning_rate 0.05",
                       const std::string &scale = "1.0") {
  const int layers = std::max(4, stages), widths[] = {6, 11, 7, 9, 10, 8, 12, 13, 5};
  std::string text = "dgc.model @mlp {\n"
                     "  %x = dgc.input \"x\" : tensor<24x6xf32>\n"
                     "  %label = dgc.input \"label\" : tensor<24xi32>\n";
  for (int i = 0; i < layers; ++i) {
    std::string n = std::to_string(i), in = std::to_string(widths[i % 9]),
                out = std::to_string(i + 1 < layers ? widths[(i + 1) % 9] : 5);
    text += "  %w" + n + " = dgc.variable \"w" + n + "\" glorot_uniform : tensor<" + in + "x" + out + "xf32>\n";
    text += "  %b" + n + " = dgc.variable \"b" + n + "\" uniform -0.1 0.1 : tensor<" + out + "xf32>\n";
  }
  std::string value = "%x";
  for (int i = 0; i < layers; ++i) {
    std::string n = std::to_string(i);
    std::string stage = i < stages ? " {dist.stage = " + n + "}" : "";
    text += "  %d" + n + " = dgc.dense " + value + ", %w" + n + ", %b" + n + stage + "\n";
    value = "%d" + n;
    if (i + 1 < layers) {
      text += "  %h" + n + " = dgc.tanh %d" + n + "\n";
      value = "%h" + n;
    }
  }
  return text + "  %raw = dgc.cross_entropy " + value + ", %label\n  %loss = dgc.scale %raw by " + scale +
         "\n"
         "  %accuracy = dgc.accuracy " +
         value +
         ", %label\n"
         "  dgc.loss %loss\n"
         "  dgc.metric \"accuracy\" %accuracy\n"
         "  dgc.output \"logits\" " +
         value + "\n  dgc.optimizer " + optimizer + "\n}\n";
}

inline NamedArrays batchOfStep(int i) {
  std::vector<int32_t> labels(batch);
  for (int row = 0; row < batch; ++row)
    labels[row] = (row * 7 + i * 3 + row / 5) % 5;
  return {{"x", array({batch, 6}, 100 + i)}, {"label", HostArray::of({batch}, labels)}};
}

inline ExecuteOptions optionsFor(const std::string &mesh, const std::string &program, int steps) {
  ExecuteOptions options;
  options.from = "input";
  options.mesh = mesh;
  options.run.program = program;
  options.run.seed = 11;
  options.run.steps = steps;
  options.run.inputsOfStep = batchOfStep;
  return options;
}

inline dgc::rt::RunOnceResult run(const std::string &model, const std::string &mesh, int steps) {
  auto result = execute(model, batchOfStep(0), optionsFor(mesh, "train", steps));
  EXPECT_TRUE(result.ok()) << mesh << ": " << result.status();
  return result.ok() ? *std::move(result) : dgc::rt::RunOnceResult();
}

/// The changes of the variables: the learning rate times the gradients.
inline NamedArrays changes(const NamedArrays &from, const NamedArrays &to) {
  NamedArrays result;
  for (const auto &[name, array] : to) {
    std::vector<float> before = from.at(name).as<float>(), after = array.as<float>();
    for (size_t i = 0; i < after.size(); ++i)
      after[i] -= before[i];
    result[name] = HostArray::of(array.shape, after);
  }
  return result;
}

} // namespace dgc::testing
