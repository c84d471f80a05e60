// Graphs of cuDNN: how its interface is used, against a fake; and, where DGC_TEST_CUDNN names a folder with a real one
// (9.8 or newer), whether that has engines for the graphs. Neither needs a GPU.
#include "runtime/base/ExitCode.h"
#include "runtime/device/cuda/Dnn.h"
#include "test/unit/device/cuda/FakeCudnn.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::rt::cuda;
using namespace dgc::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

/// Dimensions [n, c, spatial..] with c the last one in memory.
DnnTensor channelsLast(DType type, std::vector<int64_t> dims, Address data) {
  DnnTensor tensor{type, dims, std::vector<int64_t>(dims.size(), 1), data, false, {}};
  int64_t step = dims[1];
  for (size_t dim = dims.size(); dim-- > 2; step *= dims[dim])
    tensor.strides[dim] = step;
  tensor.strides[0] = step;
  return tensor;
}

/// A convolution of n images of size x size.
struct Shape {
  int64_t n, size, in, out, window, stride, low, high;
};
DnnConvolution convolutionOf(const Shape &s, DType type, ConvolutionKind kind, int64_t groups = 1) {
  int64_t size = (s.size + s.low + s.high - s.window) / s.stride + 1;
  DnnConvolution c;
  c.kind = kind;
  c.src = channelsLast(type, {s.n, s.in, s.size, s.size}, 0x1000);
  c.weights = channelsLast(type, {s.out, s.in / groups, s.window, s.window}, 0x2000);
  c.dst = channelsLast(type, {s.n, s.out, size, size}, 0x3000);
  c.strides = {s.stride, s.stride};
  c.padLow = {s.low, s.low};
  c.padHigh = {s.high, s.high};
  c.dilation = {1, 1};
  return c;
}
constexpr Shape kShape{2, 8, 4, 6, 3, 1, 0, 1};

class FakeCudnnTest : public ::testing::Test {
protected:
  void SetUp() override {
    auto library = Cudnn::open(FakeCudnn::api());
    ASSERT_TRUE(library.ok()) << library.status();
    dnn = makeDnn(*std::move(library));
  }
  void TearDown() override {
    dnn.reset();
    EXPECT_EQ(fake.alive(), 0u);
    EXPECT_FALSE(fake.hasHandle);
  }
  size_t chosen(const DnnConvolution &convolution) {
    auto prepared = dnn->prepare(convolution);
    EXPECT_TRUE(prepared.ok()) << prepared.status();
    if (!prepared.ok() || !(*prepared)->run(nullptr, 0x9000).ok())
      return 99;
    return fake.runs.back().engine;
  }

  FakeCudnn fake;
  std::unique_ptr<Dnn> dnn;
};

TEST_F(FakeCudnnTest, TakesTheFirstEngineThatIsAllowed) {
  fake.engines[kDnnHeuristicA] = {{{kDnnTensorCore, kDnnDownConvert}, 0},
                                  {{kDnnNondeterministic}, 0},
                                  {{}, int64_t{1} << 40},
                                  {{}, 0, false},
                                  {{}, 256}};
  EXPECT_EQ(chosen(convolutionOf(kShape, DType::F32, ConvolutionKind::Forward)), 4u);
  DnnConvolution tf32 = convolutionOf(kShape, DType::F32, ConvolutionKind::Forward);
  tf32.tf32 = true;
  EXPECT_EQ(chosen(tf32), 0u);
  // 16 bits are rounded no more; tensor cores are theirs.
  EXPECT_EQ(chosen(convolutionOf(kShape, DType::BF16, ConvolutionKind::BackwardData)), 4u);
  fake.engines[kDnnHeuristicA][0].notes = {kDnnTensorCore};
  EXPECT_EQ(chosen(convolutionOf(kShape, DType::F16, ConvolutionKind::BackwardFilter)), 0u);
  EXPECT_THAT(fake.asked, ElementsAre(kDnnHeuristicA, kDnnHeuristicA, kDnnHeuristicA, kDnnHeuristicA));
}

TEST_F(FakeCudnnTest, AsksOtherHeuristicsBeforeItGivesUp) {
  fake.engines[kDnnHeuristicFallback] = {{{}, 0}};
  EXPECT_EQ(chosen(convolutionOf(kShape, DType::F32, ConvolutionKind::Forward)), 0u);
  EXPECT_THAT(fake.asked, ElementsAre(kDnnHeuristicA, kDnnHeuristicB, kDnnHeuristicFallback));
  fake.engines[kDnnHeuristicFallback][0].supports = false;
  auto prepared = dnn->prepare(convolutionOf(kShape, DType::BF16, ConvolutionKind::Forward));
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(exitCodeOf(prepared.status()), ExitCode::Machine);
  EXPECT_THAT(std::string(prepared.status().message()),
              HasSubstr("cuDNN has no engine for a convolution, bf16, 2x4x8x8 by 6x4x3x3: cuDNN: a convolution"));
  EXPECT_THAT(std::string(prepared.status().message()), HasSubstr("this engine cannot"));
}

