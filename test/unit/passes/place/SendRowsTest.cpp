// Lookups and gradients of tables on parameter servers, by running: the rows of a batch are sent, and the numbers are those
// of one device.
#include "test/unit/passes/place/ServerModel.h"

#include "runtime/artifact/Groups.h"
#include "runtime/artifact/PlanTraffic.h"

#include <regex>

using namespace dgc::testing;

namespace {

/// Two towers; the second table is looked up twice, with two numbers for an example and with one.
const char *const towers = R"(
dgc.model @towers {
  %user = dgc.input "user" : tensor<?xi32>
  %items = dgc.input "items" : tensor<?x2xi32>
  %clicked = dgc.input "clicked" : tensor<?xf32>
  %users = dgc.variable "users" normal 0 0.5 : tensor<ROWSx4xf32>
  %things = dgc.variable "things" normal 0 0.5 : tensor<THINGSx4xf32>
  %wu = dgc.variable "wu" glorot_uniform : tensor<4x6xf32>
  %wi = dgc.variable "wi" glorot_uniform : tensor<8x6xf32>
  %bi = dgc.variable "bi" uniform -0.1 0.1 : tensor<6xf32>
  %u = dgc.embedding %users, %user
  %hu = dgc.matmul %u, %wu
  %tu = dgc.tanh %hu
  %i = dgc.embedding %things, %items
  %flat = dgc.flatten %i
  %hi = dgc.dense %flat, %wi, %bi
  %bag = dgc.embedding %things, %user
  %both = dgc.multiply %u, %bag
  %other = dgc.reduce sum %both dims [1]
  %products = dgc.multiply %tu, %hi
  %score = dgc.reduce sum %products dims [1]
  %logits = dgc.add %score, %other
  %loss = dgc.binary_cross_entropy %logits, %clicked
  dgc.loss %loss
  dgc.output "logits" %logits
  dgc.optimizer OPTIMIZER
}
)";

std::string modelWith(const std::string &optimizer, int rows = 301, int things = 203) {
  std::string text = std::regex_replace(std::string(towers), std::regex("OPTIMIZER"), optimizer);
  text = std::regex_replace(text, std::regex("ROWS"), std::to_string(rows));
  return std::regex_replace(text, std::regex("THINGS"), std::to_string(things));
}

/// Some numbers come several times, and some rows of the tables never.
NamedArrays clicksOfStep(int step) {
  std::vector<int32_t> user(batch), items(batch * 2);
  std::vector<float> clicked(batch);
  for (int i = 0; i < batch; ++i)
    user[i] = i % 5 == 0 ? 7 : (i * i * 11 + i * 17 + step * 29) % 203;
  for (int i = 0; i < batch * 2; ++i)
    items[i] = i % 7 == 0 ? 202 : (i * i * 5 + i * 3 + step) % 203;
  for (int i = 0; i < batch; ++i)
    clicked[i] = float((i * 3 + i / 4 + step) % 2);
  return {{"user", HostArray::of({batch}, user)},
          {"items", HostArray::of({batch, 2}, items)},
          {"clicked", HostArray::of({batch}, clicked)}};
}

const ServerRuns runs{clicksOfStep};

/// What a rank sends and receives in a step, in bytes.
uint64_t bytesOfStep(const dgc::artifact::Plan &plan, uint32_t rank) {
  const dgc::rt::Traffic traffic = dgc::rt::trafficOf(*dgc::rt::programOf(plan, "train", rank));
  return traffic.sentBytes + traffic.receivedBytes + traffic.collectiveBytes;
}

/// The largest of all values that are sent.
uint64_t largestSend(const dgc::artifact::Plan &plan) {
  uint64_t largest = 0;
  for (uint32_t rank = 0; rank < plan.world_size(); ++rank) {
    const dgc::artifact::Program &program = *dgc::rt::programOf(plan, "train", rank);
    for (const auto *step : *program.steps())
      if (const auto *send = step->action_as_Send()) {
        largest = std::max(largest, bytesOf(*program.buffers()->Get(send->buffer())));
      }
  }
  return largest;
}

class SendRows : public ::testing::TestWithParam<Layout> {};

TEST_P(SendRows, HaveTheGradientsAndWeightsOfOneDevice) {
  runs.expectToTrainAsOneDevice(modelWith("sgd learning_rate 0.2"), GetParam(), 12);
}

