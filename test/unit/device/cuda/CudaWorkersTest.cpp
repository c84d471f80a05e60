// Several workers on fake GPUs, each a thread: what they compute, against the CPU, and how they use the driver between
// segments of a program.
#include "runtime/artifact/GpuSizes.h"
#include "runtime/artifact/Reader.h"
#include "runtime/base/ExitCode.h"
#include "runtime/collective/Mapped.h"
#include "runtime/executor/PlannedMemory.h"
#include "test/unit/device/cuda/FakeGpus.h"

#include <gmock/gmock.h>

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

std::vector<std::shared_ptr<FakeLog>> newLogs(size_t workers) {
  std::vector<std::shared_ptr<FakeLog>> logs(workers);
  for (auto &log : logs)
    log = std::make_shared<FakeLog>();
  return logs;
}

void expectClean(const std::vector<std::shared_ptr<FakeLog>> &logs, const std::string &what = "") {
  for (size_t rank = 0; rank < logs.size(); ++rank) {
    EXPECT_THAT(logs[rank]->violations, IsEmpty()) << what << ", rank " << rank;
    EXPECT_EQ(logs[rank]->allocatedBytes, 0u);
    EXPECT_EQ(logs[rank]->pinnedBytes, 0u);
  }
}

void expectSame(const RunOnceResult &result, const RunOnceResult &expected) {
  ASSERT_EQ(result.outputsOfStep.size(), expected.outputsOfStep.size());
  for (size_t step = 0; step < expected.outputsOfStep.size(); ++step)
    for (const auto &[name, array] : expected.outputsOfStep[step])
      EXPECT_LE(difference(result.outputsOfStep[step].at(name), array), 1e-5) << name;
  ASSERT_EQ(result.variables.size(), expected.variables.size());
  for (const auto &[name, array] : expected.variables)
    EXPECT_LE(difference(result.variables.at(name), array), 1e-5) << name;
}

struct Spread {
  const char *mesh, *strategy;
  int workers, segments;
  bool overlap = false;
  int microbatches = 0;
  const char *name;
  const char *serversOnGpus() const { return std::string_view(name) == "servers" ? "cuda:sm_90" : ""; }
};
void PrintTo(const Spread &spread, std::ostream *out) { *out << spread.mesh << " " << spread.strategy; }

class CudaWorkers : public ::testing::TestWithParam<Spread> {};

