// Long products of f32 on a fake GPU, whose library adds up term after term: the error against f64 is under 4 units in
// the last place for each doubling of the length, which that of a single call is not.
#include "test/unit/device/cuda/FakeWorkers.h"

#include <gmock/gmock.h>
#include <numeric>
#include <random>

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::testing;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

namespace {

using Terms = std::vector<std::pair<float, float>>;

/// Units in the last place of f32, at `expected`, for each doubling of the number of terms.
double errorOf(float actual, double expected, size_t terms) {
  return std::abs(actual - expected) / std::ldexp(1.0, std::ilogb(expected) - 23) /
         std::log2(static_cast<double>(terms));
}

double exactSum(const Terms &terms) {
  double sum = 0;
  for (auto [a, b] : terms)
    sum += static_cast<double>(a) * b;
  return sum;
}

float sumInOrder(const Terms &terms) {
  float sum = 0;
  for (auto [a, b] : terms)
    sum = static_cast<float>(sum + static_cast<double>(a) * b);
  return sum;
}

/// Positive numbers.
std::vector<float> randomNumbers(int64_t count, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float &value : values)
    value = std::ldexp(static_cast<float>(rng() >> 8) + 1, -24);
  return values;
}

/// How many terms each product of a plan adds up.
std::vector<uint64_t> lengthsOfCalls(const std::vector<uint8_t> &plan) {
  std::vector<uint64_t> lengths;
  auto artifact = loadBytes(plan);
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  for (const artifact::Program *program : *(*artifact)->plan().programs())
    for (const artifact::Step *step : *program->steps())
      if (const artifact::Matmul *matmul = step->action_as_Matmul())
        lengths.push_back(matmul->k());
  return lengths;
}

/// A product of two operands, with where the factors of term l of result i of batch b (row i / columns, column i %
/// columns) are in them.
struct Product {
  const char *name;
  std::vector<int64_t> left, right;
  std::string text; // %0 of %a and %b
  std::vector<int64_t> result;
  int64_t batch, rows, columns, terms;
  std::function<int64_t(int64_t b, int64_t row, int64_t l)> leftIndex;
  std::function<int64_t(int64_t b, int64_t column, int64_t l)> rightIndex;
};

