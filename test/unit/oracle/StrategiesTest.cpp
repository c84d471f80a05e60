// Every strategy by running: the gradients and weights of one worker, on any number of workers. SGD with momentum,
// whose first step is plain SGD, the same seed and the same global batches; the workers are threads of this process.
// The optimizer's state is compared, too.
#include "test/unit/oracle/Broken.h"

#include <algorithm>
#include <map>

using namespace dgc::testing;

namespace {

constexpr const char *optimizer = "sgd learning_rate 0.05 momentum 0.9", *plain = "sgd learning_rate 0.05";

/// One worker: trained once for each model and number of steps.
const NamedArrays &alone(const std::string &model, int steps, int validCount = -1) {
  static std::map<std::tuple<std::string, int, int>, NamedArrays> known;
  auto [it, isNew] = known.try_emplace({model, steps, validCount});
  if (isNew) {
    it->second = train(model, {.steps = steps, .validCount = validCount});
  }
  return it->second;
}

struct Case {
  const char *model;
  const char *strategy;
  std::vector<const char *> meshes;
  int64_t microbatches = 0; // of a pipeline

  TrainOptions on(const char *mesh, int steps = 1, int validCount = -1) const {
    return {.mesh = mesh, .strategy = strategy, .steps = steps, .validCount = validCount, .microbatches = microbatches};
  }
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.model << " " << c.strategy; }

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  return std::regex_replace(std::string(info.param.model) + "_" + info.param.strategy, std::regex("[^A-Za-z0-9]"), "_");
}

class Strategies : public testing::TestWithParam<Case> {};

TEST_P(Strategies, HaveTheSameGradients) {
  std::string model = readModel(GetParam().model, optimizer);
  const NamedArrays &initial = alone(model, 0), &one = alone(model, 1);
  ASSERT_FALSE(one.empty());
  for (const char *mesh : GetParam().meshes) {
    NamedArrays step = train(model, GetParam().on(mesh));
    EXPECT_LE(distance(step, one), 1e-6) << mesh;
    EXPECT_LE(distance(step, one, &initial), 2e-5) << mesh << ", gradients";
  }
}

TEST_P(Strategies, TrainTheSameWeights) {
  std::string model = smooth(readModel(GetParam().model, plain));
  const char *mesh = GetParam().meshes[GetParam().meshes.size() > 1];
  const int steps = 20; // oracle_test takes a hundred
  EXPECT_LE(distance(train(model, GetParam().on(mesh, steps)), alone(model, steps)), 1e-5) << mesh;
}

// The last batch of an epoch: only some of its examples are real.
TEST_P(Strategies, WeighAShortBatchRight) {
  std::string model = readModel(GetParam().model, optimizer);
  for (int valid : {1, 7}) {
    NamedArrays step = train(model, GetParam().on(GetParam().meshes[0], 1, valid));
    EXPECT_LE(distance(step, alone(model, 1, valid), &alone(model, 0)), 2e-5) << valid;
  }
}

// Gradients that are added where they should be averaged are noticed.
TEST_P(Strategies, WrongScaleIsNoticed) {
  std::string model = readModel(GetParam().model, optimizer);
  std::string wrong =
      std::regex_replace(model, std::regex("dgc\\.loss %loss"), "%twice = dgc.scale %loss by 2.0\n  dgc.loss %twice");
  ASSERT_NE(model, wrong);
  NamedArrays step = train(wrong, GetParam().on(GetParam().meshes[0]));
  EXPECT_GT(distance(step, alone(model, 1), &alone(model, 0)), 0.5);
}

// So is a plan in which something is not communicated.
TEST_P(Strategies, ABrokenPlanIsNoticed) {
  std::string model = readModel(GetParam().model, optimizer);
  for (const char *mesh : GetParam().meshes)
    if (*mesh)
      expectBrokenIsNoticed(model, GetParam().on(mesh), alone(model, 1), alone(model, 0));
}

