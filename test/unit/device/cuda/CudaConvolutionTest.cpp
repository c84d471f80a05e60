// Convolutions on a fake GPU: what CNNs are trained to, against the CPU.
#include "test/unit/device/cuda/FakeGpus.h"
#include "test/unit/oracle/Oracle.h"

#include <algorithm>
#include <gmock/gmock.h>

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::testing;
using ::testing::IsEmpty;

namespace {

/// How many convolutions were queued.
int64_t convolutions(const FakeLog &log) { return std::count(log.calls.begin(), log.calls.end(), "convolution"); }

TEST(CudaConvolution, TrainsMnistCnnAsTheCpuDoes) {
  const std::string model = *readFile(realDisk(), DGC_SOURCE_DIR "/examples/mnist_cnn.mlir");
  ExecuteOptions options = mnistOptions();
  options.run.steps = 1;
  auto expected = execute(model, {}, options);
  ASSERT_TRUE(expected.ok()) << expected.status();
  auto plan = compileForFakeGpu(model, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto log = std::make_shared<FakeLog>();
  options.run.makeDevice = fakeDevice(log);
  auto result = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(result.ok()) << result.status();
  for (const auto &[name, array] : expected->outputsOfStep[0])
    EXPECT_LE(difference(result->outputsOfStep[0].at(name), array), 1e-5) << name;
  for (const auto &[name, array] : expected->variables)
    EXPECT_LE(difference(result->variables.at(name), array), 1e-5) << name;
  EXPECT_THAT(log->violations, IsEmpty());
  EXPECT_EQ(log->allocatedBytes, 0u);
  // Each ran once when the plan was loaded, and is in the two graphs that take turns.
  EXPECT_EQ(convolutions(*log), 3 * 2);
  EXPECT_EQ(log->replays, 1);
}

// Strides, paddings and dilations that differ by side and dimension, groups, batch norm, and the gradient of the input.
constexpr char kModel[] = R"(
dgc.model @odd {
  %x = dgc.input "x" : tensor<4x9x11x4xf32>
  %label = dgc.input "label" : tensor<4xi32>
  %k1 = dgc.variable "k1" glorot_uniform : tensor<3x2x4x6xf32>
  %c1 = dgc.variable "c1" constant 0.1 : tensor<6xf32>
  %k2 = dgc.variable "k2" glorot_uniform : tensor<3x3x3x4xf32>
  %s = dgc.variable "s" constant 1 : tensor<4xf32>
  %o = dgc.variable "o" zeros : tensor<4xf32>
  %m = dgc.variable "m" zeros : tensor<4xf32>
  %v = dgc.variable "v" constant 1 : tensor<4xf32>
  %w = dgc.variable "w" glorot_uniform : tensor<16x5xf32>
  %a = dgc.conv2d %x, %k1, %c1 strides [2, 1] padding [[0, 1], [2, 0]]
  %r = dgc.relu %a
  %b = dgc.conv2d %r, %k2 padding [[1, 0], [0, 0]] dilation [1, 2] groups 2
  %n, %nm, %nv = dgc.batch_norm %b, %s, %o, %m, %v momentum 0.9 epsilon 1.0e-5
  dgc.assign %m, %nm
  dgc.assign %v, %nv
  %t = dgc.tanh %n
  %p = dgc.max_pool %t window [3, 2] strides [1, 2]
  %f = dgc.flatten %p
  %y = dgc.matmul %f, %w
  %loss = dgc.cross_entropy %y, %label
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
})";

NamedArrays imagesOf(int step) {
  std::vector<float> x(4 * 9 * 11 * 4);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>((i * 37 + static_cast<size_t>(step) * 11 + i / 44 * 5) % 101) / 50 - 1;
  return {{"x", HostArray::of({4, 9, 11, 4}, x)}, {"label", HostArray::of({4}, std::vector<int32_t>{1, 4, 0, 2})}};
}

struct Precision {
  const char *name;
  int steps; // of f16 the first are left out: the loss is scaled too much
  double tolerance;
};
class CudaPrecisions : public ::testing::TestWithParam<Precision> {};

TEST_P(CudaPrecisions, TrainAsTheCpuDoes) {
  ExecuteOptions options;
  options.from = "input";
  options.precision = GetParam().name;
  options.run.program = "train";
  options.run.seed = 7;
  options.run.steps = GetParam().steps;
  options.run.inputsOfStep = imagesOf;
  auto onCpu = compileText(kModel, options), onGpu = compileForFakeGpu(kModel, options);
  ASSERT_TRUE(onCpu.ok() && onGpu.ok()) << onCpu.status() << onGpu.status();
  auto expected = runOnce(*onCpu, imagesOf(0), options.run);
  auto log = std::make_shared<FakeLog>();
  options.run.makeDevice = fakeDevice(log);
  auto result = runOnce(*onGpu, imagesOf(0), options.run);
  ASSERT_TRUE(expected.ok() && result.ok()) << expected.status() << result.status();
  options.run.steps = 0;
  auto initial = runOnce(*onGpu, imagesOf(0), options.run);
  ASSERT_TRUE(initial.ok()) << initial.status();
  EXPECT_LE(distance(result->variables, expected->variables, &initial->variables), GetParam().tolerance);
  EXPECT_GT(difference(result->variables.at("k1"), initial->variables.at("k1")), 1e-4) << "nothing was trained";
  EXPECT_THAT(log->violations, IsEmpty());
  // Two forward, two for filters, one for an input: each once when the plan was loaded, and once in the graph.
  EXPECT_GT(convolutions(*log), 0);
  EXPECT_EQ(convolutions(*log) % 5, 0);
}

INSTANTIATE_TEST_SUITE_P(All, CudaPrecisions,
                         ::testing::Values(Precision{"f32", 2, 1e-5}, Precision{"bf16", 2, 4e-2},
                                           Precision{"f16", 4, 1e-2}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