std::string typeOf(const std::vector<int64_t> &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

void check(const Product &p) {
  SCOPED_TRACE(p.name);
  auto elements = [](const std::vector<int64_t> &shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  };
  const std::string a = typeOf(p.left), b = typeOf(p.right), result = typeOf(p.result);
  auto plan = compileForFakeGpu("func.func @f(%a: " + a + ", %b: " + b + ") -> " + result + " {\n" + p.text + " : " +
                                a + ", " + b + "\nreturn %0 : " + result + "\n}");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(lengthsOfCalls(*plan), AllOf(SizeIs(1), Each(Le(2048u))));

  std::vector<float> left = randomNumbers(elements(p.left), 1), right = randomNumbers(elements(p.right), 2);
  auto log = std::make_shared<FakeLog>();
  RunOnceOptions run;
  run.makeDevice = fakeDevice(log);
  auto ran = runOnce(*plan, {{"arg0", HostArray::of(p.left, left)}, {"arg1", HostArray::of(p.right, right)}}, run);
  ASSERT_TRUE(ran.ok()) << ran.status();
  EXPECT_THAT(log->violations, IsEmpty());
  std::vector<float> actual = ran->outputs.at("result0").as<float>();
  ASSERT_EQ(int64_t(actual.size()), p.batch * p.rows * p.columns);
  double worstInOrder = 0;
  for (int64_t i = 0; i < int64_t(actual.size()); ++i) {
    const int64_t batch = i / (p.rows * p.columns), row = i / p.columns % p.rows, column = i % p.columns;
    Terms terms;
    for (int64_t l = 0; l < p.terms; ++l)
      terms.emplace_back(left[static_cast<size_t>(p.leftIndex(batch, row, l))],
                         right[static_cast<size_t>(p.rightIndex(batch, column, l))]);
    const double expected = exactSum(terms);
    EXPECT_LT(errorOf(actual[static_cast<size_t>(i)], expected, terms.size()), 4) << "element " << i;
    worstInOrder = std::max(worstInOrder, errorOf(sumInOrder(terms), expected, terms.size()));
  }
  EXPECT_GT(worstInOrder, 4) << "terms for which one call would do";
}

// The gradient of weights: batch and tokens are added up.
TEST(CudaLongProducts, GradientOfWeights) {
  check({.name = "[b, t, m] by [b, t, n]",
         .left = {40, 5000, 3},
         .right = {40, 5000, 5},
         .text = "%0 = dgc.dot_general %a, %b contract [0, 1] x [0, 1]",
         .result = {3, 5},
         .batch = 1,
         .rows = 3,
         .columns = 5,
         .terms = 200000,
         .leftIndex = [](int64_t, int64_t row, int64_t l) { return l * 3 + row; },
         .rightIndex = [](int64_t, int64_t column, int64_t l) { return l * 5 + column; }});
}

// The sum is along the last dimension of an operand, or of both: the chunks are in the middle of rows.
TEST(CudaLongProducts, AlongRows) {
  check({.name = "[m, k] by [k, n]",
         .left = {4, 200000},
         .right = {200000, 3},
         .text = "%0 = dgc.dot_general %a, %b contract [1] x [0]",
         .result = {4, 3},
         .batch = 1,
         .rows = 4,
         .columns = 3,
         .terms = 200000,
         .leftIndex = [](int64_t, int64_t row, int64_t l) { return row * 200000 + l; },
         .rightIndex = [](int64_t, int64_t column, int64_t l) { return l * 3 + column; }});
  check({.name = "[k] by [n, k]",
         .left = {200000},
         .right = {13, 200000},
         .text = "%0 = dgc.dot_general %a, %b contract [0] x [1]",
         .result = {13},
         .batch = 1,
         .rows = 1,
         .columns = 13,
         .terms = 200000,
         .leftIndex = [](int64_t, int64_t, int64_t l) { return l; },
         .rightIndex = [](int64_t, int64_t column, int64_t l) { return column * 200000 + l; }});
}

// The number of terms is a prime: zeros are appended, which the kernels do.
TEST(CudaLongProducts, WhoseLengthHasNoDivisor) {
  check({.name = "[m, k] by [k, n], k prime",
         .left = {7, 200003},
         .right = {200003, 2},
         .text = "%0 = dgc.dot_general %a, %b contract [1] x [0]",
         .result = {7, 2},
         .batch = 1,
         .rows = 7,
         .columns = 2,
         .terms = 200003,
         .leftIndex = [](int64_t, int64_t row, int64_t l) { return row * 200003 + l; },
         .rightIndex = [](int64_t, int64_t column, int64_t l) { return l * 2 + column; }});
}

// Batches stay: the chunks are a second batch dimension.
TEST(CudaLongProducts, OfBatches) {
  check({.name = "[m, g, k] by [g, k, n]",
         .left = {3, 2, 100000},
         .right = {2, 100000, 4},
         .text = "%0 = dgc.dot_general %a, %b batch [1] x [0] contract [2] x [1]",
         .result = {2, 3, 4},
         .batch = 2,
         .rows = 3,
         .columns = 4,
         .terms = 100000,
         .leftIndex = [](int64_t b, int64_t row, int64_t l) { return (row * 2 + b) * 100000 + l; },
         .rightIndex = [](int64_t b, int64_t column, int64_t l) { return (b * 100000 + l) * 4 + column; }});
}

// A dense layer with a bias and relu: these are behind the sum of the chunks.
TEST(CudaLongProducts, BehindWhichAreABiasAndRelu) {
  const std::string text = R"(
func.func @f(%x: tensor<6x4099xf32>, %w: tensor<4099x3xf32>, %b: tensor<3xf32>) -> tensor<6x3xf32> {
  %zero = dgc.constant dense<0.0> : tensor<6x3xf32>
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<6x4099xf32>, tensor<4099x3xf32>
  %1 = dgc.broadcast_in_dim %b dims [1] to [6, 3] : tensor<3xf32>
  %2 = dgc.add %0, %1 : tensor<6x3xf32>
  %3 = dgc.maximum %2, %zero : tensor<6x3xf32>
  return %3 : tensor<6x3xf32>
})";
  const std::vector<float> x = randomNumbers(6 * 4099, 1), w = randomNumbers(4099 * 3, 2), b = {-1500, 7, -1020};
  auto plan = compileForFakeGpu(text);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(lengthsOfCalls(*plan), AllOf(SizeIs(1), Each(Le(2048u))));
  auto log = std::make_shared<FakeLog>();
  RunOnceOptions run;
  run.makeDevice = fakeDevice(log);
  NamedArrays inputs{
      {"arg0", HostArray::of({6, 4099}, x)}, {"arg1", HostArray::of({4099, 3}, w)}, {"arg2", HostArray::of({3}, b)}};
  auto ran = runOnce(*plan, inputs, run);
  ASSERT_TRUE(ran.ok()) << ran.status();
  EXPECT_THAT(log->violations, IsEmpty());
  std::vector<float> actual = ran->outputs.at("result0").as<float>();
  ASSERT_EQ(actual.size(), 18u);
  int positive = 0;
  for (size_t i = 0; i < 18; ++i) {
    double expected = b[i % 3];
    for (size_t l = 0; l < 4099; ++l)
      expected += static_cast<double>(x[i / 3 * 4099 + l]) * w[l * 3 + i % 3];
    EXPECT_NEAR(actual[i], std::max(expected, 0.0), 4 * std::log2(4099) * 0x1p-13) << i; // sums are below 2048
    positive += actual[i] > 0;
  }
  EXPECT_GT(positive, 6);
  EXPECT_LT(positive, 18);
}

