// What every strategy communicates in a step, in a table beside the figures of the literature: numbers of collectives
// and transfers of a rank and their payloads (runtime/artifact/Traffic.h), read from compiled plans. The expected
// figures are formulas over the sizes of the model; nothing in them is taken from a plan.
//
//   [DP]   Li et al., PyTorch Distributed, 2020: one all-reduce of all gradients.
//   [ZeRO] Rajbhandari et al., 2020, section 7: reduce-scatter and all-gather of the parameters; at stage 3 two
//          gathers.
//   [TP]   Shoeybi et al., Megatron-LM, 2019, section 3: per layer two all-reduces of the activations forward, two
//          backward.
//   [SP]   Korthikanti et al., 2022, section 4.2.2: each of those is a reduce-scatter and an all-gather.
//   [PP]   Huang et al., GPipe, 2019; Narayanan et al., 2021, section 2.2: per boundary of stages and micro-batch one
//          activation forward and one gradient backward; interleaved, there are more boundaries.
//   [CLIP] Pascanu et al., 2013: one norm of all gradients: a scalar per group of ranks that have different parts.
//   [PS]   Li et al., 2014: workers pull the parameters and push the gradients.
#include "test/unit/passes/communicate/PlanCounts.h"
#include "test/unit/support/Execute.h"
#include "test/unit/support/TransformerText.h"

using namespace dgc::testing;

