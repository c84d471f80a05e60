// Variables in blocks of rows on several parameter servers, by running: a table that is larger than all other variables
// together.
#include "test/unit/passes/place/ServerModel.h"

#include "runtime/artifact/Groups.h"

#include <map>
#include <regex>

using namespace dgc::testing;

namespace {

const char *const words = R"(
dgc.model @words {
  %words = dgc.input "words" : tensor<?x5xi32>
  %label = dgc.input "label" : tensor<?xi32>
  %table = dgc.variable "table" glorot_uniform : tensor<101x8xf32>
  %w = dgc.variable "w" glorot_uniform : tensor<40x12xf32>
  %b = dgc.variable "b" normal 0 0.1 : tensor<12xf32>
  %u = dgc.variable "u" glorot_uniform : tensor<12x4xf32>
  %e = dgc.embedding %table, %words
  %flat = dgc.flatten %e
  %h = dgc.dense %flat, %w, %b
  %t = dgc.tanh %h
  %y = dgc.matmul %t, %u
  %loss = dgc.cross_entropy %y, %label
  dgc.loss %loss
  dgc.output "y" %y
  dgc.optimizer OPTIMIZER
}
)";

std::string modelWith(const std::string &optimizer) {
  return std::regex_replace(std::string(words), std::regex("OPTIMIZER"), optimizer);
}

const std::string momentum = modelWith("sgd learning_rate 0.2 momentum 0.9");

/// The norm is of whole gradients: the rows that a batch touches do not do (SendRowsTest.cpp).
const std::string clippedMomentum = modelWith("sgd learning_rate 0.2 momentum 0.9 clip_global_norm 5");

NamedArrays textsOfStep(int step) {
  std::vector<int32_t> words(batch * 5), label(batch);
  for (int i = 0; i < batch * 5; ++i)
    words[i] = (i * i * 7 + i * 13 + step * 5) % 101;
  for (int i = 0; i < batch; ++i)
    label[i] = (i * 3 + i / 7 + step) % 4;
  return {{"words", HostArray::of({batch, 5}, words)}, {"label", HostArray::of({batch}, label)}};
}

const ServerRuns runs{textsOfStep};

class SplitRows : public ::testing::TestWithParam<Layout> {};

TEST_P(SplitRows, HaveTheGradientsAndWeightsOfOneDevice) { runs.expectToTrainAsOneDevice(momentum, GetParam(), 20); }

TEST_P(SplitRows, HaveAsManyBytesOnEachServer) {
  // Servers get the whole gradient of the table where its norm is needed.
  auto artifact = runs.plan(clippedMomentum, GetParam().first, GetParam().second);
  const dgc::artifact::Plan &plan = artifact->plan();
  std::map<int32_t, uint64_t> held;
  std::map<std::string, int64_t> blocks;
  uint64_t all = 0;
  for (const auto *variable : *plan.variables()) {
    const uint64_t size = bytesOf(*plan.variable_buffers()->Get(variable->buffer()));
    held[variable->group()] += size;
    all += size;
    blocks[variable->name()->str()] += 1;
  }
  EXPECT_EQ(blocks.size(), 8u);
  EXPECT_GT(blocks.at("table"), 1);
  EXPECT_EQ(blocks.at("table.momentum"), blocks.at("table"));
  EXPECT_EQ(blocks.at("u"), 1);
  ASSERT_EQ(held.size(), plan.groups()->size() - 1);
  for (const auto &[group, bytes] : held)
    EXPECT_NEAR(double(bytes), double(all) / double(held.size()), 0.02 * double(all) / double(held.size())) << group;
  // Of a gradient each server gets its rows alone, a part of them from each worker: what workers send is together as
  // large as all weights, but for numbers of words and one scale.
  uint64_t sent = 0;
  const dgc::artifact::Program *program = dgc::rt::programOf(plan, "train", 0);
  for (const auto *step : *program->steps())
    if (const auto *send = step->action_as_Send()) {
      const dgc::artifact::Buffer &buffer = *program->buffers()->Get(send->buffer());
      if (buffer.dtype() != dgc::artifact::DType::F32 || !buffer.shape())
        continue;
      sent += bytesOf(buffer);
    }
  const uint64_t workers = (*plan.groups())[0]->rank_count(), padding = plan.groups()->size() * sizeof(float);
  EXPECT_GE(sent * workers, all / 2);
  EXPECT_LE(sent * workers, all / 2 + padding * workers);
}

