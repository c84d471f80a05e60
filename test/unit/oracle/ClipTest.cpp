// Gradients that are clipped by the norm of all of them, under what cuts gradients or puts them on several stages, by
// running: the weights of one worker. The model ties its tables, so one gradient is a sum of two.
#include "test/unit/oracle/Pipelines.h"

using namespace dgc::testing;

namespace {

const std::string cut = ",tensor-parallel=*query/*:-1+*key/*:-1+*value/*:-1+*up/*:-1";

/// The small transformer with gradients scaled down to a norm of 0.01, which is far below theirs.
std::string clipped(const std::string &optimizer = "sgd learning_rate 0.1") {
  std::string model = std::regex_replace(std::string(smallTransformer), std::regex("dgc\\.optimizer [^\\n]*"),
                                         "dgc.optimizer " + optimizer + " clip_global_norm 0.01");
  EXPECT_NE(model, smallTransformer);
  return model;
}

class Clipped : public testing::TestWithParam<Pipeline> {};

TEST_P(Clipped, HaveTheGradientsOfOneWorker) {
  static const NamedArrays initial = trainOn({}, 0, clipped()), one = trainOn({}, 1, clipped());
  NamedArrays step = trainOn(GetParam(), 1, clipped());
  EXPECT_LE(distance(step, one), 1e-6);
  EXPECT_LE(distance(step, one, &initial), 2e-5) << "gradients";
  // The negative control: without the clipping, and without something that is communicated.
  EXPECT_GT(distance(alone(1), one, &initial), 1) << "nothing is clipped";
  expectBrokenIsNoticed(clipped(), optionsOf(GetParam(), 1), one, initial);
}

INSTANTIATE_TEST_SUITE_P(
    Transformer, Clipped,
    testing::Values(
        Pipeline{"data=2", "zero1", 0}, Pipeline{"data=3", "zero2", 0}, Pipeline{"data=4", "zero3", 0},
        Pipeline{"data=2", "zero1,accumulate=3", 0}, Pipeline{"data=2", "zero2,accumulate=5", 0},
        Pipeline{"data=2", "central-storage", 0}, Pipeline{"data=3", "parameter-server=2", 0},
        Pipeline{"data=2", "parameter-server=3,accumulate=3", 0}, Pipeline{"data=2,model=2", "zero2" + cut, 0},
        Pipeline{"data=2,model=2", "zero1,sequence-parallel" + cut, 0}, Pipeline{"stage=2", "pipeline=1f1b", 3},
        Pipeline{"stage=2", "pipeline=interleaved", 4}, Pipeline{"stage=2,data=2", "pipeline=1f1b,zero1", 3},
        Pipeline{"stage=2,data=3", "pipeline=zb-h1,zero2", 3}, Pipeline{"stage=2,data=2", "pipeline=gpipe,zero3", 2},
        Pipeline{"stage=2,data=2,model=2", "pipeline=1f1b,zero2" + cut, 3}),
    [](const testing::TestParamInfo<Pipeline> &info) {
      return std::regex_replace(info.param.strategy.substr(0, 40) + "_" + info.param.mesh, std::regex("[^A-Za-z0-9]+"),
                                "_");
    });

TEST(Clip, TrainsTheSameWeights) {
  std::string model = clipped("sgd learning_rate 0.1 momentum 0.9");
  NamedArrays one = trainOn({}, 10, model);
  EXPECT_LE(distance(trainOn({"data=2", "zero2", 0}, 10, model), one), 1e-5);
  EXPECT_LE(distance(trainOn({"data=2", "parameter-server=2", 0}, 10, model), one), 1e-5);
  EXPECT_LE(distance(trainOn({"stage=2,data=2", "pipeline=1f1b,zero1", 3}, 10, model), one), 1e-5);
}

} // namespace