const std::vector<const char *> data = {"data=2", "data=3", "data=4", "data=8"};

/// The convolutions of the deep CNN as one block, so that they can be computed again together.
std::string withBlock() {
  std::string model = readModel("mnist_cnn_deep", plain);
  model = std::regex_replace(model, std::regex("dgc\\.conv2d ([^\\n]*)"), "dgc.conv2d $1 {block = \"features\"}");
  return std::regex_replace(model, std::regex("%(h[12]) = dgc\\.relu ([^\\n]*)"),
                            "%$1 = dgc.relu $2 {block = \"features\"}");
}

// Values that are computed again are those that were there: nothing differs in a single bit.
TEST(Recompute, HasTheSameBits) {
  std::string model = withBlock();
  for (const char *mesh : {"", "data=2"}) {
    NamedArrays kept = train(model, {.mesh = mesh, .steps = 3});
    for (const char *strategy : {"recompute=features.*", "recompute=relu", "recompute=*", "recompute=*,accumulate=2",
                                 "recompute=*,accumulate=6"}) {
      NamedArrays again = train(model, {.mesh = mesh, .strategy = strategy, .steps = 3});
      bool sameOrder = std::string(strategy).find("accumulate") == std::string::npos;
      ASSERT_EQ(again.size(), kept.size());
      for (const auto &[name, array] : kept) {
        EXPECT_TRUE(!sameOrder || array.bytes == again.at(name).bytes) << mesh << " " << strategy << " " << name;
      }
      EXPECT_LE(distance(again, kept), 1e-6) << mesh << " " << strategy;
    }
  }
}

// Texts of different lengths: the loss is a mean over all tokens that there are, whichever micro-batch and worker they
// are on.
const char *const tokens = R"(
dgc.model @tokens {
  %x = dgc.input "x" : tensor<?x5x4xf32>
  %y = dgc.input "y" : tensor<?x5x3xf32>
  %counts = dgc.input "counts" : tensor<?x5xf32>
  %w = dgc.variable "w" normal 0 0.5 : tensor<4x3xf32>
  %h = dgc.matmul %x, %w
  %t = dgc.tanh %h
  %d = dgc.subtract %t, %y
  %q = dgc.multiply %d, %d
  %s = dgc.reduce sum %q dims [2]
  %p = dgc.multiply %s, %counts
  %sum = dgc.reduce sum %p dims [0, 1]
  %n = dgc.reduce sum %counts dims [0, 1]
  %loss = dgc.divide %sum, %n
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.5
}
)";

/// Example i has (`factor` * i) % 6 tokens.
NamedArrays textsOf(int factor) {
  std::mt19937 rng(77);
  auto draw = [&] { return float(rng() % 2001) / 1000 - 1; };
  std::vector<float> x(batch * 20), y(batch * 15), counts(batch * 5);
  std::generate(x.begin(), x.end(), draw);
  std::generate(y.begin(), y.end(), draw);
  for (int64_t i = 0; i < batch; ++i) {
    std::fill_n(counts.begin() + i * 5, factor * i % 6, 1.0f);
  }
  return {{"x", HostArray::of({batch, 5, 4}, x)},
          {"y", HostArray::of({batch, 5, 3}, y)},
          {"counts", HostArray::of({batch, 5}, counts)}};
}

