// Layers on several workers: attention with masks, grouped heads and rotary embeddings, mixtures of experts, convolutions of
// other ranks, transposed and depthwise ones. Over examples, over places, over channels and over experts they train what one
// device does.

#include "test/unit/oracle/Oracle.h"

using namespace dgc::testing;
using namespace dgc;

namespace {

/// Capital names stand for annotations.
const char *const kSequences = R"(
dgc.model @sequences {
  %x = dgc.input "x" OF_INPUT : tensor<?x6x8xf32>
  %y = dgc.input "y" : tensor<?x6x8xf32>
  %length = dgc.input "length" : tensor<?xi32>
  %wq = dgc.variable "wq" glorot_uniform : tensor<8x8xf32>
  %wk = dgc.variable "wk" glorot_uniform : tensor<8x4xf32>
  %wv = dgc.variable "wv" glorot_uniform : tensor<8x4xf32>
  %wo = dgc.variable "wo" glorot_uniform : tensor<8x8xf32>
  %bias = dgc.variable "bias" normal 0 0.3 : tensor<4x1x6xf32>
  %wg = dgc.variable "wg" glorot_uniform : tensor<8x8xf32>
  %router = dgc.variable "router" normal 0 1 : tensor<8x4xf32>
  %w1 = dgc.variable "w1" normal 0 0.4 OF_WEIGHTS : tensor<4x8x12xf32>
  %b1 = dgc.variable "b1" normal 0 0.4 OF_BIASES : tensor<4x12xf32>
  %w2 = dgc.variable "w2" normal 0 0.4 OF_WEIGHTS : tensor<4x12x8xf32>
  %b2 = dgc.variable "b2" normal 0 0.4 OF_BIASES : tensor<4x8xf32>
  %places = dgc.iota dim 0 : tensor<6xi32>
  %ends = dgc.expand_dims %length at 1
  %there = dgc.compare lt %places, %ends
  %mask = dgc.reshape %there to [-1, 1, 1, 6]
  %q0 = dgc.dense %x, %wq
  %k0 = dgc.dense %x, %wk
  %v = dgc.dense %x, %wv
  %q = dgc.rotary_embedding %q0 heads 4
  %k = dgc.rotary_embedding %k0 heads 2
  %a0 = dgc.attention %q, %k, %v mask %mask heads 4 kv_heads 2 causal
  %a1 = dgc.attention %q, %k, %v mask %bias heads 4 kv_heads 2
  %a2 = dgc.attention %q, %k, %v heads 4 kv_heads 2
  %a3 = dgc.add %a0, %a1
  %a = dgc.add %a2, %a3
  %o = dgc.dense %a, %wo
  %r = dgc.add %x, %o
  %g = dgc.dense %r, %wg
  %s = dgc.swiglu %g, %r
  %e, %balance = dgc.mixture_of_experts %s, %router, %w1, %b1, %w2, %b2 top 2 capacity 0.8
  %z = dgc.add %r, %e
  %square = dgc.mean_squared_error %z, %y
  %small = dgc.scale %balance by 0.1
  %loss = dgc.add %square, %small
  dgc.loss %loss
  dgc.output "z" %z
  dgc.optimizer sgd learning_rate 0.1
}
)";

const char *const kImages = R"(
dgc.model @images {
  %image = dgc.input "image" OF_INPUT : tensor<?x8x6x4xf32>
  %words = dgc.input "words" : tensor<?x3xi32>
  %label = dgc.input "label" : tensor<?xi32>
  %k1 = dgc.variable "k1" normal 0 0.4 OF_WEIGHTS : tensor<3x3x1x4xf32>
  %k2 = dgc.variable "k2" glorot_uniform : tensor<1x1x4x6xf32>
  %scale = dgc.variable "scale" constant 1.5 : tensor<6xf32>
  %offset = dgc.variable "offset" constant 0.1 : tensor<6xf32>
  %k3 = dgc.variable "k3" glorot_uniform : tensor<3x2x3x6xf32>
  %k4 = dgc.variable "k4" glorot_uniform : tensor<5x3x4xf32>
  %b4 = dgc.variable "b4" normal 0 0.2 : tensor<4xf32>
  %k5 = dgc.variable "k5" glorot_uniform : tensor<2x2x2x2x4xf32>
  %table = dgc.variable "table" normal 0 1 : tensor<7x3xf32>
  %w = dgc.variable "w" glorot_uniform : tensor<8x3xf32>
  %c1 = dgc.conv2d %image, %k1 padding same groups 4
  %c2 = dgc.conv2d %c1, %k2
  %n = dgc.instance_norm %c2, %scale, %offset
  %t = dgc.conv_transpose2d %n, %k3 strides 2 padding same
  %line = dgc.reshape %t to [-1, 192, 3]
  %c4 = dgc.conv1d %line, %k4, %b4 strides 2 padding same
  %room = dgc.reshape %c4 to [-1, 4, 4, 6, 4]
  %c5 = dgc.conv3d %room, %k5 padding same groups 2
  %mean = dgc.global_avg_pool %c5
  %most = dgc.global_max_pool %c5
  %both = dgc.concatenate %mean, %most dim 1
  %h = dgc.dense %both, %w
  %best, %numbers = dgc.top_k %h k 2
  %sum = dgc.reduce sum %best dims [1]
  %column = dgc.expand_dims %sum at 1
  %bag = dgc.embedding_bag %table, %words mean
  %logits0 = dgc.add %h, %bag
  %logits = dgc.add %logits0, %column
  %loss0 = dgc.cross_entropy %logits, %label
  %squares = dgc.multiply %best, %best
  %others = dgc.mean %squares
  %loss = dgc.add %loss0, %others
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
)";

