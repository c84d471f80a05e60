// Pipelines of models in which micro-batches wait for each other, by running: statistics and denominators are those of
// the whole batch, so the gradients are those of one worker.
#include "test/unit/oracle/Broken.h"

using namespace dgc::testing;

namespace {

/// Two batch norms, on a stage each, in blocks: the second one is cut by stage 1 or 2. 5 micro-batches do not divide
/// the 24 examples.
const std::string layers = R"(dgc.model @m {
  %x = dgc.input "x" : tensor<24x6xf32>
  %y = dgc.input "y" : tensor<24x5xf32>
  %mask = dgc.input "mask" : tensor<24xf32>
  %first = dgc.repeat 1 "first" (%in = %x) {
    %w0 = dgc.variable "w0" glorot_uniform : tensor<6x9xf32>
    %s0 = dgc.variable "s0" uniform 0.5 1.5 : tensor<9xf32>
    %o0 = dgc.variable "o0" uniform -0.5 0.5 : tensor<9xf32>
    %m0 = dgc.variable "m0" zeros : tensor<9xf32>
    %v0 = dgc.variable "v0" constant 1 : tensor<9xf32>
    %h0 = dgc.dense %in, %w0 {dist.stage = 0}
    %n0, %mn0, %vn0 = dgc.batch_norm %h0, %s0, %o0, %m0, %v0 momentum 0.9 epsilon 1e-3
    dgc.assign %m0, %mn0
    dgc.assign %v0, %vn0
    %a0 = dgc.tanh %n0
    dgc.next %a0
  }
  %z = dgc.repeat 1 "second" (%in = %first) {
    %w1 = dgc.variable "w1" glorot_uniform : tensor<9x7xf32>
    %s1 = dgc.variable "s1" uniform 0.5 1.5 : tensor<7xf32>
    %o1 = dgc.variable "o1" uniform -0.5 0.5 : tensor<7xf32>
    %m1 = dgc.variable "m1" zeros : tensor<7xf32>
    %v1 = dgc.variable "v1" constant 1 : tensor<7xf32>
    %w2 = dgc.variable "w2" glorot_uniform : tensor<7x5xf32>
    %e1 = dgc.exponential %in
    %h1 = dgc.dense %e1, %w1 {dist.stage = 1}
    %n1, %mn1, %vn1 = dgc.batch_norm %h1, %s1, %o1, %m1, %v1 momentum 0.9 epsilon 1e-3
    dgc.assign %m1, %mn1
    dgc.assign %v1, %vn1
    %a1 = dgc.tanh %n1 MIDDLE
    %last = dgc.dense %a1, %w2 LAST
    dgc.next %last
  }
  %d = dgc.subtract %z, %y
  %q = dgc.multiply %d, %d
  %e = dgc.reduce sum %q dims [1]
  LOSS
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.05
})";

enum Loss {
  Scaled,   // by a constant
  Counted,  // the mean over the examples that the mask counts
  Weighted, // by what the first stage computes: the gradient of the denominator goes through all stages
};

const std::string losses[] = {R"(%masked = dgc.multiply %e, %mask
  %sum = dgc.reduce sum %masked dims [0]
  %loss = dgc.scale %sum by 0.05)",
                              R"(%masked = dgc.multiply %e, %mask
  %sum = dgc.reduce sum %masked dims [0]
  %n = dgc.reduce sum %mask dims [0]
  %loss = dgc.divide %sum, %n)",
                              R"(%g = dgc.reduce sum %first dims [1]
  %positive = dgc.exponential %g
  %weight = dgc.multiply %positive, %mask
  %masked = dgc.multiply %e, %weight
  %sum = dgc.reduce sum %masked dims [0]
  %n = dgc.reduce sum %weight dims [0]
  %loss = dgc.divide %sum, %n)"};

struct Case {
  Loss loss;
  bool isNormed;
  const char *mesh, *strategy;
  int microbatches;
  int last = 1; // the stage of the last layer
};

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string modelOf(const Case &c) {
  std::string text = replaced(layers, "LOSS", losses[c.loss]);
  text = replaced(text, "MIDDLE", c.last > 2 ? "{dist.stage = 2}" : "");
  text = replaced(text, "LAST", "{dist.stage = " + std::to_string(c.last) + "}");
  if (c.isNormed)
    return text;
  text = std::regex_replace(text, std::regex("%n(.), %mn., %vn. = dgc.batch_norm [^\n]*"), "%n$1 = dgc.tanh %h$1");
  return std::regex_replace(text, std::regex("\n +(dgc.assign|%[smov][01] =)[^\n]*"), "");
}

NamedArrays inputsOfStep(int i) {
  std::mt19937 rng(40 + i);
  auto numbers = [&](const std::vector<int64_t> &shape, auto make) {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    std::vector<float> values(count);
    for (float &value : values)
      value = make();
    return HostArray::of(shape, values);
  };
  auto real = [&] { return static_cast<float>(rng() % 2000) / 500 - 1.5f; };
  // The examples of a micro-batch, modulo their number, have other counts than those of the next one.
  int row = 0;
  auto masked = [&] { return row++ % 3 == 0 || rng() % 4 == 0 ? 1.0f : 0.0f; };
  return {{"x", numbers({24, 6}, real)}, {"y", numbers({24, 5}, real)}, {"mask", numbers({24}, masked)}};
}