// mnist_mlp on several GPUs trains as on as many CPUs.
TEST_P(CudaWorkers, TrainAsOnCpus) {
  const Spread &spread = GetParam();
  ExecuteOptions options = mnistOptions();
  options.mesh = spread.mesh;
  options.strategy = spread.strategy;
  options.overlap = spread.overlap;
  options.microbatches = spread.microbatches;
  auto expected = execute(mnist(), {}, options);
  ASSERT_TRUE(expected.ok()) << expected.status();
  options.serverTarget = spread.serversOnGpus();
  if (options.strategy.starts_with("parameter-server"))
    options.serverTarget = "cuda:sm_90"; // servers on CPUs: CudaServersTest
  auto plan = compileForFakeGpu(mnist(), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto logs = newLogs(static_cast<size_t>(spread.workers));
  options.run.makeDevice = fakeDevices(logs);
  auto result = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(result.ok()) << result.status();
  expectSame(*result, *expected);
  expectClean(logs);
  for (const auto &log : logs) {
    // What is local is recorded once and replayed.
    EXPECT_EQ(log->replays, log->graphs * kSteps);
    EXPECT_GE(log->graphs, spread.segments);
  }
}

// Each with a GPU of its own: collectives are queued between graphs, or are parts of one graph.
TEST_P(CudaWorkers, TrainByNccl) {
  const Spread &spread = GetParam();
  ExecuteOptions options = mnistOptions();
  options.mesh = spread.mesh;
  options.strategy = spread.strategy;
  options.overlap = spread.overlap;
  options.microbatches = spread.microbatches;
  auto expected = execute(mnist(), {}, options);
  ASSERT_TRUE(expected.ok()) << expected.status();
  options.serverTarget = spread.serversOnGpus();
  auto plan = compileForFakeGpu(mnist(), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const char *where : {"outside", "graph"}) {
    SCOPED_TRACE(where);
    setenv("DGC_CUDA_COLLECTIVES", where, 1);
    auto logs = newLogs(static_cast<size_t>(spread.workers));
    FakeNetwork network;
    options.run.makeDevice = fakeDevices(logs, {}, kFakeGpu, &network);
    auto result = runOnce(*plan, {}, options.run);
    unsetenv("DGC_CUDA_COLLECTIVES");
    ASSERT_TRUE(result.ok()) << result.status();
    expectSame(*result, *expected);
    expectClean(logs);
    EXPECT_THAT(network.violations, IsEmpty());
    EXPECT_GE(network.communicators, spread.workers);
    EXPECT_EQ(network.aborts, 0);
    for (const auto &log : logs) {
      EXPECT_EQ(log->replays, log->graphs * kSteps);
      if (where[0] == 'g')
        EXPECT_EQ(log->graphs, 1);
    }
  }
}

// All on one GPU, as processes that open each other's memory: the bits that the host gives.
TEST_P(CudaWorkers, TrainInEachOthersMemory) {
  const Spread &spread = GetParam();
  ExecuteOptions options = mnistOptions();
  options.mesh = spread.mesh;
  options.strategy = spread.strategy;
  options.overlap = spread.overlap;
  options.microbatches = spread.microbatches;
  options.serverTarget = spread.serversOnGpus();
  auto plan = compileForFakeGpu(mnist(), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto logs = newLogs(static_cast<size_t>(spread.workers));
  options.run.makeDevice = fakeDevices(logs);
  auto expected = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(expected.ok()) << expected.status();
  auto peers = std::make_shared<FakePeers>();
  peers->areProcesses = true;
  logs = newLogs(static_cast<size_t>(spread.workers));
  options.run.makeDevice = fakeDevices(logs, {}, kFakeGpu, nullptr, peers);
  auto result = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(result.ok()) << result.status();
  for (const auto &[name, array] : expected->variables)
    EXPECT_EQ(result->variables.at(name).bytes, array.bytes) << name;
  expectClean(logs);
  EXPECT_GE(peers->opened, spread.workers);
}

INSTANTIATE_TEST_SUITE_P(Plans, CudaWorkers,
                         ::testing::Values(Spread{"data=2", "data-parallel", 2, 2, false, 0, "data"},
                                           Spread{"data=2", "zero3", 2, 3, false, 0, "zero3"},
                                           Spread{"data=3", "zero3", 3, 3, true, 0, "zero3_overlap"},
                                           Spread{"model=2", "tensor-parallel=w1:1", 2, 2, false, 0, "tensor"},
                                           Spread{"data=2,model=2", "zero2,tensor-parallel=w1:1", 4, 3, true, 0,
                                                  "zero2_tensor"},
                                           Spread{"data=2", "parameter-server=1", 3, 2, false, 0, "servers"}),
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
  FakeNetwork network;
  logs = newLogs(2);
  options.run.makeDevice = fakeDevices(logs, {}, kFakeGpu, &network);
  result = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(result.ok()) << result.status();
  expectSame(*result, *expected);
  expectClean(logs, "NCCL");
  EXPECT_THAT(network.violations, IsEmpty());
  EXPECT_GT(network.operations, 0);
  auto peers = std::make_shared<FakePeers>();
  logs = newLogs(2);
  options.run.makeDevice = fakeDevices(logs, {}, kFakeGpu, nullptr, peers);
  result = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(result.ok()) << result.status();
  expectSame(*result, *expected);
  expectClean(logs, "memory of each other");
}

/// Layers of n x n values, n = 150 to have a bucket for each gradient.
std::string deepModel(int n) {
  std::string size = std::to_string(n), w = " glorot_uniform : tensor<" + size + "x" + size + "xf32>\n";
  return "dgc.model @deep {\n"
         "%x = dgc.input \"x\" : tensor<?x" +
         size +
         "xf32>\n"
         "%y = dgc.input \"y\" : tensor<?x" +
         size +
         "xf32>\n"
         "%w1 = dgc.variable \"w1\"" +
         w + "%w2 = dgc.variable \"w2\"" + w + "%w3 = dgc.variable \"w3\"" + w +
         "%a = dgc.matmul %x, %w1\n%b = dgc.tanh %a\n%c = dgc.matmul %b, %w2\n%d = dgc.tanh %c\n"
         "%e = dgc.matmul %d, %w3\n%loss = dgc.mean_squared_error %e, %y\ndgc.loss %loss\n"
         "dgc.optimizer sgd learning_rate 0.1\n}";
}

ExecuteOptions deepOptions(int n) {
  ExecuteOptions options;
  options.from = "input";
  options.batch = 6;
  options.mesh = "data=2";
  options.run.program = "train";
  options.run.seed = 7;
  options.run.steps = 2;
  options.run.inputsOfStep = [n](int step) {
    std::vector<float> x(static_cast<size_t>(6 * n)), y(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>((i * 37 + static_cast<size_t>(step) * 11) % 101) / 101;
      y[i] = static_cast<float>((i * 53 + static_cast<size_t>(step) * 7) % 89) / 45 - 1;
    }
    return NamedArrays{{"x", HostArray::of({6, n}, x)}, {"y", HostArray::of({6, n}, y)}};
  };
  return options;
}

/// How many steps of a plan's program go on beside others.
int underWay(const std::vector<uint8_t> &plan) {
  auto artifact = loadBytes(plan);
  int count = 0;
  for (const artifact::Step *step : *(*artifact)->program("train")->steps())
    count += step->queue() == 1;
  return count;
}

// Collectives that go on beside other work: segments are launched between their copies.
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
    for (const char *where : {"outside", "graph"}) {
      SCOPED_TRACE(where);
      setenv("DGC_CUDA_COLLECTIVES", where, 1);
      FakeNetwork network;
      logs = newLogs(2);
      options.run.makeDevice = fakeDevices(logs, {}, kFakeGpu, &network);
      result = runOnce(*plan, {}, options.run);
      unsetenv("DGC_CUDA_COLLECTIVES");
      ASSERT_TRUE(result.ok()) << result.status();
      expectSame(*result, *expected);
      expectClean(logs, strategy);
      EXPECT_THAT(network.violations, IsEmpty());
    }
    logs = newLogs(2);
    options.run.makeDevice = fakeDevices(logs, {}, kFakeGpu, nullptr, std::make_shared<FakePeers>());
    result = runOnce(*plan, {}, options.run);
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

// The same of NCCL, whose results are used behind an event.
TEST(CudaOverlap, MissingWaitsForNcclAreFound) {
  ExecuteOptions options = deepOptions(20);
  auto plan = compileForFakeGpu(deepModel(20), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto logs = newLogs(2);
  FakeNetwork network;
  options.run.makeDevice = fakeDevices(logs, [](FakeDriver &driver, int) { driver.ignoreWaits(); }, kFakeGpu, &network);
  (void)runOnce(*plan, {}, options.run);
  EXPECT_THAT(logs[0]->violations, ::testing::Contains(HasSubstr("nccl does not wait for")));
  EXPECT_THAT(logs[1]->violations, ::testing::Contains(HasSubstr("does not wait for nccl")));
}

// In the memory of others: when the host does not wait for its GPU before it meets the others, that is found.
TEST(CudaOverlap, MissingWaitsAmongPeersAreFound) {
  ExecuteOptions options = deepOptions(20);
  auto plan = compileForFakeGpu(deepModel(20), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto logs = newLogs(2);
  options.run.makeDevice = fakeDevices(
      logs, [](FakeDriver &driver, int) { driver.ignoreWaits(); }, kFakeGpu, nullptr, std::make_shared<FakePeers>());
  (void)runOnce(*plan, {}, options.run);
  EXPECT_THAT(logs[0]->violations, ::testing::Contains(HasSubstr("dgc_reduce_f32_sum does not wait for")));
}

TEST(CudaErrors, EveryErrorAmongPeersEndsAll) {
  ExecuteOptions options = deepOptions(5);
  options.overlap = true;
  auto plan = compileForFakeGpu(deepModel(5), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  int failures = 0;
  for (bool failed = true; failed && failures < 300;) {
    auto logs = newLogs(2);
    int bad = failures % 2;
    auto peers = std::make_shared<FakePeers>();
    peers->areProcesses = true;
    options.run.makeDevice = fakeDevices(
        logs,
        [&](FakeDriver &driver, int rank) {
          if (rank == bad)
            driver.failAt(failures);
        },
        kFakeGpu, nullptr, peers);
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

// Whatever call of NCCL or of the driver of one worker fails, the others are not left waiting, and all communicators
// are aborted.
TEST(CudaErrors, EveryErrorOfNcclEndsAll) {
  ExecuteOptions options = deepOptions(5);
  options.overlap = true;
  auto plan = compileForFakeGpu(deepModel(5), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (bool ofDriver : {false, true}) {
    int failures = 0;
    for (bool failed = true; failed && failures < 300;) {
      auto logs = newLogs(2);
      int bad = failures % 2;
      FakeNetwork network;
      if (!ofDriver)
        network.failAt(static_cast<char>(bad + 1), failures);
      options.run.makeDevice = fakeDevices(
          logs,
          [&](FakeDriver &driver, int rank) {
            if (ofDriver && rank == bad)
              driver.failAt(failures);
          },
          kFakeGpu, &network);
      auto result = runOnce(*plan, {}, options.run);
      failed = !result.ok();
      if (failed)
        EXPECT_THAT(std::string(result.status().message()), HasSubstr("rank " + std::to_string(bad))) << failures;
      expectClean(logs, "failure " + std::to_string(failures));
      EXPECT_THAT(network.violations, IsEmpty()) << failures;
      failures += failed;
    }
    EXPECT_GT(failures, 15);
    EXPECT_LT(failures, 300);
  }
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
    EXPECT_GE(planned.scratch, gpu::productWorkspaceBytes);
    uint64_t whole = plannedMemory(artifact->plan(), -1).total() - planned.scratch + 4096;
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
