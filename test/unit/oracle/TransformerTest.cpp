// A transformer on one worker and on several: the same gradients, the same weights. As OracleTest, for text.

#include "test/unit/oracle/Transformer.h"

using namespace dgc::testing;

namespace {

NamedArrays trainOn(int workers, int steps, const std::string &model = smallTransformer) {
  TrainOptions how{workers > 1 ? "data=" + std::to_string(workers) : "", "", steps};
  how.inputs = windowsOfStep;
  return train(model, how);
}

TEST(Transformer, AnyNumberOfWorkersHasTheSameGradients) {
  NamedArrays initial = trainOn(1, 0), one = trainOn(1, 1);
  ASSERT_FALSE(one.empty());
  for (int workers : {2, 3, 4, 8}) {
    NamedArrays step = trainOn(workers, 1);
    EXPECT_LE(distance(step, one), 1e-6) << workers << " workers, one step";
    EXPECT_LE(distance(step, one, &initial), 2e-5) << workers << " workers, gradients";
  }
}

TEST(Transformer, AnyNumberOfWorkersTrainsTheSameWeights) {
  NamedArrays initial = trainOn(1, 0), hundred = trainOn(1, 100);
  ASSERT_FALSE(hundred.empty());
  EXPECT_GT(distance(hundred, initial), 1e-2) << "nothing was trained";
  for (int workers : {2, 3}) {
    EXPECT_LE(distance(trainOn(workers, 100), hundred), 1e-5) << workers << " workers";
  }
}

// The negative control: gradients that are added where they should be averaged.
TEST(Transformer, WrongScaleIsNoticed) {
  std::string wrong = std::regex_replace(std::string(smallTransformer), std::regex("dgc\\.loss %loss"),
                                         "%twice = dgc.scale %loss by 2.0\n  dgc.loss %twice");
  NamedArrays initial = trainOn(1, 0), one = trainOn(1, 1), step = trainOn(2, 1, wrong);
  EXPECT_GT(distance(step, one, &initial), 0.5);
}

// What comes later is not seen: the logits of the first tokens do not change with the last one.
TEST(Transformer, IsCausal) {
  ExecuteOptions options;
  options.from = "input";
  options.batch = batch;
  options.run.program = "predict";
  NamedArrays inputs{{"tokens", windowsOfStep(0).at("tokens")}};
  auto before = execute(smallTransformer, inputs, options);
  ASSERT_TRUE(before.ok()) << before.status();
  std::vector<int32_t> tokens = inputs.at("tokens").as<int32_t>();
  for (int64_t row = 0; row < batch; ++row)
    tokens[row * 7 + 6] = (tokens[row * 7 + 6] + 1) % 11;
  inputs["tokens"] = HostArray::of<int32_t>({batch, 7}, tokens, dgc::rt::DType::I32);
  auto after = execute(smallTransformer, inputs, options);
  ASSERT_TRUE(after.ok()) << after.status();
  std::vector<float> x = before->outputs.at("logits").as<float>(), y = after->outputs.at("logits").as<float>();
  double lastMoved = 0;
  for (int64_t row = 0; row < batch; ++row)
    for (int64_t place = 0; place < 7; ++place)
      for (int64_t symbol = 0; symbol < 11; ++symbol) {
        size_t at = (row * 7 + place) * 11 + symbol;
        if (place < 6)
          EXPECT_EQ(x[at], y[at]) << row << " " << place;
        else
          lastMoved = std::max(lastMoved, double(std::fabs(x[at] - y[at])));
      }
  EXPECT_GT(lastMoved, 1e-3);
}

} // namespace
