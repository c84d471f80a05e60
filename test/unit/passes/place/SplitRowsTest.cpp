// Variables in blocks of rows on several parameter servers, by running: a table that is larger than all other variables
// together.
#include "test/unit/passes/place/StagedModel.h"

#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Reader.h"

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

ExecuteOptions optionsOf(const std::string &mesh, const std::string &strategy, int steps,
                         const std::string &program = "train") {
  ExecuteOptions options = optionsFor(mesh, program, steps);
  options.strategy = strategy;
  options.batch = batch;
  options.run.inputsOfStep = textsOfStep;
  return options;
}

dgc::rt::RunOnceResult train(const std::string &model, const std::string &mesh, const std::string &strategy,
                             int steps) {
  auto result = execute(model, textsOfStep(0), optionsOf(mesh, strategy, steps));
  EXPECT_TRUE(result.ok()) << mesh << " " << strategy << ": " << result.status();
  return result.ok() ? *std::move(result) : dgc::rt::RunOnceResult();
}

/// Servers that have blocks of the table, and get its whole gradient.
std::unique_ptr<dgc::rt::Artifact> planOf(const std::string &mesh, const std::string &strategy) {
  auto bytes = compileText(clippedMomentum, optionsOf(mesh, strategy, 1));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  auto artifact = dgc::rt::loadBytes(*bytes);
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  return *std::move(artifact);
}

using Layout = std::pair<const char *, const char *>; // mesh, strategy

class SplitRows : public ::testing::TestWithParam<Layout> {};

TEST_P(SplitRows, HaveTheGradientsAndWeightsOfOneDevice) {
  auto [mesh, strategy] = GetParam();
  NamedArrays initial = train(momentum, "", "", 0).variables, one = train(momentum, "", "", 1).variables;
  NamedArrays start = train(momentum, mesh, strategy, 0).variables, step = train(momentum, mesh, strategy, 1).variables;
  for (const auto &[name, array] : initial)
    EXPECT_EQ(start.at(name).bytes, array.bytes) << name << " begins with other values";
  expectClose(one, step, 1e-6);
  expectClose(changes(initial, one), changes(initial, step), 2e-5);
  dgc::rt::RunOnceResult alone = train(momentum, "", "", 20), many = train(momentum, mesh, strategy, 20);
  expectClose(alone.variables, many.variables, 1e-5); // the state of the optimizer, too
  expectClose(alone.outputs, many.outputs, 1e-5);
}

TEST_P(SplitRows, HaveAsManyBytesOnEachServer) {
  auto artifact = planOf(GetParam().first, GetParam().second);
  const dgc::artifact::Plan &plan = artifact->plan();
  std::map<int32_t, uint64_t> held;
  std::map<std::string, int64_t> blocks;
  uint64_t all = 0;
  for (const auto *variable : *plan.variables()) {
    uint64_t size = sizeof(float);
    for (int64_t extent : *plan.variable_buffers()->Get(variable->buffer())->shape())
      size *= uint64_t(extent);
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
      uint64_t size = sizeof(float);
      for (int64_t extent : *buffer.shape())
        size *= uint64_t(extent);
      sent += size;
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
                         [](const auto &info) {
                           std::string name = std::string(info.param.second) + "_" + info.param.first;
                           std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

// The common norm of all gradients is that of whole ones.
TEST(SplitRow, ClipsAndAdaptsAsOneDevice) {
  std::string model = modelWith("adamw learning_rate 0.01 weight_decay 0.1 clip_global_norm 0.05");
  for (const char *strategy : {"parameter-server=2", "parameter-server=3,recompute=*"})
    expectClose(train(model, "", "", 4).variables, train(model, "data=2", strategy, 4).variables, 1e-4);
}

TEST(SplitRow, EvaluatesAndPredictsAsOneDevice) {
  for (const std::string program : {"evaluate", "predict"}) {
    ExecuteOptions alone = optionsOf("", "", 1, program), many = optionsOf("data=2", "parameter-server=3", 1, program);
    NamedArrays given = textsOfStep(0);
    if (program == "predict") {
      given.erase("label");
      alone.run.inputsOfStep = many.run.inputsOfStep = nullptr;
    }
    auto expected = execute(momentum, given, alone), actual = execute(momentum, given, many);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(actual.ok()) << actual.status();
    expectClose(expected->outputs, actual->outputs, 1e-6);
  }
}

// Gradients that are clipped by the norm of all of them, of which each server has some, and of a table rows.
TEST(SplitRow, ClipsAsOneDevice) {
  const std::string clipped = modelWith("sgd learning_rate 0.2 clip_global_norm 0.05");
  NamedArrays initial = train(clipped, "", "", 0).variables, one = train(clipped, "", "", 1).variables;
  for (Layout layout : {Layout{"data=2", "parameter-server=3"}, Layout{"data=3", "parameter-server=2,accumulate=2"}}) {
    NamedArrays step = train(clipped, layout.first, layout.second, 1).variables;
    expectClose(one, step, 1e-6);
    expectClose(changes(initial, one), changes(initial, step), 2e-5);
    // The workers add up numbers alone, and no gradient.
    auto bytes = compileText(clipped, optionsOf(layout.first, layout.second, 1));
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    auto artifact = dgc::rt::loadBytes(*bytes);
    ASSERT_TRUE(artifact.ok()) << artifact.status();
    size_t blocks = 0;
    for (const auto *variable : *(*artifact)->plan().variables())
      blocks += variable->row_count() > 0;
    EXPECT_GT(blocks, 1u);
    for (const auto *each : *dgc::rt::programOf((*artifact)->plan(), "train", 0)->steps())
      if (const auto *collective = each->action_as_Collective();
          collective && collective->kind() == dgc::artifact::CollectiveKind::AllReduce)
        EXPECT_LE(collective->src_count() - collective->padding(), 2u);
  }
  NamedArrays unclipped = train(modelWith("sgd learning_rate 0.2"), "", "", 1).variables;
  EXPECT_GT(relativeError(changes(initial, one).at("table"), changes(initial, unclipped).at("table")), 0.5);
}

TEST(SplitRow, NoticesAnotherTable) {
  std::string wrong =
      std::regex_replace(momentum, std::regex("dgc\\.flatten %e"), "dgc.scale %e by 2.0\n  %flat = dgc.flatten %s");
  wrong = std::regex_replace(wrong, std::regex("%flat = dgc\\.scale"), "%s = dgc.scale");
  NamedArrays initial = train(momentum, "", "", 0).variables, one = train(momentum, "", "", 1).variables;
  NamedArrays other = train(wrong, "data=2", "parameter-server=2", 1).variables;
  EXPECT_GT(relativeError(changes(initial, one).at("table"), changes(initial, other).at("table")), 0.1);
}

// A table with a place is where it is said to be, whole.
TEST(SplitRow, StaysWholeWhereTheUserPutsIt) {
  std::string placed =
      std::regex_replace(momentum, std::regex("glorot_uniform : tensor<101x8xf32>"),
                         "glorot_uniform {dist.device = #dist.device<\"/job:ps/task:1\">} : tensor<101x8xf32>");
  auto bytes = compileText(placed, optionsOf("data=2", "parameter-server=2", 1));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  auto artifact = dgc::rt::loadBytes(*bytes);
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  for (const auto *variable : *(*artifact)->plan().variables())
    EXPECT_EQ(variable->row_count(), 0u) << variable->name()->str();
}

} // namespace
