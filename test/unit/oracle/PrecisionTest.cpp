// Products in 16 bits: gradients near those of f32, the same on any number of workers, and a loss whose scale finds
// itself.

#include "test/unit/oracle/Transformer.h"

using namespace dgc::testing;

namespace {

struct Model {
  std::string text;
  std::function<NamedArrays(int)> inputs;
};

Model mlp() {
  return {smooth(readModel("mnist_mlp")), [](int step) { return batchOfStep(step); }};
}
Model transformer() { return {smallTransformer, windowsOfStep}; }

NamedArrays trained(const Model &model, const std::string &precision, int steps, const std::string &mesh = "",
                    const std::string &strategy = "") {
  TrainOptions how{mesh, strategy, steps, -1, model.inputs};
  how.precision = precision;
  NamedArrays variables = train(model.text, how);
  variables.erase("loss_scale"); // of f16 alone
  variables.erase("loss_scale.good_steps");
  return variables;
}

float scalar(const NamedArrays &variables, const std::string &name) { return variables.at(name).as<float>().at(0); }

// bf16 has 8 bits of mantissa, f16 has 11: so far, and no nearer, are gradients from those of f32.
TEST(Precision, GradientsAreNearThoseOfF32) {
  for (const Model &model : {mlp(), transformer()}) {
    NamedArrays initial = trained(model, "f32", 0), exact = trained(model, "f32", 1);
    ASSERT_FALSE(exact.empty());
    double bf16 = distance(trained(model, "bf16", 1), exact, &initial);
    double f16 = distance(trained(model, "f16", 1), exact, &initial);
    EXPECT_LT(bf16, 3e-2);
    EXPECT_GT(bf16, 1e-4);
    EXPECT_LT(f16, 4e-3);
    EXPECT_GT(f16, 1e-5);
  }
}

TEST(Precision, AnyPlanHasTheSameGradients) {
  Model model = transformer();
  for (const std::string precision : {"bf16", "f16"}) {
    NamedArrays initial = trained(model, precision, 0), one = trained(model, precision, 1);
    ASSERT_FALSE(one.empty());
    double tolerance = precision == "bf16" ? 3e-2 : 4e-3;
    EXPECT_LT(distance(trained(model, precision, 1, "data=2"), one, &initial), tolerance) << precision;
    EXPECT_LT(distance(trained(model, precision, 1, "data=3", "zero3"), one, &initial), tolerance) << precision;
    EXPECT_LT(distance(trained(model, precision, 1, "model=2", "tensor-parallel=*up/kernel:1+*query/kernel:1"), one,
                       &initial),
              tolerance)
        << precision;
  }
}

TEST(Precision, TrainsOn) {
  Model model = transformer();
  NamedArrays initial = trained(model, "f32", 0), exact = trained(model, "f32", 50);
  EXPECT_LT(distance(trained(model, "bf16", 50), exact, &initial), 0.1);
  EXPECT_LT(distance(trained(model, "f16", 50), exact, &initial), 0.1);
}

// A scale that is too large makes gradients that are not finite: nothing is updated, and the scale is halved until it
// fits. The number of workers makes no difference.
TEST(Precision, TheScaleOfTheLossFindsItself) {
  Model model = mlp();
  model.text = std::regex_replace(model.text, std::regex("dgc\\.loss %loss"),
                                  "%large = dgc.scale %loss by 1000.0\n  dgc.loss %large");
  model.text = std::regex_replace(model.text, std::regex("learning_rate 0.05"), "learning_rate 5e-5");
  for (const std::string mesh : {"", "data=2"}) {
    auto after = [&](int steps) {
      TrainOptions how{mesh, "", steps, -1, model.inputs};
      how.precision = "f16";
      return train(model.text, how);
    };
    NamedArrays initial = after(0), one = after(1), twenty = after(20);
    ASSERT_FALSE(twenty.empty());
    EXPECT_EQ(scalar(initial, "loss_scale"), 65536);
    EXPECT_EQ(scalar(one, "loss_scale"), 32768);
    EXPECT_EQ(scalar(one, "loss_scale.good_steps"), 0);
    EXPECT_EQ(one.at("w1").bytes, initial.at("w1").bytes) << "an update that is not finite was made";
    EXPECT_LT(scalar(twenty, "loss_scale"), 32768);
    EXPECT_GT(scalar(twenty, "loss_scale.good_steps"), 0);
    EXPECT_NE(twenty.at("w1").bytes, initial.at("w1").bytes);
    for (float value : twenty.at("w1").as<float>())
      ASSERT_TRUE(std::isfinite(value));
  }
}

} // namespace