void PrintTo(const Case &c, std::ostream *os) { *os << c.loss << c.isNormed << " " << c.mesh << " " << c.strategy; }

TrainOptions optionsOf(const Case &c, int steps) {
  TrainOptions how{c.mesh, c.strategy, steps};
  how.inputs = inputsOfStep;
  how.microbatches = c.microbatches;
  return how;
}

NamedArrays alone(const std::string &model, int steps) {
  TrainOptions how{"", "", steps};
  how.inputs = inputsOfStep;
  return train(model, how);
}

class Rounds : public testing::TestWithParam<Case> {};

TEST_P(Rounds, HaveTheGradientsOfOneWorker) {
  const Case &c = GetParam();
  std::string model = modelOf(c);
  NamedArrays initial = alone(model, 0), one = alone(model, 1), step = train(model, optionsOf(c, 1));
  EXPECT_LE(distance(step, one), 1e-6);
  EXPECT_LE(distance(step, one, &initial), 2e-5) << "gradients, and statistics";
  expectBrokenIsNoticed(model, optionsOf(c, 1), one, initial);
}

// The negative control of the statistics: those of a micro-batch alone give other gradients. A batch norm of one
// worker's micro-batch is that of a batch of these examples.
TEST(Round, StatisticsOfAPartAreOthers) {
  std::string model = modelOf({Scaled, true, "", "", 0});
  NamedArrays initial = alone(model, 0), one = alone(model, 1);
  TrainOptions part{"", ""};
  part.size = 12;
  part.inputs = [](int step) {
    NamedArrays all = inputsOfStep(step), even;
    for (const auto &[name, array] : all) {
      std::vector<float> values = array.as<float>(), kept;
      const size_t row = values.size() / 24;
      for (size_t i = 0; i < values.size(); ++i)
        if (i / row % 2 == 0)
          kept.push_back(values[i]);
      std::vector<int64_t> shape(array.shape.begin(), array.shape.end());
      shape[0] = 12;
      even[name] = HostArray::of(shape, kept);
    }
    return even;
  };
  NamedArrays half = train(model, part);
  for (const char *name : {"first.0.m0", "second.0.v1"})
    EXPECT_GT(distance({{name, half.at(name)}}, {{name, one.at(name)}}), 1e-3) << name;
}

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  const char *names[] = {"scaled", "counted", "weighted"};
  return names[info.param.loss] + std::string(info.param.isNormed ? "_normed_" : "_") +
         std::regex_replace(std::string(info.param.strategy).substr(9) + "_" + info.param.mesh,
                            std::regex("[^A-Za-z0-9]+"), "_") +
         "_" + std::to_string(info.param.last);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Rounds,
    testing::Values(
        Case{Scaled, true, "stage=2", "pipeline=gpipe", 4}, Case{Scaled, true, "stage=2", "pipeline=1f1b", 5},
        Case{Scaled, true, "stage=2", "pipeline=zb-h1", 3}, Case{Counted, false, "stage=2", "pipeline=gpipe", 3},
        Case{Counted, false, "stage=2", "pipeline=1f1b", 4}, Case{Counted, false, "stage=3", "pipeline=zb-h1", 5, 2},
        Case{Counted, true, "stage=3", "pipeline=zb-h1", 4, 2}, Case{Weighted, true, "stage=3", "pipeline=1f1b", 5, 2},
        Case{Weighted, false, "stage=2", "pipeline=zb-h1", 4},
        Case{Counted, true, "stage=2", "pipeline=interleaved", 4, 3},
        // Back to stage 0: the last layer waits for all micro-batches.
        Case{Counted, true, "stage=2", "pipeline=1f1b", 3, 0}, Case{Scaled, false, "stage=2", "pipeline=zb-h1", 4, 0},
        Case{Counted, true, "stage=2,data=2", "pipeline=1f1b,data-parallel", 3},
        Case{Weighted, true, "stage=3,data=2", "pipeline=zb-h1,zero2", 3, 2},
        Case{Scaled, true, "stage=2,data=2", "pipeline=gpipe,zero1", 4},
        // The second block is cut by stages, and what it computes is computed again on each of them.
        Case{Scaled, false, "stage=2", "pipeline=gpipe,recompute=*", 4},
        Case{Scaled, false, "stage=2", "pipeline=1f1b,recompute=second.*", 3},
        Case{Counted, true, "stage=4", "pipeline=1f1b,recompute=*", 4, 3},
        Case{Weighted, true, "stage=2,data=2", "pipeline=interleaved,zero2,recompute=*", 2, 3},
        Case{Weighted, true, "stage=3,data=2", "pipeline=zb-h1,recompute=*,data-parallel", 3, 2}),
    nameOf);

} // namespace
