// Parameter servers by running: variables and the optimizer's state on servers, the work on workers, and the numbers of
// one device.
#include "test/unit/passes/place/StagedModel.h"

#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Reader.h"

#include <map>

using namespace dgc::testing;

namespace {

struct Layout {
  const char *strategy, *mesh;
  int workers, servers;
};

ExecuteOptions optionsOf(const Layout &layout, const std::string &program, int steps) {
  ExecuteOptions options = optionsFor(layout.mesh, program, steps);
  options.strategy = layout.strategy;
  return options;
}

dgc::rt::RunOnceResult train(const std::string &model, const Layout &layout, int steps) {
  auto result = execute(model, batchOfStep(0), optionsOf(layout, "train", steps));
  EXPECT_TRUE(result.ok()) << layout.strategy << " " << layout.mesh << ": " << result.status();
  return result.ok() ? *std::move(result) : dgc::rt::RunOnceResult();
}

class Servers : public ::testing::TestWithParam<Layout> {};

TEST_P(Servers, HaveTheGradientsAndWeightsOfOneDevice) {
  std::string model = mlp(0);
  NamedArrays initial = run(model, "", 0).variables, one = run(model, "", 1).variables;
  NamedArrays step = train(model, GetParam(), 1).variables;
  expectClose(one, step, 1e-6);
  expectClose(changes(initial, one), changes(initial, step), 2e-5);
  dgc::rt::RunOnceResult alone = run(model, "", 20), many = train(model, GetParam(), 20);
  expectClose(alone.variables, many.variables, 1e-5);
  expectClose(alone.outputs, many.outputs, 1e-5);
}

// Each variable is on one server, with its state, and the servers hold about as many bytes each: they differ by the
// largest variable at most. Workers hold none. Variables are sent once to each worker, gradients once to the server.
TEST_P(Servers, HoldAllVariables) {
  const Layout &layout = GetParam();
  auto bytes = compileText(mlp(0, "sgd learning_rate 0.05 momentum 0.9"), optionsOf(layout, "train", 1));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  auto artifact = dgc::rt::loadBytes(*bytes);
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const dgc::artifact::Plan &plan = (*artifact)->plan();
  EXPECT_EQ(plan.world_size(), uint32_t(layout.workers + layout.servers));
  std::map<int32_t, uint64_t> held;
  uint64_t largest = 0;
  for (const auto *variable : *plan.variables()) {
    uint64_t size = sizeof(float);
    for (int64_t extent : *variable->global_shape())
      size *= uint64_t(extent);
    held[variable->group()] += size;
    largest = std::max(largest, 2 * size);
    std::string name = variable->name()->str();
    for (const auto *other : *plan.variables())
      if (other->name()->str().starts_with(name + "."))
        EXPECT_EQ(other->group(), variable->group()) << name;
  }
  EXPECT_EQ(held.count(0), 0u) << "a worker holds variables";
  EXPECT_EQ(held.size(), size_t(layout.servers));
  for (const auto &[a, some] : held)
    for (const auto &[b, others] : held)
      EXPECT_LE(some, others + largest);

  const int weights = 8;
  int sends[2] = {}, receives[2] = {}; // of all servers, of a worker
  for (uint32_t rank = 0; rank < plan.world_size(); ++rank) {
    bool isServer = rank >= uint32_t(layout.workers);
    for (const auto *step : *dgc::rt::programOf(plan, "train", rank)->steps())
      if (isServer || rank == 0) {
        sends[!isServer] += step->action_as_Send() != nullptr;
        receives[!isServer] += step->action_as_Receive() != nullptr;
      }
  }
  // Workers pull each variable, and push what they have added up in one bucket for each server; one worker alone has
  // nothing to add up.
  const int pushes = layout.workers > 1 ? layout.servers : weights;
  EXPECT_EQ(sends[0], weights);
  EXPECT_EQ(receives[0], pushes);
  EXPECT_EQ(sends[1], pushes);
  EXPECT_EQ(receives[1], weights);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Servers,
                         ::testing::Values(Layout{"central-storage", "data=1", 1, 1},
                                           Layout{"central-storage", "data=2", 2, 1},
                                           Layout{"central-storage", "data=3", 3, 1},
                                           Layout{"parameter-server=2", "data=2", 2, 2},
                                           Layout{"parameter-server=3", "data=4", 4, 3},
                                           Layout{"parameter-server=2,accumulate=3", "data=2", 2, 2}),
                         [](const auto &info) {
                           std::string name = std::string(info.param.strategy) + "_" + info.param.mesh;
                           std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

const Layout two{"parameter-server=2", "data=2", 2, 2};

TEST(Server, KeepsTheStateOfTheOptimizer) {
  std::string model = mlp(0, "adam learning_rate 0.01 clip_global_norm 0.5");
  expectClose(run(model, "", 3).variables, train(model, two, 3).variables, 1e-4);
}

TEST(Server, NoticesGradientsOfAnotherSize) {
  NamedArrays initial = run(mlp(0), "", 0).variables, one = run(mlp(0), "", 1).variables;
  NamedArrays wrong = train(mlp(0, "sgd learning_rate 0.05", "2.0"), two, 1).variables;
  NamedArrays expected = changes(initial, one), actual = changes(initial, wrong);
  for (const auto &[name, array] : expected)
    EXPECT_GT(relativeError(array, actual.at(name)), 0.5) << name;
}

TEST(Server, WeighsAShortBatchRight) {
  ExecuteOptions alone = optionsFor("", "train", 2), many = optionsOf(two, "train", 2);
  alone.run.validCount = many.run.validCount = 17;
  auto expected = execute(mlp(0), batchOfStep(0), alone), actual = execute(mlp(0), batchOfStep(0), many);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status();
  expectClose(expected->variables, actual->variables, 1e-6);
}

TEST(Server, EvaluatesAndPredictsAsOneDevice) {
  NamedArrays given = batchOfStep(0);
  for (const char *program : {"evaluate", "predict"}) {
    ExecuteOptions alone = optionsFor("", program, 1),
                   many = optionsOf({"parameter-server=2", "data=3", 3, 2}, program, 1);
    if (std::string(program) == "predict") {
      given.erase("label");
      alone.run.inputsOfStep = many.run.inputsOfStep = nullptr;
    }
    auto expected = execute(mlp(0), given, alone), actual = execute(mlp(0), given, many);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(actual.ok()) << actual.status();
    expectClose(expected->outputs, actual->outputs, 1e-6);
  }
}

TEST(Server, RefusalsSayWhatWouldBeAccepted) {
  auto errorOf = [](const char *strategy, const char *mesh) {
    return std::string(compileText(mlp(0), optionsOf({strategy, mesh, 0, 0}, "train", 1)).status().message());
  };
  EXPECT_NE(errorOf("parameter-server=0", "data=2").find("the number of servers, from 1 to 256"), std::string::npos);
  EXPECT_NE(errorOf("parameter-server=2", "data=2,model=2").find("a mesh of one axis \"data\""), std::string::npos);
  EXPECT_NE(errorOf("central-storage,zero2", "data=2").find("a server holds whole variables"), std::string::npos);
  EXPECT_NE(errorOf("central-storage,parameter-server=2", "data=2").find("name one of them"), std::string::npos);
  EXPECT_NE(errorOf("central-storage", "").find("needs a mesh"), std::string::npos);
}

} // namespace