/// The model with its annotations: `parts` says what stands for each name, which is a sharding over @mesh.
std::string annotated(std::string text, const std::string &mesh, const std::map<std::string, std::string> &parts) {
  for (const char *name : {"OF_INPUT", "OF_WEIGHTS", "OF_BIASES"}) {
    auto part = parts.find(name);
    std::string with = part == parts.end() ? "" : "{dist.sharding = #dist.sharding<@mesh, " + part->second + ">}";
    text = std::regex_replace(text, std::regex(name), with);
  }
  return mesh.empty() ? text : "dist.mesh @mesh <" + mesh + ">\n" + text;
}

NamedArrays inputsOf(int step, int64_t size) {
  std::mt19937 rng(700 + step);
  std::vector<float> x(size * 6 * 8), y(x.size()), image(size * 8 * 6 * 4);
  std::vector<int32_t> length(size), words(size * 3), label(size);
  for (std::vector<float> *values : {&x, &y, &image})
    for (float &value : *values)
      value = float(rng() % 2001) / 1000 - 1;
  for (int32_t &value : length)
    value = int32_t(rng() % 7); // some have no place that is there
  for (int32_t &value : words)
    value = int32_t(rng() % 9) - 1;
  for (int32_t &value : label)
    value = int32_t(rng() % 3);
  return {{"x", HostArray::of({size, 6, 8}, x)},      {"y", HostArray::of({size, 6, 8}, y)},
          {"length", HostArray::of({size}, length)},  {"image", HostArray::of({size, 8, 6, 4}, image)},
          {"words", HostArray::of({size, 3}, words)}, {"label", HostArray::of({size}, label)}};
}

struct Way {
  const char *name, *mesh, *strategy;
  int64_t size = 12;
  int validCount = -1;
};

void PrintTo(const Way &way, std::ostream *os) { *os << way.name; }

NamedArrays trained(const std::string &text, const std::vector<std::string> &names, TrainOptions how) {
  how.inputs = [=, size = how.size](int step) {
    NamedArrays all = inputsOf(step, size), taken;
    for (const std::string &name : names)
      taken.insert({name, all.at(name)});
    return taken;
  };
  return train(text, how);
}

NamedArrays trained(const std::string &text, const std::vector<std::string> &names, int steps) {
  TrainOptions how{.steps = steps};
  how.size = 12;
  return trained(text, names, how);
}

const std::vector<std::string> ofSequences{"x", "y", "length"}, ofImages{"image", "words", "label"};

class LayersOver : public ::testing::TestWithParam<Way> {};

void expectSame(const std::string &text, const std::vector<std::string> &names, const Way &way) {
  const std::string alone = annotated(text, "", {});
  auto run = [&](const std::string &mesh, const std::string &strategy, int steps) {
    TrainOptions how{.mesh = mesh, .strategy = strategy, .steps = steps, .validCount = way.validCount};
    how.size = way.size;
    return trained(alone, names, how);
  };
  NamedArrays start = run("", "", 0);
  for (int steps : {1, 10})
    EXPECT_LT(distance(run(way.mesh, way.strategy, steps), run("", "", steps), &start), 2e-5) << steps << " steps";
}

