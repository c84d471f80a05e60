// The same model on one worker and on several: the same gradients and the same weights. Plain SGD, the same seed and
// the same global batches; the workers are threads of this process.
//
// Tolerances: 1e-6 relative after one step, 1e-5 relative (L2) after 100; rounding differs because sums are cut.
// A relu or a max-pool may decide otherwise on values within rounding of each other; from then on two runs part by more
// than rounding, on any system. So the hundred steps are taken by the same models with smooth functions in their place.

#include "test/unit/oracle/Oracle.h"

using namespace dgc::testing;

namespace {

/// The variables after so many steps on `workers` workers. Every replica has the same bits: runOnce checks that.
NamedArrays train(const std::string &model, int workers, int steps, int64_t size = batch) {
  auto inputs = [size](int step) { return batchOfStep(step, size); };
  return dgc::testing::train(model,
                             {workers > 1 ? "data=" + std::to_string(workers) : "", "", steps, -1, inputs, size});
}

class Oracle : public testing::TestWithParam<std::string> {};

TEST_P(Oracle, AnyNumberOfWorkersHasTheSameGradients) {
  std::string model = readModel(GetParam());
  NamedArrays initial = train(model, 1, 0), one = train(model, 1, 1);
  ASSERT_FALSE(one.empty());
  for (int workers : {2, 3, 4, 8}) {
    NamedArrays step = train(model, workers, 1);
    EXPECT_LE(distance(step, one), 1e-6) << workers << " workers, one step";
    // The change of the weights is the gradient times the learning rate; its rounding is that of the weights.
    EXPECT_LE(distance(step, one, &initial), 2e-5) << workers << " workers, gradients";
  }
}

TEST_P(Oracle, ABatchThatTheWorkersDoNotDivideHasTheSameGradients) {
  std::string model = readModel(GetParam());
  NamedArrays initial = train(model, 1, 0, unevenBatch), one = train(model, 1, 1, unevenBatch);
  ASSERT_FALSE(one.empty());
  for (int workers : {2, 3, 4, 8}) {
    NamedArrays step = train(model, workers, 1, unevenBatch);
    EXPECT_LE(distance(step, one), 1e-6) << workers << " workers, one step";
    EXPECT_LE(distance(step, one, &initial), 2e-5) << workers << " workers, gradients";
  }
}

TEST_P(Oracle, AnyNumberOfWorkersTrainsTheSameWeights) {
  std::string model = smooth(readModel(GetParam()));
  NamedArrays initial = train(model, 1, 0), hundred = train(model, 1, 100);
  ASSERT_FALSE(hundred.empty());
  EXPECT_GT(distance(hundred, initial), 1e-3) << "nothing was trained";
  for (int workers : {2, 3, 8}) {
    EXPECT_LE(distance(train(model, workers, 100), hundred), 1e-5) << workers << " workers, 100 steps";
  }
}

TEST_P(Oracle, ABatchThatTheWorkersDoNotDivideTrainsTheSameWeights) {
  std::string model = smooth(readModel(GetParam()));
  NamedArrays hundred = train(model, 1, 100, unevenBatch);
  ASSERT_FALSE(hundred.empty());
  EXPECT_LE(distance(train(model, 4, 100, unevenBatch), hundred), 1e-5);
}

TEST_P(Oracle, RunsHaveTheSameBits) {
  std::string model = readModel(GetParam());
  NamedArrays a = train(model, 2, 10), b = train(model, 2, 10);
  for (const auto &[name, array] : a) {
    EXPECT_TRUE(array.bytes == b.at(name).bytes) << name;
  }
}

// Gradients that are added where they should be averaged are noticed, at one step and at twenty.
TEST_P(Oracle, WrongScaleIsNoticed) {
  std::string model = readModel(GetParam());
  std::string wrong =
      std::regex_replace(model, std::regex("dgc\\.loss %loss"), "%twice = dgc.scale %loss by 2.0\n  dgc.loss %twice");
  ASSERT_NE(model, wrong);
  NamedArrays initial = train(model, 1, 0), one = train(model, 1, 1);
  NamedArrays step = train(wrong, 2, 1);
  EXPECT_GT(distance(step, one, &initial), 0.5);
  EXPECT_GT(distance(step, one), 1e-5);
  EXPECT_GT(distance(train(wrong, 2, 20), train(model, 1, 20)), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Models, Oracle, testing::Values("mnist_mlp", "mnist_cnn", "mnist_cnn_deep"));

} // namespace
