// Pipelines with what else cuts a model (batches, weights, the state of the optimizer, sequences), by running: the
// gradients of one worker, on up to eight.
#include "test/unit/oracle/Pipelines.h"

using namespace dgc::testing;

namespace {

class Combinations : public testing::TestWithParam<Pipeline> {};

TEST_P(Combinations, HaveTheGradientsOfOneWorker) { expectTheSame(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Transformer, Combinations,
    testing::Values(Pipeline{"stage=2,data=2", "pipeline=1f1b,zero1", 3},
                    Pipeline{"stage=2,data=2", "pipeline=gpipe,zero2", 3},
                    Pipeline{"stage=2,data=2", "pipeline=1f1b,zero3", 2},
                    Pipeline{"stage=2,model=2", "pipeline=1f1b" + cut, 3},
                    Pipeline{"stage=2,data=2,model=2", "pipeline=1f1b,data-parallel" + cut, 3},
                    Pipeline{"stage=2,data=2,model=2", "pipeline=zb-h1,zero2" + cut, 3},
                    Pipeline{"stage=2,data=2,model=2", "pipeline=interleaved,sequence-parallel,data-parallel" + cut, 2},
                    Pipeline{"stage=2,data=2", "pipeline=1f1b,data-parallel,recompute=layer.*", 3}),
    nameOf);

TEST(Combination, TrainsTheSameWeights) {
  EXPECT_LE(distance(trainOn({"stage=2,data=2,model=2", "pipeline=zb-h1,zero2" + cut, 3}, 20), alone(20)), 1e-5);
}

} // namespace
