// Strategies on two layers of a transformer, by running: the gradients of one worker.
#include "test/unit/oracle/Broken.h"
#include "test/unit/oracle/Transformer.h"

using namespace dgc::testing;

namespace {

const std::string cut = "tensor-parallel=*query/*:-1,*key/*:-1,*value/*:-1,*up/*:-1";

std::string readTransformer() {
  std::ifstream file(DGC_MODELS "/transformer.mlir");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Sequences of step i.
NamedArrays sequences(int i) {
  std::mt19937 rng(500 + i);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> x(batch * 8 * 16), y(x.size());
  for (float &value : x) {
    value = uniform(rng);
  }
  for (float &value : y) {
    value = uniform(rng);
  }
  return {{"x", HostArray::of({batch, 8, 16}, x)}, {"y", HostArray::of({batch, 8, 16}, y)}};
}

NamedArrays run(const std::string &model, const std::string &mesh, const std::string &strategy, int steps) {
  TrainOptions how{mesh, strategy, steps};
  how.inputs = sequences;
  return train(model, how);
}

TEST(TransformerStrategies, EveryStrategyHasTheSameGradients) {
  std::string model = readTransformer();
  NamedArrays initial = run(model, "", "", 0), one = run(model, "", "", 1), twenty = run(model, "", "", 20);
  ASSERT_FALSE(one.empty());
  EXPECT_GT(distance(twenty, initial), 1e-2) << "nothing was trained";
  const std::pair<const char *, std::string> cases[] = {
      {"data=3", "data-parallel"},
      {"data=8", "zero3"},
      {"model=2", cut},
      {"model=4", cut},
      {"model=2", cut + ",sequence-parallel"},
      {"model=4", cut + ",sequence-parallel"},
      {"data=2,model=2", cut + ",data-parallel"},
      {"data=2,model=4", cut + ",zero2,sequence-parallel"},
      {"data=2,model=2", cut + ",zero3,accumulate=3,recompute=layer.*"},
      {"data=2", "recompute=layer.*,accumulate=2"},
  };
  for (const auto &[mesh, strategy] : cases) {
    NamedArrays step = run(model, mesh, strategy, 1);
    EXPECT_LE(distance(step, one), 1e-6) << mesh << " " << strategy;
    EXPECT_LE(distance(step, one, &initial), 2e-5) << mesh << " " << strategy << ", gradients";
    EXPECT_LE(distance(run(model, mesh, strategy, 20), twenty), 1e-5) << mesh << " " << strategy << ", twenty steps";
  }
}

// What examples/gpt_char.mlir has: embeddings, the table used twice, causal attention.
TEST(TransformerStrategies, OfCharactersHasTheSameGradients) {
  TrainOptions alone{"", "", 0, -1};
  alone.inputs = windowsOfStep;
  NamedArrays initial = train(smallTransformer, alone);
  alone.steps = 1;
  NamedArrays one = train(smallTransformer, alone);
  ASSERT_FALSE(one.empty());
  const std::pair<const char *, std::string> cases[] = {
      {"model=2", cut},
      {"model=3", cut}, // two heads: only what is behind them is cut
      {"data=3", "zero1"},
      {"data=2", "zero2"},
      {"data=8", "zero3"}, // 8 divides neither 12 nor 11
      {"data=2", "accumulate=5"},
      {"", "accumulate=6"}, // rounds of a loop
      {"data=2", "accumulate=6"},
      {"data=2", "zero2,accumulate=6"}, // gradients are scattered in each round
      {"data=2", "zero3,accumulate=6"}, // and weights are gathered there, twice
      {"data=2,model=2", cut + ",zero3,accumulate=6,recompute=layer.*"},
      {"model=2", cut + ",accumulate=6"}, // what the layers need of the other worker is communicated in each round
      {"data=2,model=2", cut + ",zero1,accumulate=6,sequence-parallel"},
      {"data=2", "accumulate=6,recompute=layer.*"},
      {"data=4", "fsdp,accumulate=3,recompute=layer.*"},
      {"data=2,model=2", cut + ",data-parallel"},
      {"data=2,model=2", cut + ",zero3,accumulate=2"},
      {"", "accumulate=4,recompute=layer.*+cross_entropy"},
      // The table is on the first stage; the last one gets it, and sends its gradient back.
      {"stage=2", "pipeline=1f1b"},
      {"stage=2,data=2", "pipeline=zb-h1,data-parallel"},
  };
  for (const auto &[mesh, strategy] : cases) {
    TrainOptions how{mesh, strategy, 1};
    how.inputs = windowsOfStep;
    how.microbatches = strategy.starts_with("pipeline") ? 4 : 0;
    NamedArrays step = train(smallTransformer, how);
    EXPECT_LE(distance(step, one), 1e-6) << mesh << " " << strategy;
    EXPECT_LE(distance(step, one, &initial), 2e-5) << mesh << " " << strategy << ", gradients";
    if (*mesh)
      expectBrokenIsNoticed(smallTransformer, how, one, initial);
  }
}

// Attention that keeps no scores, alone and cut: examples and heads can be, places cannot.
TEST(TransformerStrategies, FusedAttentionHasTheSameGradients) {
  TrainOptions alone{"", "", 0, -1};
  alone.inputs = windowsOfStep;
  NamedArrays initial = train(smallTransformer, alone);
  alone.steps = 1;
  NamedArrays one = train(smallTransformer, alone);
  ASSERT_FALSE(one.empty());
  const std::pair<const char *, std::string> cases[] = {
      {"", ""},
      {"", "accumulate=4,recompute=layer.*"},
      {"data=3", "data-parallel"}, // 3 does not divide the batch
      {"model=3", cut + ",sequence-parallel"},
      {"data=2,model=2", cut + ",zero3,recompute=layer.*"},
      {"stage=2", "pipeline=1f1b"},
  };
  for (const auto &[mesh, strategy] : cases) {
    TrainOptions how{mesh, strategy, 1};
    how.inputs = windowsOfStep;
    how.microbatches = strategy.starts_with("pipeline") ? 4 : 0;
    how.attention = "fused";
    NamedArrays step = train(smallTransformer, how);
    EXPECT_LE(distance(step, one, &initial), *mesh ? 2e-5 : 2e-6) << mesh << " " << strategy << ", gradients";
  }
  // The negative control: another scale.
  TrainOptions how{"", "", 1};
  how.inputs = windowsOfStep;
  how.attention = "fused";
  std::string wrong =
      std::regex_replace(std::string(smallTransformer), std::regex("heads 2 causal"), "heads 2 causal scale 0.41");
  EXPECT_GT(distance(train(wrong, how), one, &initial), 1e-3);
}

/// A strategy on 2, 3, 4 and 8 workers, as far as the tests above have not tried them.
struct Row {
  std::string strategy;
  std::vector<const char *> meshes;
};

void PrintTo(const Row &row, std::ostream *os) { *os << row.strategy; }

class OneLayer : public testing::TestWithParam<Row> {};

TEST_P(OneLayer, HasTheSameGradientsOnAnyNumberOfWorkers) {
  static const std::string model =
      std::regex_replace(std::string(smallTransformer), std::regex("dgc\\.repeat 2"), "dgc.repeat 1");
  TrainOptions alone{"", "", 0, -1};
  alone.inputs = windowsOfStep;
  static const NamedArrays initial = train(model, alone);
  alone.steps = 1;
  static const NamedArrays one = train(model, alone);
  ASSERT_FALSE(one.empty());
  for (const char *mesh : GetParam().meshes) {
    TrainOptions how{mesh, GetParam().strategy, 1};
    how.inputs = windowsOfStep;
    EXPECT_LE(distance(train(model, how), one, &initial), 2e-5) << mesh;
    expectBrokenIsNoticed(model, how, one, initial);
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, OneLayer,
                         testing::Values(Row{"data-parallel", {"data=2"}}, Row{"zero1", {"data=2", "data=4", "data=8"}},
                                         Row{"zero2", {"data=3", "data=4", "data=8"}},
                                         Row{"zero3", {"data=2", "data=3", "data=4"}},
                                         Row{"central-storage", {"data=2", "data=3", "data=4", "data=8"}},
                                         Row{"parameter-server=3", {"data=2", "data=3", "data=4", "data=8"}},
                                         Row{cut, {"model=4", "model=8"}},
                                         Row{cut + ",sequence-parallel", {"model=2", "model=3", "model=4", "model=8"}},
                                         Row{"accumulate=2", {"data=3", "data=4", "data=8"}},
                                         Row{"recompute=layer.*", {"data=2", "data=3", "data=4", "data=8"}}),
                         [](const auto &info) {
                           return std::regex_replace(info.param.strategy.substr(0, 18) + std::to_string(info.index),
                                                     std::regex("[^A-Za-z0-9]+"), "_");
                         });

// Attention that is not scaled, on several workers, is not what one computes with the scale.
TEST(TransformerStrategies, AMistakeIsNoticed) {
  std::string model = readTransformer();
  std::string wrong = std::regex_replace(model, std::regex("by 0\\.5"), "by 0.25");
  ASSERT_NE(model, wrong);
  NamedArrays initial = run(model, "", "", 0);
  EXPECT_GT(distance(run(wrong, "model=2", cut, 1), run(model, "", "", 1), &initial), 1e-3);
}

} // namespace