TEST(Accumulate, CountsTokensOfTheWholeBatch) {
  auto run = [](const char *mesh, const char *strategy, int steps, int factor = 1) {
    TrainOptions how{mesh, strategy, steps};
    how.inputs = [factor](int) { return textsOf(factor); };
    return train(tokens, how);
  };
  NamedArrays initial = run("", "", 0), one = run("", "", 1);
  ASSERT_FALSE(one.empty());
  for (const char *mesh : {"", "data=2", "data=3"}) {
    for (const char *strategy : {"accumulate=4", "accumulate=5"}) {
      EXPECT_LE(distance(run(mesh, strategy, 1), one, &initial), 2e-6) << mesh << " " << strategy;
    }
  }
  // The negative control: other lengths are another loss.
  EXPECT_GT(distance(run("data=2", "accumulate=4", 1, 5), one, &initial), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Strategies,
    testing::Values(
        Case{"mnist_mlp", "accumulate=3", {"", "data=2", "data=4", "data=8"}},
        // Micro-batches that are not equal, and that the workers do not divide.
        Case{"mnist_mlp", "accumulate=5", {"", "data=2", "data=3", "data=8"}},
        // Rounds of a loop.
        Case{"mnist_mlp", "accumulate=6", {"", "data=2", "data=4"}},
        Case{"mnist_cnn", "accumulate=6", {"", "data=2", "data=4"}},
        Case{"mnist_mlp", "zero1,accumulate=12", {"data=2"}},
        Case{"mnist_mlp", "parameter-server=2,accumulate=6", {"data=2"}},
        Case{"mnist_mlp", "data-parallel,tensor-parallel=w1:1,accumulate=6", {"data=2,model=2"}},
        Case{"mnist_cnn", "accumulate=2", {"", "data=2", "data=3", "data=4", "data=8"}},
        Case{"mnist_mlp", "recompute=*", data}, Case{"mnist_cnn", "recompute=*", data},
        Case{"mnist_mlp", "zero1", data}, Case{"mnist_mlp", "zero2", data}, Case{"mnist_mlp", "zero3", data},
        Case{"mnist_cnn", "zero1", data}, Case{"mnist_cnn", "zero2", data}, Case{"mnist_cnn", "zero3", data},
        Case{"mnist_mlp", "central-storage", data}, Case{"mnist_cnn", "central-storage", data},
        Case{"mnist_mlp", "parameter-server=3", data}, Case{"mnist_cnn", "parameter-server=2", data},
        Case{"mnist_mlp", "zero1,accumulate=3", {"data=2", "data=4"}},
        Case{"mnist_mlp", "zero2,accumulate=3", {"data=2", "data=4"}},
        Case{"mnist_mlp", "fsdp,accumulate=5", {"data=3", "data=4"}},
        Case{"mnist_mlp", "tensor-parallel=w1:1", {"model=2", "model=3", "model=4", "model=8"}},
        Case{"mnist_cnn", "tensor-parallel=conv/*:-1", {"model=2", "model=3", "model=4", "model=8"}},
        Case{"mnist_cnn", "data-parallel,tensor-parallel=conv/*:-1,recompute=*", {"data=2,model=4"}},
        Case{"mnist_mlp", "pipeline=1f1b", {"stage=2", "stage=3", "stage=2,data=2"}, 4},
        Case{"mnist_cnn", "pipeline=gpipe", {"stage=2", "stage=3", "stage=2,data=2", "stage=2,data=4"}, 5},
        Case{"mnist_cnn", "pipeline=1f1b", {"stage=2", "stage=3", "stage=4", "stage=2,data=4"}, 3},
        Case{"mnist_cnn", "pipeline=zb-h1", {"stage=2", "stage=3", "stage=2,data=2", "stage=2,data=4"}, 2},
        Case{"mnist_cnn", "pipeline=interleaved", {"stage=2", "stage=3", "stage=2,data=2", "stage=2,data=4"}, 6},
        Case{"mnist_mlp", "data-parallel,tensor-parallel=w1:1", {"data=2,model=2", "data=3,model=2", "data=2,model=4"}},
        Case{"mnist_mlp", "zero2,tensor-parallel=w1:1", {"data=2,model=2", "data=2,model=4"}},
        Case{"mnist_mlp", "zero3,tensor-parallel=w1:1,accumulate=2", {"data=2,model=2", "data=2,model=4"}}),
    nameOf);

} // namespace