TEST_P(LayersOver, SequencesTrainAsOne) { expectSame(kSequences, ofSequences, GetParam()); }
TEST_P(LayersOver, ImagesTrainAsOne) { expectSame(kImages, ofImages, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Ways, LayersOver,
                         ::testing::Values(Way{"Data2", "data=2", "data-parallel"},
                                           Way{"Data3", "data=3", "data-parallel"},
                                           Way{"Uneven2", "data=2", "data-parallel", unevenBatch},
                                           Way{"Uneven3", "data=3", "data-parallel", unevenBatch},
                                           Way{"Short", "data=2", "data-parallel", 12, 7},
                                           Way{"ShortUneven", "data=3", "data-parallel", unevenBatch, 5},
                                           Way{"Zero3", "data=2", "zero3"},
                                           Way{"Accumulate", "data=2", "data-parallel,accumulate=3"},
                                           Way{"AccumulateInALoop", "data=2", "data-parallel,accumulate=6"}),
                         [](const auto &info) { return info.param.name; });

struct Cut {
  const char *name, *mesh;
  std::map<std::string, std::string> parts;
};

void PrintTo(const Cut &cut, std::ostream *os) { *os << cut.name; }

void expectSame(const std::string &text, const std::vector<std::string> &names, const Cut &cut) {
  NamedArrays start = trained(annotated(text, "", {}), names, 0);
  NamedArrays one = trained(annotated(text, "", {}), names, 3);
  EXPECT_LT(distance(trained(annotated(text, cut.mesh, cut.parts), names, 3), one, &start), 2e-5);
}

class SequencesOver : public ::testing::TestWithParam<Cut> {};
TEST_P(SequencesOver, TrainAsOne) { expectSame(kSequences, ofSequences, GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Cuts, SequencesOver,
    ::testing::Values(
        Cut{"Experts2", "model=2", {{"OF_WEIGHTS", R"([{"model"}, {}, {}])"}, {"OF_BIASES", R"([{"model"}, {}])"}}},
        Cut{"Experts3", "model=3", {{"OF_WEIGHTS", R"([{"model"}, {}, {}])"}, {"OF_BIASES", R"([{"model"}, {}])"}}},
        Cut{"ExpertsOverData",
            "data=2",
            {{"OF_INPUT", R"([{"data"}, {}, {}])"},
             {"OF_WEIGHTS", R"([{"data"}, {}, {}])"},
             {"OF_BIASES", R"([{"data"}, {}])"}}},
        Cut{"Places", "space=2", {{"OF_INPUT", R"([{}, {"space"}, {}])"}}},
        Cut{"UnevenPlaces", "space=4", {{"OF_INPUT", R"([{}, {"space"}, {}])"}}}),
    [](const auto &info) { return info.param.name; });

class ImagesOver : public ::testing::TestWithParam<Cut> {};
TEST_P(ImagesOver, TrainAsOne) { expectSame(kImages, ofImages, GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Cuts, ImagesOver,
    ::testing::Values(Cut{"Channels2", "model=2", {{"OF_WEIGHTS", R"([{}, {}, {}, {"model"}])"}}},
                      Cut{"Channels3", "model=3", {{"OF_WEIGHTS", R"([{}, {}, {}, {"model"}])"}}},
                      Cut{"Rows2", "space=2", {{"OF_INPUT", R"([{}, {"space"}, {}, {}])"}}},
                      Cut{"Rows3", "space=3", {{"OF_INPUT", R"([{}, {"space"}, {}, {}])"}}},
                      Cut{"RowsAndColumns", "rows=2, columns=2", {{"OF_INPUT", R"([{}, {"rows"}, {"columns"}, {}])"}}}),
    [](const auto &info) { return info.param.name; });

// Keys and values with fewer heads in an attention that keeps no scores for its gradient.
TEST(Layers, FusedAttentionTrainsTheSame) {
  const std::string text = annotated(kSequences, "", {});
  NamedArrays start = trained(text, ofSequences, 0), one = trained(text, ofSequences, 3);
  TrainOptions how{.steps = 3, .attention = "fused"};
  how.size = 12;
  EXPECT_LT(distance(trained(text, ofSequences, how), one, &start), 2e-5);
}

// Products of 16 bits: near those of f32, and no nearer than these are. Each token is given to all experts: of two that are
// nearly as probable, rounding could take the other one.
TEST(Layers, LowPrecisionIsNear) {
  const std::string all = std::regex_replace(kSequences, std::regex("top 2 capacity 0.8"), "top 4 capacity 1");
  for (const auto &[model, names] : {std::pair(all, ofSequences), {std::string(kImages), ofImages}}) {
    SCOPED_TRACE(names.front());
    const std::string text = annotated(model, "", {});
    NamedArrays start = trained(text, names, 0), exact = trained(text, names, 1);
    TrainOptions how{.precision = "bf16"};
    how.size = 12;
    const double apart = distance(trained(text, names, how), exact, &start);
    EXPECT_LT(apart, 6e-2);
    EXPECT_GT(apart, 1e-4);
  }
}

// What the comparison would find: a token more that an expert takes, a place more that is seen.
TEST(Layers, NegativeControl) {
  const std::string text = annotated(kSequences, "", {});
  NamedArrays start = trained(text, ofSequences, 0), one = trained(text, ofSequences, 1);
  for (auto [from, to] : {std::pair("capacity 0.8", "capacity 0.85"), {"compare lt", "compare le"}}) {
    std::string other = text;
    other.replace(other.find(from), std::string(from).size(), to);
    EXPECT_GT(distance(trained(other, ofSequences, 1), one, &start), 1e-3) << to;
  }
}

} // namespace
