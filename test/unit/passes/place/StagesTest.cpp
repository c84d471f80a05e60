// Models cut into stages, by running: each stage is a program of its own, on devices of its own, and together they
// compute what one device computes.
#include "test/unit/passes/place/StagedModel.h"

#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Reader.h"

#include <map>

using namespace dgc::testing;

namespace {

struct Layout {
  int stages;
  const char *mesh;
};

class Stages : public ::testing::TestWithParam<Layout> {};

TEST_P(Stages, HaveTheGradientsAndWeightsOfOneDevice) {
  auto [stages, mesh] = GetParam();
  std::string model = mlp(stages);
  NamedArrays initial = run(model, "", 0).variables, one = run(model, "", 1).variables;
  dgc::rt::RunOnceResult cut = run(model, mesh, 1);
  expectClose(one, cut.variables, 1e-6);
  expectClose(changes(initial, one), changes(initial, cut.variables), 2e-5);
  dgc::rt::RunOnceResult hundred = run(model, "", 100);
  cut = run(model, mesh, 100);
  expectClose(hundred.variables, cut.variables, 1e-5);
  expectClose(hundred.outputs, cut.outputs, 1e-5);
}

TEST_P(Stages, EvaluateAndPredictAsOneDevice) {
  auto [stages, mesh] = GetParam();
  NamedArrays given = batchOfStep(0);
  for (const char *program : {"evaluate", "predict"}) {
    ExecuteOptions alone = optionsFor("", program, 1), cut = optionsFor(mesh, program, 1);
    if (std::string(program) == "predict") {
      given.erase("label");
      alone.run.inputsOfStep = cut.run.inputsOfStep = nullptr;
    }
    auto expected = execute(mlp(stages), given, alone), actual = execute(mlp(stages), given, cut);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(actual.ok()) << actual.status();
    expectClose(expected->outputs, actual->outputs, 1e-6);
  }
}

TEST_P(Stages, KeepTheStateOfTheOptimizerWithTheWeights) {
  auto [stages, mesh] = GetParam();
  std::string model = mlp(stages, "adam learning_rate 0.01 clip_global_norm 0.5");
  expectClose(run(model, "", 3).variables, run(model, mesh, 3).variables, 1e-4);
}

TEST(Stage, NoticesGradientsOfAnotherSize) {
  const int stages = 2;
  const char *mesh = "stage=2";
  NamedArrays initial = run(mlp(stages), "", 0).variables, one = run(mlp(stages), "", 1).variables;
  NamedArrays wrong = run(mlp(stages, "sgd learning_rate 0.05", "2.0"), mesh, 1).variables;
  NamedArrays expected = changes(initial, one), actual = changes(initial, wrong);
  for (const auto &[name, array] : expected)
    EXPECT_GT(relativeError(array, actual.at(name)), 0.5) << name;
}

INSTANTIATE_TEST_SUITE_P(Meshes, Stages,
                         ::testing::Values(Layout{2, "stage=2"}, Layout{3, "stage=3"}, Layout{2, "stage=2,data=2"},
                                           Layout{4, "stage=4,data=2"}));

/// Sends of a program by the group that they go to, and receives by that which they come from.
std::map<std::pair<bool, int>, int> transfersOf(const dgc::artifact::Program &program) {
  std::map<std::pair<bool, int>, int> transfers;
  for (const dgc::artifact::Step *step : *program.steps()) {
    if (const auto *send = step->action_as_Send())
      ++transfers[{true, send->group()}];
    if (const auto *receive = step->action_as_Receive())
      ++transfers[{false, receive->group()}];
  }
  return transfers;
}

// Between neighbours one activation goes forward and one gradient back; loss and accuracy go to stage 0.
TEST(Transfers, AreOnePerTensorAndDestination) {
  auto bytes = compileText(mlp(3), optionsFor("stage=3", "train", 1));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  auto artifact = dgc::rt::loadBytes(*bytes);
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  using Transfers = std::map<std::pair<bool, int>, int>;
  const auto &plan = (*artifact)->plan();
  EXPECT_EQ(transfersOf(*dgc::rt::programOf(plan, "train", 0)),
            (Transfers{{{true, 1}, 1}, {{false, 1}, 1}, {{false, 2}, 2}}));
  EXPECT_EQ(transfersOf(*dgc::rt::programOf(plan, "train", 1)),
            (Transfers{{{true, 0}, 1}, {{false, 0}, 1}, {{true, 2}, 1}, {{false, 2}, 1}}));
  EXPECT_EQ(transfersOf(*dgc::rt::programOf(plan, "train", 2)),
            (Transfers{{{false, 1}, 1}, {{true, 1}, 1}, {{true, 0}, 2}}));
}

// Each variable is held by the workers of one stage, which have memory for it; others have none.
TEST(Memory, HoldsAVariableOnItsStageOnly) {
  auto bytes = compileText(mlp(4, "sgd learning_rate 0.05 momentum 0.9"), optionsFor("stage=4", "train", 1));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  auto artifact = dgc::rt::loadBytes(*bytes);
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const auto &plan = (*artifact)->plan();
  ASSERT_EQ(plan.variables()->size(), 16u);
  for (const dgc::artifact::Variable *variable : *plan.variables()) {
    std::string name = variable->name()->str();
    EXPECT_EQ(variable->group(), name[1] - '0') << name;
  }
  uint64_t most = 0;
  for (const dgc::artifact::Group *group : *plan.groups())
    most = std::max(most, group->private_bytes());
  EXPECT_EQ(most, plan.private_bytes());
}

} // namespace