// Graphs that are alike share their plan; each runs with addresses of its own.
TEST_F(FakeCudnnTest, BindsAddressesWhenItRuns) {
  fake.engines[kDnnHeuristicA] = {{{}, 512}};
  DnnConvolution first = convolutionOf(kShape, DType::F32, ConvolutionKind::Forward), second = first;
  first.hasBias = second.hasBias = first.relu = second.relu = true;
  first.bias = second.bias = 0x4000;
  second.dst.data = 0x5000;
  auto a = dnn->prepare(first), b = dnn->prepare(second);
  ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  EXPECT_EQ(fake.graphs, 1);
  EXPECT_EQ((*a)->workspaceBytes(), 512u);
  int stream = 0;
  ASSERT_TRUE((*b)->run(&stream, 0x9000).ok() && (*a)->run(&stream, 0x8000).ok());
  auto at = [](uintptr_t address) { return reinterpret_cast<void *>(address); };
  EXPECT_EQ(fake.runs[0].stream, &stream);
  EXPECT_EQ(fake.runs[0].workspace, at(0x9000));
  EXPECT_THAT(fake.runs[0].pointers, ElementsAre(at(0x1000), at(0x2000), at(0x4000), at(0x5000)));
  EXPECT_EQ(fake.runs[1].workspace, at(0x8000));
  EXPECT_THAT(fake.runs[1].pointers, ElementsAre(at(0x1000), at(0x2000), at(0x4000), at(0x3000)));
  second.padLow = {1, 1};
  second.padHigh = {0, 0};
  ASSERT_TRUE(dnn->prepare(second).ok());
  EXPECT_EQ(fake.graphs, 2);
}

// cuDNN has two spatial dimensions at least.
TEST_F(FakeCudnnTest, TakesSequencesAsImages) {
  fake.engines[kDnnHeuristicA] = {{{}, 0}};
  DnnConvolution c;
  c.src = channelsLast(DType::F32, {2, 4, 9}, 0x1000);
  c.weights = channelsLast(DType::F32, {6, 4, 3}, 0x2000);
  c.dst = channelsLast(DType::F32, {2, 6, 7}, 0x3000);
  c.strides = c.dilation = {1};
  c.padLow = c.padHigh = {0};
  EXPECT_EQ(chosen(c), 0u);
}

/// A GPU as cuDNN describes one: an H200, or one of another architecture with its numbers.
std::string deviceOf(int architecture) {
  return "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,"
         "\"multiProcessorCount\":132,\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,"
         "\"maxSharedMemoryPerBlockOptin\":232448,\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"
         "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,"
         "\"supportCoopLaunch\":1,\"totalGlobalMem\":150754820096,\"smClockRateKHz\":1980000,"
         "\"memClockRateKHz\":3201000,\"l2CacheSize\":62914560,\"cudaDeviceId\":0,\"deviceVer\":" +
         std::to_string(architecture * 10) + ",\"driverVer\":13000,\"deviceName\":\"NVIDIA H200\"}";
}

TEST(RealCudnn, HasEnginesForAllConvolutions) {
  const char *folder = std::getenv("DGC_TEST_CUDNN");
  if (!folder)
    GTEST_SKIP() << "DGC_TEST_CUDNN names no folder with cuDNN";
  ::setenv("DGC_CUDA_LIBS", folder, 1);
  for (int architecture : {80, 90, 100}) {
    auto library = Cudnn::openForDevice(deviceOf(architecture));
    ASSERT_TRUE(library.ok()) << library.status();
    std::unique_ptr<Dnn> dnn = makeDnn(*std::move(library));
    // Those of ResNet-50, the first with 3 channels; then odd ones.
    std::vector<Shape> shapes{{256, 224, 3, 64, 7, 2, 3, 3}, {5, 9, 5, 7, 2, 2, 0, 1}, {32, 28, 1, 32, 3, 1, 0, 0}};
    for (int64_t size = 56, width = 64; size >= 7; size /= 2, width *= 2) {
      int64_t before = width == 64 ? 64 : 2 * width; // channels and size of the stage before
      int64_t stride = width == 64 ? 1 : 2;
      shapes.push_back({256, size * stride, before, width, 1, 1, 0, 0});
      shapes.push_back({256, size * stride, width, width, 3, stride, 1, 1});
      shapes.push_back({256, size * stride, before, width * 4, 1, stride, 0, 0});
      shapes.push_back({256, size, width, width * 4, 1, 1, 0, 0});
      shapes.push_back({256, size, width * 4, width, 1, 1, 0, 0});
      shapes.push_back({256, size, width, width, 3, 1, 1, 1});
    }
    for (const Shape &shape : shapes)
      for (DType type : {DType::F32, DType::BF16, DType::F16})
        for (int bias : {0, 1, 2})
          for (auto kind : {ConvolutionKind::Forward, ConvolutionKind::BackwardData, ConvolutionKind::BackwardFilter}) {
            DnnConvolution convolution = convolutionOf(shape, type, kind);
            convolution.hasBias = bias > 0;
            convolution.relu = bias > 1;
            if (bias && kind != ConvolutionKind::Forward)
              continue;
            auto prepared = dnn->prepare(convolution);
            EXPECT_TRUE(prepared.ok()) << "sm_" << architecture << ": " << prepared.status();
          }
    for (DType type : {DType::F32, DType::BF16, DType::F16})
      for (auto kind : {ConvolutionKind::Forward, ConvolutionKind::BackwardData, ConvolutionKind::BackwardFilter})
        for (int64_t groups : {2, 32}) {
          auto prepared = dnn->prepare(convolutionOf({8, 28, 32, 64, 3, 1, 1, 1}, type, kind, groups));
          EXPECT_TRUE(prepared.ok()) << "sm_" << architecture << ": " << prepared.status();
        }
  }
}

} // namespace
