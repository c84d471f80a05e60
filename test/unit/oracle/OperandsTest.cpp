// Numbers as operands, operands that are broadcast, and ops that have their type written beside them: a model that has
// them against one with constants and broadcast_in_dim in their place, and over several workers.

#include "test/unit/oracle/Oracle.h"

using namespace dgc::testing;
using namespace dgc;

namespace {

/// A capital name stands for an operand: as it is written, or with equal types.
const char *kModel = R"(
dgc.model @operands {
  %x = dgc.input "x" : tensor<BATCHx6x10xf32>
  %y = dgc.input "y" : tensor<BATCHx6x4xf32>
  %w = dgc.variable "w" glorot_uniform : tensor<10x12xf32>
  %v = dgc.variable "v" glorot_uniform : tensor<12x4xf32>
  %s = dgc.variable "s" normal 1 0.3 : tensor<12xf32>
  %p = dgc.variable "p" normal 0 0.3 : tensor<6x1xf32>
  %t = dgc.variable "t" normal 1.5 0.2 : tensor<f32>
  %i = dgc.iota dim 0 : tensor<12xf32>
  DEFINITIONS
  %h = dgc.matmul %x, %w
  %a = dgc.multiply %h, S
  %b = dgc.add P, %a
  %c = dgc.subtract FROM, %b
  %d = dgc.clamp LOW, %c, HIGH
  %even = dgc.compare lt %i, SEVEN
  %e = dgc.select EVEN, %d, ZERO
  %r = dgc.divide %e, T
  %seed = dgc.constant dense<11> : tensor<i64>
  %bits = dgc.rng_bit_generator %seed, %seed id 3 : tensor<OPENx6x12xui32>
  %wide = dgc.convert %bits to f32
  %noise = dgc.scale %wide by 1e-10
  %places = dgc.iota dim 0 : tensor<OPENx6x12xf32>
  %late = dgc.scale %places by 0.01
  %noisy = dgc.add %r, %noise
  %placed = dgc.add %noisy, %late
  %o = dgc.matmul %placed, %v
  %loss = dgc.mean_squared_error %o, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.2
}
)";

std::string fill(std::string text, const std::map<std::string, std::string> &values) {
  for (const auto &[name, value] : values)
    text = std::regex_replace(text, std::regex("\\b" + name), value);
  return text;
}

std::string written(int64_t size) {
  return fill(kModel, {{"BATCH", std::to_string(size)},
                       {"OPEN", "?"},
                       {"DEFINITIONS", ""},
                       {"S\\b", "%s"},
                       {"P\\b", "%p"},
                       {"T\\b", "%t"},
                       {"FROM", "1.5"},
                       {"LOW", "1"},
                       {"HIGH", "1.75"},
                       {"SEVEN", "7"},
                       {"EVEN", "%even"},
                       {"ZERO", "0.0"}});
}

std::string withEqualTypes(int64_t size, const std::string &low = "1.0") {
  std::string definitions = R"(
  %sb = dgc.broadcast_in_dim %s dims [2] to [BATCH, 6, 12]
  %pb = dgc.broadcast_in_dim %p dims [1, 2] to [BATCH, 6, 12]
  %tb = dgc.broadcast_in_dim %t dims [] to [BATCH, 6, 12]
  %one_and_a_half = dgc.constant dense<1.5> : tensor<BATCHx6x12xf32>
  %low = dgc.constant dense<)" +
                            low + R"(> : tensor<BATCHx6x12xf32>
  %high = dgc.constant dense<1.75> : tensor<BATCHx6x12xf32>
  %seven = dgc.constant dense<[7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0]> : tensor<12xf32>
  %zero = dgc.constant dense<0.0> : tensor<BATCHx6x12xf32>
)";
  std::string text = std::regex_replace(std::string(kModel), std::regex("dgc.select EVEN"), "dgc.select %evens");
  text = std::regex_replace(text, std::regex("  %e = "),
                            "  %evens = dgc.broadcast_in_dim %even dims [2] to [BATCH, 6, 12]\n  %e = ");
  text = fill(text, {{"DEFINITIONS", definitions},
                     {"S\\b", "%sb"},
                     {"P\\b", "%pb"},
                     {"T\\b", "%tb"},
                     {"FROM", "%one_and_a_half"},
                     {"LOW", "%low"},
                     {"HIGH", "%high"},
                     {"SEVEN", "%seven"},
                     {"ZERO", "%zero"}});
  return fill(text, {{"BATCH", std::to_string(size)}, {"OPEN", std::to_string(size)}});
}

NamedArrays inputsOf(int step, int64_t size) {
  std::mt19937 rng(300 + step);
  std::vector<float> x(size * 6 * 10), y(size * 6 * 4);
  for (float &value : x)
    value = float(rng() % 2001) / 1000 - 1;
  for (float &value : y)
    value = float(rng() % 2001) / 1000 - 1;
  return {{"x", HostArray::of({size, 6, 10}, x)}, {"y", HostArray::of({size, 6, 4}, y)}};
}

TrainOptions options(const std::string &mesh, const std::string &strategy, int steps, int64_t size = batch) {
  TrainOptions how{.mesh = mesh, .strategy = strategy, .steps = steps};
  how.size = size;
  how.inputs = [size](int step) { return inputsOf(step, size); };
  return how;
}

TEST(Operands, AreThoseOfEqualTypes) {
  for (int steps : {1, 20}) {
    NamedArrays left = train(written(batch), options("", "", steps));
    NamedArrays right = train(withEqualTypes(batch), options("", "", steps));
    ASSERT_EQ(left.size(), 5u);
    EXPECT_EQ(distance(left, right), 0);
  }
}

// What the comparison would find: one of the numbers is another.
TEST(Operands, NegativeControl) {
  NamedArrays left = train(written(batch), options("", "", 1));
  NamedArrays right = train(withEqualTypes(batch, "0.9"), options("", "", 1));
  EXPECT_GT(distance(left, right), 1e-5);
}

struct Way {
  const char *name, *mesh, *strategy;
  int64_t size = batch, microbatches = 0;
  int validCount = -1;
};

class OperandsOver : public ::testing::TestWithParam<Way> {};

TEST_P(OperandsOver, SeveralWorkersAreOne) {
  const Way &way = GetParam();
  for (auto [steps, bound] : {std::pair(1, 1e-6), {100, 1e-5}}) {
    TrainOptions alone = options("", "", steps, way.size), cut = options(way.mesh, way.strategy, steps, way.size);
    cut.microbatches = way.microbatches;
    alone.validCount = cut.validCount = way.validCount;
    NamedArrays start = train(written(way.size), options("", "", 0, way.size));
    EXPECT_LT(distance(train(written(way.size), cut), train(written(way.size), alone), &start), bound);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, OperandsOver,
    ::testing::Values(Way{"Data2", "data=2", "data-parallel"}, Way{"Data3", "data=3", "data-parallel"},
                      Way{"Uneven", "data=4", "data-parallel", unevenBatch},
                      Way{"Short", "data=2", "data-parallel", batch, 0, 17}, Way{"Zero3", "data=3", "zero3"},
                      Way{"Columns", "model=2", "tensor-parallel=w:1"},
                      Way{"UnevenColumns", "model=5", "tensor-parallel=w:1"},
                      Way{"Vectors", "data=2,model=3", "data-parallel,tensor-parallel=w:1,s:0,p:0"},
                      Way{"Accumulate", "", "accumulate=5"}, Way{"Pipeline", "stage=2", "pipeline=1f1b", batch, 4}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
