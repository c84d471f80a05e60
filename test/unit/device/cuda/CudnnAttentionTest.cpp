// Attention as cuDNN itself sees it: the graphs are compiled for GPUs that are described to it. Nothing runs.
//
// For DGC_TEST_CUDNN=1 only, as cuDNN takes a second for each graph; where it is not installed there is nothing to do.
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/DnnAttention.h"

#include <cstdlib>
#include <dlfcn.h>
#include <gmock/gmock.h>

using namespace dgc::rt;
using namespace dgc::rt::cuda;
using ::testing::HasSubstr;

namespace {

/// A GPU in the words of cuDNN.
std::string described(const std::string &name, int version, int processors, int sharedMemory) {
  return str(R"({"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, )",
             R"("multiProcessorCount": )", processors, R"(, "warpSize": 32, "maxSharedMemoryPerBlock": 49152, )",
             R"("maxSharedMemoryPerBlockOptin": )", sharedMemory, R"(, "reservedSharedMemoryPerBlock": 1024, )",
             R"("maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, )",
             R"("pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": 150754820096, )",
             R"("smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "l2CacheSize": 62914560, "cudaDeviceId": 0, )",
             R"("deviceVer": )", version, R"(, "driverVer": 13000, "deviceName": ")", name, R"("})");
}

class CudnnAttention : public ::testing::Test {
protected:
  void SetUp() override {
    if (!std::getenv("DGC_TEST_CUDNN"))
      GTEST_SKIP() << "only for DGC_TEST_CUDNN=1";
    // cuDNN opens the driver by this name.
    ASSERT_TRUE(::dlopen(DGC_IDLE_LIBCUDA, RTLD_NOW | RTLD_LOCAL)) << ::dlerror();
  }
  static void expectPlans(Cudnn &library, DnnAttention attention) {
    for (bool backward : {false, true}) {
      attention.backward = backward;
      auto prepared = prepareAttention(library, attention);
      ASSERT_TRUE(prepared.ok()) << prepared.status();
      EXPECT_LE((*prepared)->workspaceBytes(), workspaceBytesOf(attention));
      if (backward)
        EXPECT_GT((*prepared)->workspaceBytes(), 0u);
    }
  }
  static std::unique_ptr<Cudnn> open(const std::string &json) {
    auto library = Cudnn::openForDevice(json);
    return library.ok() ? *std::move(library) : nullptr;
  }
};

TEST_F(CudnnAttention, OfGpt2HasAPlanForTheH200) {
  auto library = open(described("NVIDIA H200", 900, 132, 232448));
  if (!library)
    GTEST_SKIP() << "no cuDNN";
  DnnAttention gpt2{.batch = 16, .heads = 12, .to = 1024, .from = 1024, .features = 64, .mixed = 64, .causal = true};
  expectPlans(*library, gpt2);
  gpt2.type = DType::F16;
  expectPlans(*library, gpt2);
  expectPlans(*library, {.batch = 3, .heads = 2, .to = 77, .from = 50, .features = 24, .mixed = 40});
  expectPlans(*library, {.batch = 1, .heads = 1, .to = 7, .from = 7, .features = 8, .mixed = 128, .causal = true});
}

TEST_F(CudnnAttention, HasAPlanForOtherGpus) {
  for (const std::string &gpu : {described("NVIDIA A100", 800, 108, 166912), described("NVIDIA L4", 890, 58, 101376)}) {
    auto library = open(gpu);
    if (!library)
      GTEST_SKIP() << "no cuDNN";
    expectPlans(*library,
                {.batch = 2, .heads = 3, .to = 100, .from = 100, .features = 32, .mixed = 32, .causal = true});
  }
}

// What the library has not, is told with what to do.
TEST_F(CudnnAttention, TooManyFeaturesAreRefused) {
  auto library = open(described("NVIDIA H200", 900, 132, 232448));
  if (!library)
    GTEST_SKIP() << "no cuDNN";
  auto prepared =
      prepareAttention(*library, {.batch = 1, .heads = 1, .to = 64, .from = 64, .features = 60, .mixed = 60});
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(exitCodeOf(prepared.status()), ExitCode::Machine);
  EXPECT_THAT(std::string(prepared.status().message()),
              HasSubstr("install a newer cuDNN, or compile the model with --attention=expanded"));
}

} // namespace
