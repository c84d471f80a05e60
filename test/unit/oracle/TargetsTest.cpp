// The code for CPUs against the reference, which interprets kernels and has no library: the same model and the same plan of
// communication, the same weights but for rounding. The reference adds up in f64, so what is between the two is the rounding
// of the sums on CPUs.
#include "test/unit/oracle/Transformer.h"

using namespace dgc::testing;

namespace {

struct Case {
  const char *name;
  std::string model;
  const char *mesh = "", *strategy = "";
  int64_t microbatches = 0;

  TrainOptions on(const char *target, int steps) const {
    TrainOptions how{.mesh = mesh, .strategy = strategy, .steps = steps, .microbatches = microbatches};
    if (model == smallTransformer)
      how.inputs = windowsOfStep;
    how.target = target;
    return how;
  }
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.name; }

class Targets : public testing::TestWithParam<Case> {};

TEST_P(Targets, AgreeOnGradientsAndWeights) {
  const Case &c = GetParam();
  NamedArrays initial = train(c.model, c.on("reference", 0)), one = train(c.model, c.on("reference", 1));
  ASSERT_FALSE(one.empty());
  NamedArrays onCpu = train(c.model, c.on("cpu", 1));
  EXPECT_LE(distance(onCpu, one), 1e-6);
  EXPECT_LE(distance(onCpu, one, &initial), 2e-5) << "gradients";
  EXPECT_LE(distance(train(c.model, c.on("cpu", 4)), train(c.model, c.on("reference", 4))), 1e-5) << "4 steps";
}

/// Dropout in front of the second layer: random numbers are the same bits on all targets.
std::string withDropout(const std::string &model) {
  return std::regex_replace(model, std::regex("%logits = dgc.dense %hidden"),
                            "%kept = dgc.dropout %hidden rate 0.3\n  %logits = dgc.dense %kept");
}

const std::string mlp = readModel("mnist_mlp"), cnn = readModel("mnist_cnn");
INSTANTIATE_TEST_SUITE_P(Cpu, Targets,
                         testing::Values(Case{"Mlp", mlp},
                                         Case{"MlpWithMomentum",
                                              readModel("mnist_mlp", "sgd learning_rate 0.05 momentum 0.9")},
                                         Case{"MlpWithDropout", withDropout(mlp)}, Case{"MlpOnTwo", mlp, "data=2"},
                                         Case{"MlpZero", mlp, "data=2", "zero3"},
                                         Case{"MlpTensorParallel", mlp, "model=2", "tensor-parallel=w1:1"},
                                         Case{"MlpServers", mlp, "data=2", "parameter-server=2"}, Case{"Cnn", cnn},
                                         Case{"CnnOnTwo", cnn, "data=2"}, Case{"Transformer", smallTransformer},
                                         Case{"TransformerTensorParallel", smallTransformer, "model=2",
                                              "tensor-parallel=*query/*:-1+*key/*:-1+*value/*:-1+*up/*:-1"},
                                         Case{"TransformerPipeline", smallTransformer, "stage=2", "pipeline=1f1b", 4}),
                         [](const auto &info) { return std::string(info.param.name); });

// A gradient that is twice as large is noticed.
TEST(Targets, WrongScaleIsNoticed) {
  std::string wrong =
      std::regex_replace(mlp, std::regex("dgc\\.loss %loss"), "%twice = dgc.scale %loss by 2.0\n  dgc.loss %twice");
  ASSERT_NE(mlp, wrong);
  Case right{"", mlp};
  NamedArrays initial = train(mlp, right.on("reference", 0)), one = train(mlp, right.on("reference", 1));
  EXPECT_GT(distance(train(wrong, right.on("cpu", 1)), one, &initial), 0.5);
}

} // namespace
