// Variables on GPUs begin with the bits that they have on CPUs, and are nowhere on the host.
#include "runtime/artifact/GpuSizes.h"
#include "runtime/collective/Transport.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/RunOnce.h"
#include "test/unit/artifact/StackedPlan.h"
#include "test/unit/device/cuda/BareDevice.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::rt::test;
using namespace dgc::testing;

namespace {
/// A program that does nothing, for two workers, and variables: a large one, cut by `axes` and with padding if these are
/// columns; a stacked one; others of several types and a stored one.
fb::PlanT planOf(fb::InitKind init, const std::vector<std::vector<uint32_t>> &axes) {
  fb::PlanT plan = samplePlan();
  plan.kernels.clear();
  plan.object_section = -1;
  plan.shared_bytes = 0; // workers do not meet
  plan.programs.clear();
  plan.programs.push_back(std::make_unique<fb::ProgramT>());
  plan.programs[0]->name = "main";
  addInitialSection(plan, 20, -3.0F);
  auto begin = [&](fb::VariableT &v, double a, double b, uint64_t id) {
    v.init = init;
    v.a = a;
    v.b = b;
    v.rng_id = id;
  };
  constexpr int64_t rows = 1300, columns = 1001; // several pieces, for each of two workers
  fb::VariableT &large = addVariable(plan, "large", {rows, columns},
                                     {axes[0].empty() ? rows : rows / 2, axes[1].empty() ? columns : columns / 2 + 1});
  begin(large, 0.5, 2, 9);
  large.sharding = sharding(axes);
  fb::VariableT &stacked =
      addVariable(plan, "layer.*.w", {3, 5, 32}, {3, axes[0].empty() ? 5 : 3, axes[1].empty() ? 32 : 16});
  begin(stacked, 0.5, 2, 20);
  stacked.rng_strides = {7};
  stacked.sharding = sharding({{}, axes[0], axes[1]});
  for (fb::DType dtype : {fb::DType::F64, fb::DType::BF16, fb::DType::F16, fb::DType::I64}) {
    fb::VariableT &v = addVariable(plan, std::string("typed_") + fb::EnumNameDType(dtype), {11, 6}, {11, 12});
    plan.variable_buffers.back()->dtype = dtype;
    plan.variable_buffers.back()->shape = {11, 6}; // with room for elements of 8 bytes
    begin(v, 1, 3, 100 + static_cast<uint64_t>(dtype));
    if (dtype == fb::DType::I64) // which are not drawn
      v.init = fb::InitKind::Constant;
  }
  fb::VariableT &stored = addVariable(plan, "stored", {16}, {16});
  stored.init = fb::InitKind::Stored;
  stored.stored = 8;
  return plan;
}

const std::vector<std::vector<uint32_t>> whole = {{}, {}}, rows = {{0}, {}}, columns = {{}, {0}};

TEST(CudaInitialize, TheBitsAreThoseOfTheCpu) {
  using enum fb::InitKind;
  for (const auto &axes : {whole, rows, columns})
    for (fb::InitKind init : {Zeros, Constant, Uniform, Normal, HeNormal}) {
      SCOPED_TRACE(std::string(fb::EnumNameInitKind(init)) + (&axes == &rows ? " rows" : ""));
      const std::vector<uint8_t> plan = *finishPlan(planOf(init, axes));
      RunOnceOptions options;
      options.steps = 0;
      options.seed = 7;
      // One that is given, beside those that begin by themselves.
      std::vector<float> given(5 * 32, 0.125F);
      options.variables["layer.1.w"] = HostArray::of({5, 32}, given);
      auto onCpu = runOnce(plan, {}, options);
      ASSERT_TRUE(onCpu.ok()) << onCpu.status();
      std::vector<std::shared_ptr<FakeLog>> logs = {std::make_shared<FakeLog>(), std::make_shared<FakeLog>()};
      options.threads = 3;
      options.makeDevice = [&](const Artifact &artifact, int, int rank) {
        return bareDevice(artifact, logs[static_cast<size_t>(rank)]);
      };
      auto onGpu = runOnce(plan, {}, options);
      ASSERT_TRUE(onGpu.ok()) << onGpu.status();
      EXPECT_EQ(onGpu->variables.size(), 1U + 1 + 3 + 4 + 1);
      for (const auto &[name, array] : onCpu->variables)
        EXPECT_TRUE(onGpu->variables.at(name).bytes == array.bytes) << name;
      for (const auto &log : logs) {
        EXPECT_EQ(log->violations, std::vector<std::string>());
        EXPECT_EQ(log->mostPinnedBytes, gpu::transferBytes);
      }
    }
}

TEST(CudaInitialize, NothingIsOnTheHost) {
  auto artifact = *loadBytes(*finishPlan(planOf(fb::InitKind::Normal, rows)));
  Abort abort;
  TransportOptions transportOptions;
  transportOptions.sharedBytes = artifact->plan().shared_bytes();
  auto transports = *createInProcessTransports(2, transportOptions, abort);
  ExecutorOptions options;
  options.makeDevice = [&](const Artifact &plan, int, int) { return bareDevice(plan, std::make_shared<FakeLog>()); };
  auto executor = *Executor::create(*artifact, *transports[1], options);
  ASSERT_TRUE(executor->initializeVariables().ok());
  auto isZero = [](const VariableView &view) {
    return std::all_of(view.memory.begin(), view.memory.end(), [](std::byte b) { return b == std::byte{0}; });
  };
  for (const VariableView &view : executor->variables())
    EXPECT_TRUE(isZero(view)) << view.name;
  ASSERT_TRUE(executor->downloadVariables().ok());
  for (const VariableView &view : executor->variables())
    EXPECT_FALSE(isZero(view)) << view.name;
}
} // namespace
