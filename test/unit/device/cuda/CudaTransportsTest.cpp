// Several workers on fake GPUs that communicate without the host: by NCCL, each with a GPU of its own, and in the
// memory of each other.
#include "test/unit/device/cuda/FakeWorkers.h"

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

class CudaTransports : public ::testing::TestWithParam<Distribution> {};

// Each with a GPU of its own: collectives are queued between graphs, or are parts of one graph.
TEST_P(CudaTransports, TrainByNccl) {
  const Distribution &distribution = GetParam();
  ExecuteOptions options = distribution.options();
  auto expected = execute(mnist(), {}, options);
  ASSERT_TRUE(expected.ok()) << expected.status();
  options.serverTarget = distribution.serversOnGpus();
  auto plan = compileForFakeGpu(mnist(), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const char *where : {"outside", "graph"}) {
    SCOPED_TRACE(where);
    setenv("DGC_CUDA_COLLECTIVES", where, 1);
    auto logs = newLogs(static_cast<size_t>(distribution.workers));
    FakeNetwork network;
    options.run.makeDevice = fakeDevices(logs, {}, kFakeGpu, &network);
    auto result = runOnce(*plan, {}, options.run);
    unsetenv("DGC_CUDA_COLLECTIVES");
    ASSERT_TRUE(result.ok()) << result.status();
    expectSame(*result, *expected);
    expectClean(logs);
    EXPECT_THAT(network.violations, IsEmpty());
    EXPECT_GE(network.communicators, distribution.workers);
    EXPECT_EQ(network.aborts, 0);
    for (const auto &log : logs) {
      EXPECT_LE(log->replays, log->graphs * kSteps);
      if (where[0] == 'g')
        EXPECT_EQ(log->replays, kSteps); // of two graphs that take turns
    }
  }
}

// All on one GPU, as processes that open each other's memory: the bits that the host gives.
TEST_P(CudaTransports, TrainInEachOthersMemory) {
  const Distribution &distribution = GetParam();
  ExecuteOptions options = distribution.options();
  options.serverTarget = distribution.serversOnGpus();
  auto plan = compileForFakeGpu(mnist(), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto logs = newLogs(static_cast<size_t>(distribution.workers));
  options.run.makeDevice = fakeDevices(logs);
  auto expected = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(expected.ok()) << expected.status();
  auto peers = std::make_shared<FakePeers>();
  peers->areProcesses = true;
  logs = newLogs(static_cast<size_t>(distribution.workers));
  options.run.makeDevice = fakeDevices(logs, {}, kFakeGpu, nullptr, peers);
  auto result = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(result.ok()) << result.status();
  for (const auto &[name, array] : expected->variables)
    EXPECT_EQ(result->variables.at(name).bytes, array.bytes) << name;
  expectClean(logs);
  EXPECT_GE(peers->opened, distribution.workers);
}

INSTANTIATE_TEST_SUITE_P(Plans, CudaTransports, ::testing::ValuesIn(distributions()),
                         [](const auto &info) { return std::string(info.param.name); });

// Micro-batches through stages: values go from GPU to GPU by send and receive.
TEST(CudaTransportsOfStages, TrainAsOnCpus) {
  ExecuteOptions options = mnistOptions();
  options.mesh = "stage=2";
  options.strategy = "pipeline=1f1b";
  options.microbatches = 4;
  auto expected = execute(mnist(), {}, options);
  ASSERT_TRUE(expected.ok()) << expected.status();
  auto plan = compileForFakeGpu(mnist(), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  FakeNetwork network;
  auto logs = newLogs(2);
  options.run.makeDevice = fakeDevices(logs, {}, kFakeGpu, &network);
  auto result = runOnce(*plan, {}, options.run);
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

// Collectives that overlap with other work.
TEST(CudaTransportsOfOverlap, ComputeTheSame) {
  for (const char *strategy : {"data-parallel", "zero3"}) {
    ExecuteOptions options = deepOptions(300);
    options.strategy = strategy;
    auto expected = execute(deepModel(300), {}, options);
    ASSERT_TRUE(expected.ok()) << expected.status();
    options.overlap = true;
    auto plan = compileForFakeGpu(deepModel(300), options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    for (const char *where : {"outside", "graph"}) {
      SCOPED_TRACE(where);
      setenv("DGC_CUDA_COLLECTIVES", where, 1);
      FakeNetwork network;
      auto logs = newLogs(2);
      options.run.makeDevice = fakeDevices(logs, {}, kFakeGpu, &network);
      auto result = runOnce(*plan, {}, options.run);
      unsetenv("DGC_CUDA_COLLECTIVES");
      ASSERT_TRUE(result.ok()) << result.status();
      expectSame(*result, *expected);
      expectClean(logs, strategy);
      EXPECT_THAT(network.violations, IsEmpty());
    }
    auto logs = newLogs(2);
    options.run.makeDevice = fakeDevices(logs, {}, kFakeGpu, nullptr, std::make_shared<FakePeers>());
    auto result = runOnce(*plan, {}, options.run);
    ASSERT_TRUE(result.ok()) << result.status();
    expectSame(*result, *expected);
    expectClean(logs, strategy);
  }
}

// The negative control: the results of NCCL are used behind an event.
TEST(CudaTransportsOfOverlap, MissingWaitsForNcclAreFound) {
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
TEST(CudaTransportsOfOverlap, MissingWaitsAmongPeersAreFound) {
  ExecuteOptions options = deepOptions(20);
  auto plan = compileForFakeGpu(deepModel(20), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto logs = newLogs(2);
  options.run.makeDevice = fakeDevices(
      logs, [](FakeDriver &driver, int) { driver.ignoreWaits(); }, kFakeGpu, nullptr, std::make_shared<FakePeers>());
  (void)runOnce(*plan, {}, options.run);
  EXPECT_THAT(logs[0]->violations, ::testing::Contains(HasSubstr("dgc_reduce_f32_sum does not wait for")));
}

TEST(CudaTransportsErrors, EveryErrorAmongPeersEndsAll) {
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
TEST(CudaTransportsErrors, EveryErrorOfNcclEndsAll) {
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
    EXPECT_GT(failures, 8);
    EXPECT_LT(failures, 300);
  }
  // An error that is seen while the GPU waits for another worker, if it does.
  for (int bad : {0, 1}) {
    auto logs = newLogs(2);
    FakeNetwork network;
    network.failsInWaits = static_cast<char>(bad + 1);
    options.run.makeDevice = fakeDevices(logs, {}, kFakeGpu, &network);
    auto result = runOnce(*plan, {}, options.run);
    if (!result.ok())
      EXPECT_THAT(std::string(result.status().message()), HasSubstr("rank " + std::to_string(bad)));
    expectClean(logs, "waits");
    EXPECT_THAT(network.violations, IsEmpty());
  }
}

} // namespace