INSTANTIATE_TEST_SUITE_P(Layouts, SplitRows,
                         ::testing::Values(Layout{"data=1", "parameter-server=2"},
                                           Layout{"data=2", "parameter-server=2"},
                                           Layout{"data=2", "parameter-server=3"},
                                           Layout{"data=5", "parameter-server=3,accumulate=2"}),
                         nameOfLayout);

// The common norm of all gradients is that of whole ones.
TEST(SplitRow, ClipsAndAdaptsAsOneDevice) {
  std::string model = modelWith("adamw learning_rate 0.01 weight_decay 0.1 clip_global_norm 0.05");
  for (const char *strategy : {"parameter-server=2", "parameter-server=3,recompute=*"})
    expectClose(runs.train(model, "", "", 4).variables, runs.train(model, "data=2", strategy, 4).variables, 1e-4);
}

TEST(SplitRow, EvaluatesAndPredictsAsOneDevice) { runs.expectToPredictAsOneDevice(momentum, "label"); }

// Gradients that are clipped by the norm of all of them, of which each server has some, and of a table rows.
TEST(SplitRow, ClipsAsOneDevice) {
  const std::string clipped = modelWith("sgd learning_rate 0.2 clip_global_norm 0.05");
  NamedArrays initial = runs.train(clipped, "", "", 0).variables, one = runs.train(clipped, "", "", 1).variables;
  for (Layout layout : {Layout{"data=2", "parameter-server=3"}, Layout{"data=3", "parameter-server=2,accumulate=2"}}) {
    NamedArrays step = runs.train(clipped, layout.first, layout.second, 1).variables;
    expectClose(one, step, 1e-6);
    expectClose(changes(initial, one), changes(initial, step), 2e-5);
    // The workers add up numbers alone, and no gradient.
    auto artifact = runs.plan(clipped, layout.first, layout.second);
    size_t blocks = 0;
    for (const auto *variable : *artifact->plan().variables())
      blocks += variable->row_count() > 0;
    EXPECT_GT(blocks, 1u);
    for (const auto *each : *dgc::rt::programOf(artifact->plan(), "train", 0)->steps())
      if (const auto *collective = each->action_as_Collective();
          collective && collective->kind() == dgc::artifact::CollectiveKind::AllReduce)
        EXPECT_LE(collective->src_count() - collective->padding(), 2u);
  }
  NamedArrays unclipped = runs.train(modelWith("sgd learning_rate 0.2"), "", "", 1).variables;
  EXPECT_GT(relativeError(changes(initial, one).at("table"), changes(initial, unclipped).at("table")), 0.5);
}

TEST(SplitRow, NoticesAnotherTable) {
  std::string wrong =
      std::regex_replace(momentum, std::regex("dgc\\.flatten %e"), "dgc.scale %e by 2.0\n  %flat = dgc.flatten %s");
  wrong = std::regex_replace(wrong, std::regex("%flat = dgc\\.scale"), "%s = dgc.scale");
  NamedArrays initial = runs.train(momentum, "", "", 0).variables, one = runs.train(momentum, "", "", 1).variables;
  NamedArrays other = runs.train(wrong, "data=2", "parameter-server=2", 1).variables;
  EXPECT_GT(relativeError(changes(initial, one).at("table"), changes(initial, other).at("table")), 0.1);
}

// A table with a place is where it is said to be, whole.
TEST(SplitRow, StaysWholeWhereTheUserPutsIt) {
  std::string placed =
      std::regex_replace(momentum, std::regex("glorot_uniform : tensor<101x8xf32>"),
                         "glorot_uniform {dist.device = #dist.device<\"/job:ps/task:1\">} : tensor<101x8xf32>");
  auto artifact = runs.plan(placed, "data=2", "parameter-server=2");
  for (const auto *variable : *artifact->plan().variables())
    EXPECT_EQ(variable->row_count(), 0u) << variable->name()->str();
}

} // namespace