// What each worker adds up of a gradient is the sum of its chunks, of which the all-reduce makes the whole.
TEST(CudaLongProducts, OfSeveralWorkers) {
  const std::string text = R"(
dgc.model @m {
  %x = dgc.input "x" : tensor<9000x5xf32>
  %t = dgc.input "t" : tensor<9000x3xf32>
  %w = dgc.variable "w" zeros : tensor<5x3xf32>
  %y = dgc.dot_general %x, %w contract [1] x [0]
  %loss = dgc.mean_squared_error %y, %t
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 1
})";
  const std::vector<float> x = randomNumbers(9000 * 5, 1), t = randomNumbers(9000 * 3, 2);
  NamedArrays inputs{{"x", HostArray::of({9000, 5}, x)}, {"t", HostArray::of({9000, 3}, t)}};
  ExecuteOptions options;
  options.from = "input";
  options.mesh = "data=2";
  options.run.program = "train";
  auto plan = compileForFakeGpu(text, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(lengthsOfCalls(*plan), AllOf(Contains(1500u), Each(Le(2048u)))); // 4500 terms for each worker
  auto logs = newLogs(2);
  options.run.makeDevice = fakeDevices(logs);
  auto ran = runOnce(*plan, inputs, options.run);
  ASSERT_TRUE(ran.ok()) << ran.status();
  expectClean(logs);
  // The weights begin at zero, and a step adds twice the mean of x t.
  std::vector<float> w = ran->variables.at("w").as<float>();
  ASSERT_EQ(w.size(), 15u);
  for (size_t i = 0; i < 15; ++i) {
    double sum = 0;
    for (size_t l = 0; l < 9000; ++l)
      sum += static_cast<double>(x[l * 5 + i / 3]) * t[l * 3 + i % 3];
    EXPECT_LT(errorOf(w[i], 2 * sum / (9000 * 3), 9000), 4) << i;
  }
}

} // namespace
