// Strategies on two layers of a transformer, by running: the gradients of one worker.
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
  }
}

// Attention that is not scaled, on several workers, is not what one computes with the scale.
TEST(TransformerStrategies, AMistakeIsNoticed) {
  std::string model = readTransformer();
  std::string wrong = std::regex_replace(model, std::regex("by 0\\.5"), "by 0.25");
  ASSERT_NE(model, wrong);
  NamedArrays initial = run(model, "", "", 0);
  EXPECT_GT(distance(run(wrong, "model=2", cut, 1), run(model, "", "", 1), &initial), 1e-3);
}

} // namespace
