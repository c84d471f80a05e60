// Models that say themselves how they are spread, where annotations compete for an axis: what is communicated, counted
// in the plan and held against the formulas of the literature, and the gradients of one device.
#include "test/unit/oracle/Broken.h"
#include "test/unit/oracle/Transformer.h"

using namespace dgc::testing;
namespace artifact = dgc::artifact;

namespace {

std::string annotation(const std::string &sharding) {
  return " {dist.sharding = #dist.sharding<@mesh, " + sharding + ">}";
}

std::string replaced(const std::string &text, const std::string &pattern, const std::string &with) {
  std::string result = std::regex_replace(text, std::regex(pattern), with);
  EXPECT_NE(result, text) << pattern << " is not in the model";
  return result;
}

/// The model over a mesh of its own, the batch cut by its axis `data`.
std::string overMesh(const std::string &model, const std::string &mesh) {
  std::string text = replaced(model, "(^|\n)dgc\\.model", "$1dist.mesh @mesh <" + mesh + ">\ndgc.model");
  return replaced(text, "(dgc\\.input \"[a-z_]+\")", "$1" + annotation("[{\"data\"}, {}]"));
}

/// FSDP by annotation: the rows of matrices are cut over the axis of the batch.
std::string fullyShared(const std::string &model, const std::string &mesh) {
  return replaced(overMesh(model, mesh), "(/kernel\" normal 0 [0-9.]+)", "$1" + annotation("[{\"data\"}, {}]"));
}

/// The same of a convolutional network: channels of filters, and rows of matrices.
std::string fullySharedCnn(const std::string &model, const std::string &mesh) {
  std::string text = replaced(model, "(^|\n)dgc\\.model", "$1dist.mesh @mesh <" + mesh + ">\ndgc.model");
  text = replaced(text, "(dgc\\.input \"image\")", "$1" + annotation("[{\"data\"}, {}, {}]"));
  text = replaced(text, "(conv[12]/kernel\" glorot_uniform)", "$1" + annotation("[{}, {}, {}, {\"data\"}]"));
  return replaced(text, "(dense[12]/kernel\" glorot_uniform)", "$1" + annotation("[{\"data\"}, {}]"));
}

/// Megatron's sequence parallelism by constraints: matrices are cut by columns and by rows over the axis `model`, and
/// the residual stream between them along the sequence.
std::string sequenceConstrained(const std::string &model, const std::string &mesh) {
  std::string text = replaced(overMesh(model, mesh), "((query|key|value|up)/kernel\" normal 0 [0-9.]+)",
                              "$1" + annotation("[{}, {\"model\"}]"));
  text = replaced(text, "((output|down)/kernel\" normal 0 [0-9.]+)", "$1" + annotation("[{\"model\"}, {}]"));
  const char *constrained = "%$1_0 = $2\n    %$1 = dist.constraint %$1_0 to <@mesh, [{\"data\"}, {\"model\"}, {}]>";
  return replaced(text, "%(y|z) = (dgc\\.add [^\n]*)", constrained);
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

/// The collectives of one kind: how many values they move (a collective may move several at once), and the elements of
/// these where they are whole along the axes of the collective.
struct Moved {
  size_t collectives = 0, values = 0;
  uint64_t elements = 0;
};

std::map<artifact::CollectiveKind, Moved> movedIn(const std::vector<uint8_t> &bytes, const std::string &program) {
  std::unique_ptr<artifact::PlanT> plan(artifact::GetPlan(bytes.data())->UnPack());
  std::map<artifact::CollectiveKind, Moved> moved;
  for (const auto &each : plan->programs)
    for (size_t i = 0; each->name == program && i < each->steps.size(); ++i)
      if (const artifact::CollectiveT *collective = each->steps[i]->action.AsCollective()) {
        Moved &of = moved[collective->kind];
        ++of.collectives;
        of.values += 1 + collective->more.size();
        of.elements += std::max(collective->src_count, collective->dst_count);
        for (const auto &range : collective->more)
          of.elements += std::max(range->src_count, range->dst_count);
      }
  return moved;
}

std::map<artifact::CollectiveKind, Moved> collectivesOf(const std::string &model, const std::string &program,
                                                        int64_t batch = 12) {
  TrainOptions how;
  how.size = batch;
  const absl::StatusOr<std::vector<uint8_t>> &plan = planOf(model, how);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? movedIn(*plan, program) : std::map<artifact::CollectiveKind, Moved>();
}

// examples/gpt_char.mlir has 4 layers of 4 matrices of 128 x 128 and 2 of 128 x 512. FSDP gathers each of these 24 once
// and scatters the sum of each gradient once; all else (gradients of vectors and tables, the loss) is one all-reduce.
TEST(AnnotatedModels, FullySharedGathersWeights) {
  const uint64_t weights = 4 * (4 * 128 * 128 + 2 * 128 * 512);
  const uint64_t rest = 4 * (8 * 128 + 512 + 128) + 2 * 128 + (65 + 64) * 128 + 1;
  std::string model = fullyShared(readModel("gpt_char"), "data = 2, model = 4");
  auto train = collectivesOf(model, "train");
  EXPECT_EQ(train.size(), 3u) << "kinds of collectives";
  EXPECT_EQ(train[artifact::CollectiveKind::AllGather].elements, weights);
  EXPECT_LE(train[artifact::CollectiveKind::AllGather].values, 24u);
  EXPECT_EQ(train[artifact::CollectiveKind::ReduceScatter].elements, weights);
  EXPECT_LE(train[artifact::CollectiveKind::ReduceScatter].values, 24u);
  EXPECT_GE(train[artifact::CollectiveKind::AllReduce].elements, rest);
  EXPECT_LT(train[artifact::CollectiveKind::AllReduce].elements, rest + 64) << "more than the space to align values";
  EXPECT_EQ(train[artifact::CollectiveKind::AllReduce].collectives, 1u);
  auto predict = collectivesOf(model, "predict");
  EXPECT_EQ(predict.size(), 1u) << "kinds of collectives";
  EXPECT_EQ(predict[artifact::CollectiveKind::AllGather].elements, weights);
}

// Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models: four all-gathers and four
// reduce-scatters a layer, of activations [batch / data, sequence, width]; of 4 layers 32 collectives.
TEST(AnnotatedModels, SequenceIsGatheredAndScattered) {
  const uint64_t activation = 12 / 2 * 64 * 128;
  std::string model = sequenceConstrained(readModel("gpt_char"), "data = 2, model = 4");
  for (const auto &[program, count] : {std::pair("train", 16u), std::pair("predict", 8u)}) {
    SCOPED_TRACE(program);
    auto moved = collectivesOf(model, program);
    for (auto kind : {artifact::CollectiveKind::AllGather, artifact::CollectiveKind::ReduceScatter}) {
      EXPECT_EQ(moved[kind].values, count);
      EXPECT_EQ(moved[kind].elements, count * activation);
    }
    EXPECT_EQ(moved.count(artifact::CollectiveKind::AllToAll), 0u);
    EXPECT_EQ(moved.count(artifact::CollectiveKind::Permute), 0u);
  }
}

// examples/mnist_cnn_deep.mlir: the filters are smaller than the images, so they are gathered; the first matrix (9216 x
// 128) is larger than what is multiplied with it (64 x 9216), which moves to its rows and back in its place.
TEST(AnnotatedModels, EachMovesWhatIsSmaller) {
  auto train = collectivesOf(fullySharedCnn(readModel("mnist_cnn_deep"), "data = 4"), "train", 64);
  const uint64_t filters = 3 * 3 * 32 + 3 * 3 * 32 * 64, matrix = 9216 * 128, activation = 64 / 4 * 9216;
  EXPECT_EQ(train[artifact::CollectiveKind::AllToAll].values, 2u);
  EXPECT_EQ(train[artifact::CollectiveKind::AllToAll].elements, 2 * activation);
  for (auto kind : {artifact::CollectiveKind::AllGather, artifact::CollectiveKind::ReduceScatter}) {
    EXPECT_GE(train[kind].elements, filters);
    EXPECT_LT(train[kind].elements, matrix / 10);
  }
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

TEST(AnnotatedModels, TransformersHaveTheGradientsOfOneDevice) {
  TrainOptions how;
  how.inputs = windowsOfStep;
  how.steps = 0;
  NamedArrays initial = train(smallTransformer, how);
  how.steps = 1;
  NamedArrays one = train(smallTransformer, how);
  ASSERT_FALSE(one.empty());
  const std::string models[] = {
      fullyShared(smallTransformer, "data = 2"),
      fullyShared(smallTransformer, "data = 5"), // divides neither the batch nor the widths
      sequenceConstrained(smallTransformer, "data = 2, model = 2"),
      sequenceConstrained(smallTransformer, "data = 1, model = 3"), // 7 places and 2 heads over 3
  };
  for (const std::string &model : models) {
    SCOPED_TRACE(model.substr(0, model.find("dgc.model")));
    EXPECT_LE(distance(train(model, how), one, &initial), 2e-5);
    expectBrokenIsNoticed(model, how, one, initial);
  }
}

TEST(AnnotatedModels, ConvolutionsHaveTheGradientsOfOneDevice) {
  const std::string model = smooth(readModel("mnist_cnn_deep"));
  TrainOptions how;
  how.steps = 0;
  NamedArrays initial = train(model, how);
  how.steps = 1;
  NamedArrays one = train(model, how);
  ASSERT_FALSE(one.empty());
  for (const char *mesh : {"data = 2", "data = 5"}) { // 5 divides nothing
    SCOPED_TRACE(mesh);
    std::string annotated = fullySharedCnn(model, mesh);
    EXPECT_LE(distance(train(annotated, how), one, &initial), 2e-5);
    expectBrokenIsNoticed(annotated, how, one, initial);
  }
}

} // namespace
