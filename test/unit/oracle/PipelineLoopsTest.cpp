// Pipelines whose micro-batches are rounds of a loop, by running: the gradients and weights of one worker.
#include "test/unit/oracle/Pipelines.h"

using namespace dgc::testing;

namespace {

class Loops : public testing::TestWithParam<Pipeline> {};

TEST_P(Loops, HaveTheGradientsOfOneWorker) { expectTheSame(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Transformer, Loops,
    testing::Values(Pipeline{"stage=2", "pipeline=1f1b", 12}, Pipeline{"stage=2", "pipeline=zb-h1", 12},
                    Pipeline{"stage=2", "pipeline=gpipe", 12}, Pipeline{"stage=3", "pipeline=gpipe", 12},
                    Pipeline{"stage=4", "pipeline=gpipe", 12}, Pipeline{"stage=2,data=2", "pipeline=gpipe,zero3", 6},
                    Pipeline{"stage=2,model=2", "pipeline=gpipe" + cut, 12},
                    Pipeline{"stage=2,data=2", "pipeline=gpipe,data-parallel,recompute=layer.*", 6},
                    Pipeline{"stage=2", "pipeline=interleaved", 12}, Pipeline{"stage=3", "pipeline=1f1b", 12},
                    Pipeline{"stage=3", "pipeline=zb-h1", 12}, Pipeline{"stage=4", "pipeline=1f1b", 12},
                    Pipeline{"stage=2,data=2", "pipeline=1f1b,zero3", 6},
                    Pipeline{"stage=2,data=2", "pipeline=zb-h1,zero2", 6},
                    Pipeline{"stage=2,model=2", "pipeline=1f1b" + cut, 12},
                    Pipeline{"stage=2,data=2", "pipeline=1f1b,data-parallel,recompute=layer.*", 6}),
    nameOf);

TEST(PipelineLoops, TrainTheSameWeights) {
  EXPECT_LE(distance(trainOn({"stage=2", "pipeline=1f1b", 12}, 20), alone(20)), 1e-5);
  EXPECT_LE(distance(trainOn({"stage=2", "pipeline=gpipe", 12}, 20), alone(20)), 1e-5);
}

} // namespace
