// A transformer in pipelines whose stages the solver chooses, by running: the gradients and weights of one worker,
// though the embedding table is read by the first stage and by the last.
#include "test/unit/oracle/Pipelines.h"

using namespace dgc::testing;

namespace {

class Schedules : public testing::TestWithParam<Pipeline> {};

TEST_P(Schedules, HaveTheGradientsOfOneWorker) { expectTheSame(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Transformer, Schedules,
    testing::Values(Pipeline{"stage=2", "pipeline=gpipe", 4}, Pipeline{"stage=2", "pipeline=1f1b", 4},
                    Pipeline{"stage=2", "pipeline=interleaved", 2}, Pipeline{"stage=2", "pipeline=zb-h1", 3},
                    Pipeline{"stage=4", "pipeline=gpipe", 3}, Pipeline{"stage=4", "pipeline=1f1b", 4},
                    Pipeline{"stage=4", "pipeline=interleaved", 4}, Pipeline{"stage=4", "pipeline=zb-h1", 4},
                    Pipeline{"stage=3", "pipeline=gpipe", 2}, Pipeline{"stage=3", "pipeline=1f1b", 2},
                    Pipeline{"stage=3", "pipeline=interleaved", 3}, Pipeline{"stage=3", "pipeline=zb-h1", 2},
                    Pipeline{"stage=8", "pipeline=gpipe", 2}, Pipeline{"stage=8", "pipeline=1f1b", 2},
                    Pipeline{"stage=8", "pipeline=zb-h1", 2}, Pipeline{"stage=4,data=2", "pipeline=interleaved", 4}),
    nameOf);

TEST(TransformerPipeline, TrainsTheSameWeights) {
  EXPECT_LE(distance(trainOn({"stage=2", "pipeline=zb-h1", 4}, 20), alone(20)), 1e-5);
}

// The negative control: gradients that are added where they should be averaged.
TEST(TransformerPipeline, WrongScaleIsNoticed) {
  std::string wrong = std::regex_replace(std::string(smallTransformer), std::regex("dgc\\.loss %loss"),
                                         "%twice = dgc.scale %loss by 2.0\n  dgc.loss %twice");
  EXPECT_GT(distance(trainOn({"stage=2", "pipeline=1f1b", 2}, 1, wrong), alone(1), &alone(0)), 0.5);
}

} // namespace