// A dense optimizer changes rows that no example touches.
TEST_P(SendRows, KeepTheStateOfTheOptimizer) {
  auto [mesh, strategy] = GetParam();
  for (const char *optimizer : {"adagrad learning_rate 0.1", "sgd learning_rate 0.2 momentum 0.9",
                                "adamw learning_rate 0.01 weight_decay 0.1"}) {
    const std::string model = modelWith(optimizer);
    expectClose(runs.train(model, "", "", 4).variables, runs.train(model, mesh, strategy, 4).variables, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, SendRows,
    ::testing::Values(Layout{"data=1", "parameter-server=1"}, Layout{"data=1", "parameter-server=2"},
                      Layout{"data=1", "parameter-server=3"}, Layout{"data=2", "parameter-server=2"},
                      Layout{"data=3", "parameter-server=1"}, Layout{"data=5", "parameter-server=3"},
                      Layout{"data=2", "parameter-server=2,accumulate=2"}),
    nameOfLayout);

// Of tables that are ten times as large no more is sent, and none is sent itself.
TEST(SendRow, SendsAsMuchForLargerTables) {
  for (Layout layout : {Layout{"data=1", "parameter-server=1"}, Layout{"data=1", "parameter-server=3"},
                        Layout{"data=2", "parameter-server=2"}, Layout{"data=5", "parameter-server=3"}}) {
    const std::string optimizer = "adagrad learning_rate 0.1";
    auto small = runs.plan(modelWith(optimizer, 3010, 2030), layout.first, layout.second);
    auto large = runs.plan(modelWith(optimizer, 30100, 20300), layout.first, layout.second);
    for (uint32_t rank = 0; rank < small->plan().world_size(); ++rank)
      EXPECT_EQ(bytesOfStep(small->plan(), rank), bytesOfStep(large->plan(), rank)) << layout.second << " " << rank;
    EXPECT_LE(largestSend(small->plan()), uint64_t((batch + 1) * 2 * 4 * sizeof(float))) << layout.second;
  }
}

// One worker alone and its servers: the indices, then the rows, then the gradients, and nothing between servers.
TEST(SendRow, TalksToEachServerTwice) {
  auto artifact = runs.plan(modelWith("sgd learning_rate 0.2"), "data=1", "parameter-server=2");
  const dgc::artifact::Plan &plan = artifact->plan();
  for (uint32_t rank = 1; rank < plan.world_size(); ++rank) {
    std::string order;
    for (const auto *step : *dgc::rt::programOf(plan, "train", rank)->steps()) {
      const auto *send = step->action_as_Send();
      const auto *receive = step->action_as_Receive();
      if (!send && !receive)
        continue;
      EXPECT_EQ(send ? send->group() : receive->group(), 0) << "server " << rank << " and another one";
      order += send ? 's' : 'r';
    }
    EXPECT_TRUE(std::regex_match(order, std::regex("s*r+s+r+"))) << rank << ": " << order;
  }
}

// The norm of all gradients takes whole ones; what is looked up is still rows.
TEST(SendRow, ClipsAsOneDevice) {
  const std::string clipped = modelWith("sgd learning_rate 0.2 clip_global_norm 0.05");
  NamedArrays initial = runs.train(clipped, "", "", 0).variables, one = runs.train(clipped, "", "", 1).variables;
  for (Layout layout : {Layout{"data=1", "parameter-server=2"}, Layout{"data=2", "parameter-server=3"}}) {
    NamedArrays step = runs.train(clipped, layout.first, layout.second, 1).variables;
    expectClose(one, step, 1e-6);
    expectClose(changes(initial, one), changes(initial, step), 2e-5);
  }
}

TEST(SendRow, EvaluatesAndPredictsAsOneDevice) {
  runs.expectToPredictAsOneDevice(modelWith("sgd learning_rate 0.2"), "clicked");
}

TEST(SendRow, WeighsAShortBatchRight) {
  const std::string model = modelWith("sgd learning_rate 0.2");
  ExecuteOptions alone = runs.options("", "", 2), many = runs.options("data=2", "parameter-server=2", 2);
  alone.run.validCount = many.run.validCount = 17;
  auto expected = execute(model, clicksOfStep(0), alone), actual = execute(model, clicksOfStep(0), many);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status();
  expectClose(expected->variables, actual->variables, 1e-6);
}

TEST(SendRow, NoticesAnotherGradient) {
  const std::string model = modelWith("sgd learning_rate 0.2");
  std::string wrong = std::regex_replace(model, std::regex("%tu = dgc\\.tanh %hu"), "%tu = dgc.scale %hu by 2.0");
  NamedArrays initial = runs.train(model, "", "", 0).variables, one = runs.train(model, "", "", 1).variables;
  NamedArrays other = runs.train(wrong, "data=2", "parameter-server=2", 1).variables;
  EXPECT_GT(relativeError(changes(initial, one).at("users"), changes(initial, other).at("users")), 0.1);
}

} // namespace