namespace {

// The model: a transformer of `layers` layers, with a head of its own or one tied to the table of tokens.
constexpr int64_t layers = 4, batch = 8, sequence = 8, hidden = 16, wide = 64, vocabulary = 32;
constexpr int64_t microbatches = 4;

// Bytes, all in f32.
constexpr int64_t scalar = 4;
constexpr int64_t activation = 4 * batch * sequence * hidden;
constexpr int64_t table = 4 * vocabulary * hidden, positions = 4 * sequence * hidden;
constexpr int64_t norm = 4 * 2 * hidden; // scale and offset
constexpr int64_t queryKeyValue = 4 * 3 * (hidden * hidden + hidden);
constexpr int64_t attentionOutput = 4 * hidden * hidden, up = 4 * (hidden * wide + wide), down = 4 * wide * hidden;
constexpr int64_t outputBiases = 4 * 2 * hidden; // of the attention and of the feed-forward network
constexpr int64_t layer = 2 * norm + queryKeyValue + attentionOutput + up + down + outputBiases;
constexpr int64_t ends = table + positions + norm + table; // what is before the layers and behind them
constexpr int64_t parameters = layers * layer + ends;
// What the backward pass reads again: the matrices of products. Vectors (scales of norms) are kept, as they are smaller
// than any activation.
constexpr int64_t layerBackward = 4 * (4 * hidden * hidden + 2 * hidden * wide);
constexpr int64_t parametersBackward = layers * layerBackward + table;
// What tensor parallelism cuts of a layer, and what every rank has.
constexpr int64_t layerCut = queryKeyValue + attentionOutput + up + down, layerWhole = layer - layerCut;

constexpr const char *cut = "tensor-parallel=*query/*:-1+*key/*:-1+*value/*:-1+*up/*:-1";

struct Model {
  bool tied = false, clip = false;
  int stages = 1; // of equally many layers
};

std::string textOf(const Model &model) {
  std::string optimizer = model.clip ? "adam learning_rate 0.01 clip_global_norm 1" : "adam learning_rate 0.01";
  return transformerText({.layers = layers,
                          .hidden = hidden,
                          .wide = wide,
                          .sequence = sequence,
                          .positions = sequence,
                          .vocabulary = vocabulary,
                          .stages = model.stages,
                          .tied = model.tied,
                          .optimizer = optimizer});
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

struct Row {
  std::string name;
  Model model;
  std::string mesh, strategy;
  int64_t microbatches = 0;
  std::vector<Sums> expected; // of each group of ranks
};

void PrintTo(const Row &row, std::ostream *os) { *os << row.mesh << " " << row.strategy; }

/// The plan, and what --explain prints of it.
std::vector<uint8_t> compileRow(const Row &row, std::string &explanation) {
  ExecuteOptions options;
  options.from = "input";
  options.batch = batch;
  options.mesh = row.mesh;
  options.strategy = row.strategy;
  options.microbatches = row.microbatches;
  options.explain = &explanation;
  absl::StatusOr<std::vector<uint8_t>> plan = compileWithoutCode(textOf(row.model), options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *std::move(plan) : std::vector<uint8_t>();
}

class Strategy : public testing::TestWithParam<Row> {};

TEST_P(Strategy, CommunicatesWhatTheLiteratureSays) {
  std::string explanation;
  std::vector<uint8_t> bytes = compileRow(GetParam(), explanation);
  ASSERT_FALSE(bytes.empty());
  const fb::Plan &plan = *fb::GetPlan(bytes.data());
  std::vector<Sums> found = trainingOf(plan);
  ASSERT_EQ(found.size(), GetParam().expected.size());
  for (size_t group = 0; group < found.size(); ++group)
    EXPECT_EQ(found[group], GetParam().expected[group])
        << "group " << group << "\n  plan:       " << inWords(found[group])
        << "\n  literature: " << inWords(GetParam().expected[group]);
  expectCountedAlike(plan, explanation);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

constexpr int64_t P = parameters, A = activation, M = microbatches;
constexpr int64_t tiedP = P - table; // one table for both ends
constexpr int64_t variables = layers * 16 + 5;
// What one of four workers looks up in the table: a row for each token of its part of the batch, by an index of 4 bytes.
constexpr int64_t indicesOf4 = batch / 4 * sequence * 4, rowsOf4 = indicesOf4 * hidden;

// Two stages of a pipeline: the parameters of each, and what the backward pass reads of them.
constexpr int64_t firstP = table + positions + layers / 2 * layer, lastP = layers / 2 * layer + norm + table;
constexpr int64_t firstBackward = layers / 2 * layerBackward, lastBackward = firstBackward + table;

// What a rank has of the parameters in tensor parallelism over two; the sequence cuts the table of positions.
constexpr int64_t tensorP = layers * (layerCut / 2 + layerWhole) + ends;
constexpr int64_t sequenceWhole = layers * layerWhole + ends - positions;

const std::string tensor = cut;

const std::vector<Row> rows = {
    // [DP] The loss goes with the gradients. [CLIP] Each rank has whole gradients, and needs no one for their norm.
    {"data_parallel", {}, "data=2", "data-parallel", 0, {{{"AllReduce", {1, P + scalar}}}}},
    {"data_parallel_clip", {.clip = true}, "data=2", "data-parallel", 0, {{{"AllReduce", {1, P + scalar}}}}},
    {"data_parallel_tied", {.tied = true}, "data=4", "data-parallel", 0, {{{"AllReduce", {1, tiedP + scalar}}}}},
    // Micro-batches are added up before their gradients are reduced; what is computed again is not communicated again.
    {"accumulate", {}, "data=2", "data-parallel,accumulate=4", 0, {{{"AllReduce", {1, P + scalar}}}}},
    {"recompute", {}, "data=2", "data-parallel,recompute=layer*", 0, {{{"AllReduce", {1, P + scalar}}}}},

    // [ZeRO] One reduce-scatter and one all-gather of P, and an all-reduce of the loss. [CLIP] The squares of the parts
    // add one number to the latter.
    {"zero1",
     {},
     "data=2",
     "zero1",
     0,
     {{{"ReduceScatter", {1, P}}, {"AllGather", {1, P}}, {"AllReduce", {1, scalar}}}}},
    {"zero2",
     {},
     "data=2",
     "zero2",
     0,
     {{{"ReduceScatter", {1, P}}, {"AllGather", {1, P}}, {"AllReduce", {1, scalar}}}}},
    {"zero1_clip",
     {.clip = true},
     "data=2",
     "zero1",
     0,
     {{{"ReduceScatter", {1, P}}, {"AllGather", {1, P}}, {"AllReduce", {1, 2 * scalar}}}}},
    {"zero2_clip",
     {.clip = true},
     "data=4",
     "zero2",
     0,
     {{{"ReduceScatter", {1, P}}, {"AllGather", {1, P}}, {"AllReduce", {1, 2 * scalar}}}}},
    // The two gradients of a table that is used twice are added before they are scattered.
    {"zero1_tied",
     {.tied = true},
     "data=2",
     "zero1",
     0,
     {{{"ReduceScatter", {1, tiedP}}, {"AllGather", {1, tiedP}}, {"AllReduce", {1, scalar}}}}},
    {"zero2_tied_clip",
     {.tied = true, .clip = true},
     "data=2",
     "zero2",
     0,
     {{{"ReduceScatter", {1, tiedP}}, {"AllGather", {1, tiedP}}, {"AllReduce", {1, 2 * scalar}}}}},
    // [ZeRO] Stage 3 gathers for the forward pass, and for the backward pass what that reads: at most 2 P.
    {"zero3",
     {},
     "data=2",
     "zero3",
     0,
     {{{"ReduceScatter", {1, P}}, {"AllGather", {2, P + parametersBackward}}, {"AllReduce", {1, scalar}}}}},
    {"zero3_tied_clip",
     {.tied = true, .clip = true},
     "data=2",
     "fsdp",
     0,
     {{{"ReduceScatter", {1, tiedP}}, {"AllGather", {2, tiedP + parametersBackward}}, {"AllReduce", {1, 2 * scalar}}}}},
    // Stage 1 scatters the sum of the micro-batches, stages 2 and 3 the gradient of each, and stage 3 gathers for each.
    {"zero1_accumulate",
     {.clip = true},
     "data=2",
     "zero1,accumulate=4",
     0,
     {{{"ReduceScatter", {1, P}}, {"AllGather", {1, P}}, {"AllReduce", {1, 2 * scalar}}}}},
    {"zero2_accumulate",
     {.tied = true, .clip = true},
     "data=2",
     "zero2,accumulate=4",
     0,
     {{{"ReduceScatter", {M, M * tiedP}}, {"AllGather", {1, tiedP}}, {"AllReduce", {1, 2 * scalar}}}}},
    {"zero3_accumulate",
     {},
     "data=2",
     "zero3,accumulate=4",
     0,
     {{{"ReduceScatter", {M, M * P}},
       {"AllGather", {2 * M, M * (P + parametersBackward)}},
       {"AllReduce", {1, scalar}}}}},

    // [TP] Four all-reduces of the activations per layer. [CLIP] The norm goes with the last of them: it needs no
    // gradient of what comes before the first layer, as every rank has that whole.
    {"tensor_parallel", {}, "model=2", tensor, 0, {{{"AllReduce", {4 * layers, 4 * layers * A}}}}},
    {"tensor_parallel_clip",
     {.clip = true},
     "model=2",
     tensor,
     0,
     {{{"AllReduce", {4 * layers, 4 * layers * A + scalar}}}}},
    // The forward pass of a block is done again up to its last product, so with one of its two all-reduces, which is
    // merged with one of the backward pass where neither waits for the other.
    {"tensor_parallel_recompute",
     {},
     "model=2",
     tensor + ",recompute=layer*",
     0,
     {{{"AllReduce", {4 * layers, 5 * layers * A}}}}},
    // [SP] Eight collectives per layer, of the same size; and the gradients of what every rank has, with the loss.
    {"sequence_parallel",
     {},
     "model=2",
     "sequence-parallel," + tensor,
     0,
     {{{"ReduceScatter", {4 * layers, 4 * layers * A}},
       {"AllGather", {4 * layers, 4 * layers * A}},
       {"AllReduce", {1, sequenceWhole + scalar}}}}},
    {"sequence_parallel_clip",
     {.clip = true},
     "model=2",
     "sequence-parallel," + tensor,
     0,
     {{{"ReduceScatter", {4 * layers, 4 * layers * A}},
       {"AllGather", {4 * layers, 4 * layers * A}},
       {"AllReduce", {1, sequenceWhole + 2 * scalar}}}}},
    // Both: the activations of half of the batch, and the gradients of what a rank has.
    {"data_and_tensor_parallel",
     {},
     "data=2,model=2",
     "data-parallel," + tensor,
     0,
     {{{"AllReduce", {4 * layers + 1, 4 * layers * A / 2 + tensorP + scalar}}}}},
    {"zero2_and_tensor_parallel",
     {},
     "data=2,model=2",
     "zero2," + tensor,
     0,
     {{{"AllReduce", {4 * layers + 1, 4 * layers * A / 2 + scalar}},
       {"ReduceScatter", {1, tensorP}},
       {"AllGather", {1, tensorP}}}}},
    // [CLIP] What the tensor axis cuts has a norm over all ranks, the rest over the data axis.
    {"zero2_and_tensor_parallel_clip",
     {.clip = true},
     "data=2,model=2",
     "zero2," + tensor,
     0,
     {{{"AllReduce", {4 * layers + 2, 4 * layers * A / 2 + 3 * scalar}},
       {"ReduceScatter", {1, tensorP}},
       {"AllGather", {1, tensorP}}}}},

    {"zero1_and_sequence_parallel_tied_clip",
     {.tied = true, .clip = true},
     "data=2,model=2",
     "zero1,sequence-parallel," + tensor,
     0,
     {{{"ReduceScatter", {4 * layers + 1, 4 * layers * A / 2 + tensorP - positions / 2 - table}},
       {"AllGather", {4 * layers + 1, 4 * layers * A / 2 + tensorP - positions / 2 - table}},
       {"AllReduce", {3, (sequenceWhole - table) / 2 + 3 * scalar}}}}},
    // [TP] A table that is cut by its rows adds an all-reduce of the embeddings forward and one of the gradient of the
    // last activations; and three numbers per token for the loss (section 3): the maximum, then the two sums together.
    {"vocabulary_parallel",
     {.tied = true},
     "model=2",
     tensor + "+token_table:0",
     0,
     {{{"AllReduce", {4 * layers + 4, (4 * layers + 2) * A + 3 * 4 * batch * sequence}}}}},

    // [PP] At the boundary an activation forward and a gradient back per micro-batch; the loss goes to the first stage.
    {"gpipe",
     {.stages = 2},
     "stage=2",
     "pipeline=gpipe",
     M,
     {{{"Send", {M, A}}, {"Receive", {M + 1, A + scalar}}}, {{"Send", {M + 1, A + scalar}}, {"Receive", {M, A}}}}},
    {"one_forward_one_backward",
     {.stages = 2},
     "stage=2",
     "pipeline=1f1b",
     M,
     {{{"Send", {M, A}}, {"Receive", {M + 1, A + scalar}}}, {{"Send", {M + 1, A + scalar}}, {"Receive", {M, A}}}}},
    {"zero_bubble",
     {.stages = 2},
     "stage=2",
     "pipeline=zb-h1",
     M,
     {{{"Send", {M, A}}, {"Receive", {M + 1, A + scalar}}}, {{"Send", {M + 1, A + scalar}}, {"Receive", {M, A}}}}},
    // Four stages on two groups have three boundaries.
    {"interleaved",
     {.stages = 4},
     "stage=2",
     "pipeline=interleaved",
     M,
     {{{"Send", {3 * M, 3 * A}}, {"Receive", {3 * M + 1, 3 * A + scalar}}},
      {{"Send", {3 * M + 1, 3 * A + scalar}}, {"Receive", {3 * M, 3 * A}}}}},
    // [CLIP] One sum of squares goes to the last stage, and one factor back.
    {"pipeline_clip",
     {.clip = true, .stages = 2},
     "stage=2",
     "pipeline=1f1b",
     M,
     {{{"Send", {M + 1, A + scalar}}, {"Receive", {M + 2, A + 2 * scalar}}},
      {{"Send", {M + 2, A + 2 * scalar}}, {"Receive", {M + 1, A + scalar}}}}},
    {"interleaved_clip",
     {.clip = true, .stages = 4},
     "stage=2",
     "pipeline=interleaved",
     M,
     {{{"Send", {3 * M + 1, 3 * A + scalar}}, {"Receive", {3 * M + 2, 3 * A + 2 * scalar}}},
      {{"Send", {3 * M + 2, 3 * A + 2 * scalar}}, {"Receive", {3 * M + 1, 3 * A + scalar}}}}},
    // A tied table goes to the last stage, and its gradient back, once.
    {"pipeline_tied_clip",
     {.tied = true, .clip = true, .stages = 2},
     "stage=2",
     "pipeline=1f1b",
     M,
     {{{"Send", {M + 2, A + table + scalar}}, {"Receive", {M + 3, A + table + 2 * scalar}}},
      {{"Send", {M + 3, A + table + 2 * scalar}}, {"Receive", {M + 2, A + table + scalar}}}}},
    // Each stage reduces its own gradients; a rank has the activations of half of the batch. The last has the loss.
    {"pipeline_data_parallel",
     {.stages = 2},
     "stage=2,data=2",
     "pipeline=1f1b,data-parallel",
     M,
     {{{"Send", {M, A / 2}}, {"Receive", {M + 1, A / 2 + scalar}}, {"AllReduce", {1, firstP}}},
      {{"Send", {M + 1, A / 2 + scalar}}, {"Receive", {M, A / 2}}, {"AllReduce", {2, lastP + scalar}}}}},
    {"pipeline_zero1",
     {.stages = 2},
     "stage=2,data=2",
     "pipeline=1f1b,zero1",
     M,
     {{{"Send", {M, A / 2}},
       {"Receive", {M + 1, A / 2 + scalar}},
       {"ReduceScatter", {1, firstP}},
       {"AllGather", {1, firstP}}},
      {{"Send", {M + 1, A / 2 + scalar}},
       {"Receive", {M, A / 2}},
       {"ReduceScatter", {1, lastP}},
       {"AllGather", {1, lastP}},
       {"AllReduce", {1, scalar}}}}},
    {"pipeline_zero2_clip",
     {.clip = true, .stages = 2},
     "stage=2,data=2",
     "pipeline=1f1b,zero2",
     M,
     {{{"Send", {M + 1, A / 2 + scalar}},
       {"Receive", {M + 2, A / 2 + 2 * scalar}},
       {"ReduceScatter", {M, M * firstP}},
       {"AllGather", {1, firstP}}},
      {{"Send", {M + 2, A / 2 + 2 * scalar}},
       {"Receive", {M + 1, A / 2 + scalar}},
       {"ReduceScatter", {M, M * lastP}},
       {"AllGather", {1, lastP}},
       {"AllReduce", {2, 2 * scalar}}}}},
    // The table goes whole, as every rank has it; the sum of its gradients is scattered where each is, and half of the
    // last stage's sent.
    {"pipeline_zero1_tied_clip",
     {.tied = true, .clip = true, .stages = 2},
     "stage=2,data=2",
     "pipeline=1f1b,zero1",
     M,
     {{{"Send", {M + 2, A / 2 + table + scalar}},
       {"Receive", {M + 3, A / 2 + table / 2 + 2 * scalar}},
       {"ReduceScatter", {2, firstP}},
       {"AllGather", {1, firstP}}},
      {{"Send", {M + 3, A / 2 + table / 2 + 2 * scalar}},
       {"Receive", {M + 2, A / 2 + table + scalar}},
       {"ReduceScatter", {2, lastP}},
       {"AllGather", {1, lastP - table}},
       {"AllReduce", {2, 2 * scalar}}}}},
    {"pipeline_zero3",
     {.stages = 2},
     "stage=2,data=2",
     "pipeline=1f1b,zero3",
     M,
     {{{"Send", {M, A / 2}},
       {"Receive", {M + 1, A / 2 + scalar}},
       {"ReduceScatter", {M, M * firstP}},
       {"AllGather", {2 * M, M * (firstP + firstBackward)}}},
      {{"Send", {M + 1, A / 2 + scalar}},
       {"Receive", {M, A / 2}},
       {"ReduceScatter", {M, M * lastP}},
       {"AllGather", {2 * M, M * (lastP + lastBackward)}},
       {"AllReduce", {1, scalar}}}}},
    // [ZeRO] with a tied table: half of it is sent to the last stage, which gathers it, and half of the gradient back.
    {"pipeline_zero3_tied",
     {.tied = true, .stages = 2},
     "stage=2,data=2",
     "pipeline=1f1b,zero3",
     M,
     {{{"Send", {M + 1, A / 2 + table / 2}},
       {"Receive", {M + 2, A / 2 + table / 2 + scalar}},
       {"ReduceScatter", {M, M * firstP}},
       {"AllGather", {2 * M, M * (firstP + firstBackward)}}},
      {{"Send", {M + 2, A / 2 + table / 2 + scalar}},
       {"Receive", {M + 1, A / 2 + table / 2}},
       {"ReduceScatter", {M + 1, M * lastP}},
       {"AllGather", {2 * M, M * (lastP + lastBackward)}},
       {"AllReduce", {1, scalar}}}}},
    {"pipeline_tensor_parallel_clip",
     {.clip = true, .stages = 2},
     "stage=2,model=2",
     "pipeline=1f1b," + tensor,
     M,
     {{{"Send", {M + 1, A + scalar}},
       {"Receive", {M + 2, A + 2 * scalar}},
       {"AllReduce", {2 * layers * M + 1, 2 * layers * A + scalar}}},
      {{"Send", {M + 2, A + 2 * scalar}},
       {"Receive", {M + 1, A + scalar}},
       {"AllReduce", {2 * layers * M + 1, 2 * layers * A + scalar}}}}},

    // [PS] Each worker pulls each variable once, and pushes its part of the sum of all gradients, in one bucket:
    // together
    // the server receives P. The workers need the loss alone. [CLIP] The server has all gradients.
    {"central_storage",
     {},
     "data=2",
     "central-storage",
     0,
     {{{"Receive", {variables, P}}, {"ReduceScatter", {1, P}}, {"Send", {1, P / 2}}, {"AllReduce", {1, scalar}}},
      {{"Send", {variables, P}}, {"Receive", {1, P}}}}},
    {"central_storage_accumulate",
     {},
     "data=2",
     "central-storage,accumulate=2",
     0,
     {{{"Receive", {variables, P}}, {"ReduceScatter", {1, P}}, {"Send", {1, P / 2}}, {"AllReduce", {1, scalar}}},
      {{"Send", {variables, P}}, {"Receive", {1, P}}}}},
    {"central_storage_clip",
     {.clip = true},
     "data=4",
     "central-storage",
     0,
     // What a worker looks up in the table of tokens is less than the table: it gets rows, and sends indices and their
     // gradients.
     {{{"Receive", {variables, P - table + rowsOf4}},
       {"ReduceScatter", {1, P - table}},
       {"Send", {3, (P - table) / 4 + indicesOf4 + rowsOf4}},
       {"AllReduce", {1, scalar}}},
      {{"Send", {variables, P - table + 4 * rowsOf4}}, {"Receive", {3, P - table + 4 * (indicesOf4 + rowsOf4)}}}}},
};

INSTANTIATE_TEST_SUITE_P(Rows, Strategy, testing::ValuesIn(rows),
                         [](const testing::TestParamInfo<Row> &info) { return info.param.name; });

// [PS] With two servers there are two buckets, one for each; together they receive P, in parts of it. [CLIP] One number
// is added up for all gradients, and each server gets the factor.
TEST(Table, TwoServersReceiveWhatOneDoes) {
  for (bool clip : {false, true}) {
    std::string explanation;
    std::vector<uint8_t> bytes =
        compileRow({"servers", {.clip = clip}, "data=2", "parameter-server=2", 0, {}}, explanation);
    ASSERT_FALSE(bytes.empty());
    std::vector<Sums> found = trainingOf(*fb::GetPlan(bytes.data()));
    ASSERT_EQ(found.size(), 3u);
    const int64_t factors = clip ? 2 : 0;
    EXPECT_EQ(found[0]["ReduceScatter"], (Sum{2, P})) << inWords(found[0]);
    EXPECT_EQ(found[0]["Send"], (Sum{2 + factors, P / 2 + factors * scalar})) << inWords(found[0]);
    EXPECT_EQ(found[0]["AllReduce"], (Sum{clip ? 2 : 1, clip ? 2 * scalar : scalar})) << inWords(found[0]);
    EXPECT_EQ(found[1]["Receive"].count, clip ? 2 : 1);
    EXPECT_EQ(found[1]["Receive"].bytes + found[2]["Receive"].bytes, P + factors * scalar);
    expectCountedAlike(*fb::GetPlan(bytes.data()), explanation);
  }
}

// A strategy that communicates more than its row says is noticed: the counts are those of the plan.
TEST(Table, NoticesAnotherPlan) {
  std::string explanation;
  Row row{"zero2", {}, "data=2", "zero2", 0, {}};
  std::vector<uint8_t> zero = compileRow(row, explanation);
  row.strategy = "data-parallel";
  std::vector<uint8_t> replicated = compileRow(row, explanation);
  ASSERT_FALSE(zero.empty() || replicated.empty());
  EXPECT_NE(trainingOf(*fb::GetPlan(zero.data())), trainingOf(*fb::GetPlan(replicated.data())));
}

} // namespace
