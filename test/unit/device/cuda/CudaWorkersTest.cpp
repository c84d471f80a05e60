// Several workers on fake GPUs, each a thread: what they compute, against the CPU, and how they use the driver between
// segments of a program.
#include "runtime/artifact/GpuSizes.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/Reader.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Shape.h"
#include "runtime/collective/Mapped.h"
#include "runtime/executor/PlannedMemory.h"
#include "test/unit/device/cuda/FakeWorkers.h"

#include <gmock/gmock.h>

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

namespace {

class CudaWorkers : public ::testing::TestWithParam<Distribution> {};

// mnist_mlp on several GPUs trains as on as many CPUs.
TEST_P(CudaWorkers, TrainAsOnCpus) {
  const Distribution &distribution = GetParam();
  ExecuteOptions options = distribution.options();
  auto expected = execute(mnist(), {}, options);
  ASSERT_TRUE(expected.ok()) << expected.status();
  options.serverTarget = distribution.serversOnGpus(); // servers on CPUs: CudaServersTest
  auto plan = compileForFakeGpu(mnist(), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto logs = newLogs(static_cast<size_t>(distribution.workers));
  options.run.makeDevice = fakeDevices(logs);
  auto result = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(result.ok()) << result.status();
  expectSame(*result, *expected);
  expectClean(logs);
  for (const auto &log : logs) {
    // What is local is recorded once and replayed.
    EXPECT_EQ(log->replays % kSteps, 0);
    EXPECT_LE(log->replays / kSteps, log->graphs);
    EXPECT_GE(log->replays / kSteps, distribution.segments);
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, CudaWorkers, ::testing::ValuesIn(distributions()),
                         [](const auto &info) { return std::string(info.param.name); });

// Micro-batches through stages: values go from GPU to GPU by send and receive.
TEST(CudaStages, TrainAsOnCpus) {
  ExecuteOptions options = mnistOptions();
  options.mesh = "stage=2";
  options.strategy = "pipeline=1f1b";
  options.microbatches = 4;
  auto expected = execute(mnist(), {}, options);
  ASSERT_TRUE(expected.ok()) << expected.status();
  auto plan = compileForFakeGpu(mnist(), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto logs = newLogs(2);
  options.run.makeDevice = fakeDevices(logs);
  auto result = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(result.ok()) << result.status();
  expectSame(*result, *expected);
  expectClean(logs);
}

/// How many steps of a plan's program overlap with others.
int underWay(const std::vector<uint8_t> &plan) {
  auto artifact = loadBytes(plan);
  int count = 0;
  for (const artifact::Step *step : *(*artifact)->program("train")->steps())
    count += step->queue() == 1;
  return count;
}

// Collectives that overlap with other work: segments are launched between their copies.
TEST(CudaOverlap, ComputesTheSame) {
  for (const char *strategy : {"data-parallel", "zero3"}) {
    ExecuteOptions options = deepOptions(300);
    options.strategy = strategy;
    auto expected = execute(deepModel(300), {}, options);
    ASSERT_TRUE(expected.ok()) << expected.status();
    options.overlap = true;
    auto plan = compileForFakeGpu(deepModel(300), options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_GT(underWay(*plan), 0) << strategy;
    auto logs = newLogs(2);
    options.run.makeDevice = fakeDevices(logs);
    auto result = runOnce(*plan, {}, options.run);
    ASSERT_TRUE(result.ok()) << result.status();
    expectSame(*result, *expected);
    expectClean(logs, strategy);
  }
}

// The negative control: when streams do not wait for each other, it is found, on both sides of an exchange.
TEST(CudaOverlap, MissingWaitsAreFound) {
  ExecuteOptions options = deepOptions(20);
  auto plan = compileForFakeGpu(deepModel(20), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto logs = newLogs(2);
  options.run.makeDevice = fakeDevices(logs, [](FakeDriver &driver, int) { driver.ignoreWaits(); });
  (void)runOnce(*plan, {}, options.run);
  EXPECT_THAT(logs[0]->violations, ::testing::Contains(HasSubstr("copy to host does not wait for")));
  EXPECT_THAT(logs[1]->violations, ::testing::Contains(HasSubstr("does not wait for copy to device")));
}

// Whatever call of the driver of one worker fails, that is the error of the run, once; the other worker does not hang,
// and nothing leaks.
TEST(CudaErrors, EveryErrorOfAWorkerEndsAll) {
  ExecuteOptions options = deepOptions(5);
  options.overlap = true;
  auto plan = compileForFakeGpu(deepModel(5), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  int failures = 0;
  for (bool failed = true; failed && failures < 300;) {
    auto logs = newLogs(2);
    int bad = failures % 2;
    options.run.makeDevice = fakeDevices(logs, [&](FakeDriver &driver, int rank) {
      if (rank == bad)
        driver.failAt(failures);
    });
    auto result = runOnce(*plan, {}, options.run);
    failed = !result.ok();
    if (failed)
      EXPECT_THAT(std::string(result.status().message()),
                  AllOf(HasSubstr("rank " + std::to_string(bad)), HasSubstr("CUDA_ERROR_")));
    expectClean(logs, "failure " + std::to_string(failures));
    failures += failed;
  }
  EXPECT_GT(failures, 40);
  EXPECT_LT(failures, 300);
}

// What is planned is what is taken, of the GPU and of pinned memory.
TEST(CudaMemory, IsAsPlanned) {
  ExecuteOptions options = mnistOptions();
  options.mesh = "data=2";
  for (const char *strategy : {"data-parallel", "zero3"}) {
    options.strategy = strategy;
    auto plan = compileForFakeGpu(mnist(), options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    auto logs = newLogs(2);
    options.run.makeDevice = fakeDevices(logs);
    options.run.memoryLimit = 0;
    ASSERT_TRUE(runOnce(*plan, {}, options.run).ok());
    auto artifact = *loadBytes(*plan);
    PlannedMemory planned = plannedMemory(artifact->plan(), *artifact->program("train"));
    // The fake library for products takes less than cuBLASLt.
    EXPECT_GE(planned.scratch, rt::gpu::productWorkspaceBytes);
    uint64_t whole = plannedMemory(artifact->plan(), -1).total() - planned.scratch + 4096;
    // Of the other programs nothing is there, so no places for their inputs either.
    for (const artifact::Program *program : *artifact->plan().programs())
      for (const artifact::Input *input : *program->inputs())
        if (const artifact::Buffer &buffer = *program->buffers()->Get(input->buffer());
            program != artifact->program("train"))
          whole -= rt::gpu::stagedRuns *
                   rt::gpu::stagedBytes(*byteSize(toDType(buffer.dtype()), rt::toVector(buffer.shape())));
    for (const auto &log : logs) {
      EXPECT_LE(log->mostAllocatedBytes, whole) << strategy;
      EXPECT_GE(log->mostAllocatedBytes + 4 * 4096, whole) << strategy; // pages
      uint64_t host = planned.host - SegmentLayout{2, TransportOptions().channels, 0}.residentBytes();
      EXPECT_LE(log->mostPinnedBytes, host + 4096) << strategy;
      EXPECT_GE(log->mostPinnedBytes + 4096, host) << strategy;
    }
    // With the context it is what --memory-limit allows, and one byte less is refused before anything is allocated.
    const uint64_t context = 100'000'000, needed = context + plannedMemory(artifact->plan(), -1).total();
    options.run.memoryLimit = needed;
    EXPECT_TRUE(runOnce(*plan, {}, options.run).ok());
    options.run.memoryLimit = needed - 1;
    logs = newLogs(2);
    options.run.makeDevice = fakeDevices(logs);
    auto refused = runOnce(*plan, {}, options.run);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(exitCodeOf(refused.status()), ExitCode::Machine);
    EXPECT_THAT(std::string(refused.status().message()),
                AllOf(HasSubstr("needs " + std::to_string(needed) + " bytes of the GPU (100000000 for its context"),
                      HasSubstr("--memory-limit allows " + std::to_string(needed - 1))));
    EXPECT_EQ(logs[0]->mostAllocatedBytes, 0u);
    expectClean(logs, "refused");
  }
}

// What nobody planned counts, when all is loaded.
TEST(CudaMemory, WhatIsTakenBesideThePlanCounts) {
  ExecuteOptions options = deepOptions(5);
  auto plan = compileForFakeGpu(deepModel(5), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto artifact = *loadBytes(*plan);
  options.run.memoryLimit = 100'000'000 + plannedMemory(artifact->plan(), -1).total();
  auto logs = newLogs(2);
  options.run.makeDevice = fakeDevices(logs);
  EXPECT_TRUE(runOnce(*plan, {}, options.run).ok());
  // Asked the second time, the driver of rank 1 has taken 40 MiB more.
  options.run.makeDevice =
      fakeDevices(logs, [](FakeDriver &driver, int rank) { driver.growth = rank == 1 ? uint64_t{40} << 20 : 0; });
  auto result = runOnce(*plan, {}, options.run);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(std::string(result.status().message()),
              AllOf(HasSubstr("rank 1: the worker takes "), HasSubstr(" of the GPU, and --memory-limit allows ")));
  expectClean(logs);
}

} // namespace
