// Communicators of NCCL on fake GPUs.
#include "runtime/device/cuda/SelfTest.h"
#include "test/unit/device/cuda/FakeNccl.h"

#include <gmock/gmock.h>
#include <thread>

using namespace dgc::rt;
using namespace dgc::rt::cuda;
using namespace dgc::testing;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

std::vector<SelfTestLine> selfTest(FakeNetwork &network, const std::shared_ptr<FakeLog> &log, int failAt = -1) {
  FakeDriver driver(log);
  driver.failAt(failAt);
  return testNccl(driver, network.functions(driver, log));
}

TEST(Nccl, CommunicatesWithItself) {
  FakeNetwork network;
  auto log = std::make_shared<FakeLog>();
  std::vector<SelfTestLine> lines = selfTest(network, log);
  EXPECT_EQ(lines.size(), 14u);
  for (const SelfTestLine &line : lines)
    EXPECT_EQ(line.outcome, SelfTestLine::Passed) << line.name << ": " << line.detail;
  EXPECT_THAT(network.violations, IsEmpty());
  EXPECT_THAT(log->violations, IsEmpty());
  EXPECT_EQ(log->allocatedBytes, 0u);
  EXPECT_EQ(network.communicators, 1);
  EXPECT_EQ(network.aborts, 0);
}

TEST(Nccl, KernelsOfThePluginAreChecked) {
  auto log = std::make_shared<FakeLog>();
  {
    FakeDriver driver(log);
    for (const SelfTestLine &line : {testPeerKernels(driver), testSliceKernels(driver), testScatterKernels(driver)})
      EXPECT_EQ(line.outcome, SelfTestLine::Passed) << line.name << ": " << line.detail;
  }
  EXPECT_THAT(log->violations, IsEmpty());
}

// Whatever call fails is told, nothing is used after it and nothing is left.
TEST(Nccl, EveryErrorIsTold) {
  for (bool ofDriver : {false, true}) {
    for (int failAt = 0; failAt < 60; ++failAt) {
      FakeNetwork network;
      auto log = std::make_shared<FakeLog>();
      if (!ofDriver)
        network.failAt(0, failAt);
      std::vector<SelfTestLine> lines = selfTest(network, log, ofDriver ? failAt : -1);
      EXPECT_EQ(lines.back().outcome, SelfTestLine::Failed) << failAt;
      EXPECT_THAT(lines.back().detail,
                  ::testing::AnyOf(HasSubstr("system error"), HasSubstr("CUDA_ERROR"), HasSubstr("cuda error")));
      EXPECT_THAT(network.violations, IsEmpty()) << failAt;
      EXPECT_THAT(log->violations, IsEmpty()) << failAt;
      EXPECT_EQ(log->allocatedBytes, 0u);
    }
  }
}

TEST(Nccl, TwoRanksOnOneGpuAreRefused) {
  FakeNetwork network;
  NcclUniqueId id{"here"};
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      auto log = std::make_shared<FakeLog>();
      FakeDriver driver(log);
      Abort abort;
      auto link = NcclLink::create(network.functions(driver, log), {0, 1}, rank, id, abort, 10);
      errors[static_cast<size_t>(rank)] = std::string(link.status().message());
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_THAT(errors, ::testing::Each(HasSubstr("Duplicate GPU detected")));
  EXPECT_THAT(network.violations, IsEmpty());
}

// A member that does not come: the time ends, or the job does; what was begun is aborted.
TEST(Nccl, WaitsForMembersNoLongerThanItMay) {
  FakeNetwork network;
  auto log = std::make_shared<FakeLog>();
  FakeDriver driver(log);
  Abort abort;
  NcclFunctions nccl = network.functions(driver, log);
  auto late = NcclLink::create(nccl, {0, 3}, 0, {"a"}, abort, 0.05);
  EXPECT_THAT(std::string(late.status().message()),
              HasSubstr("ncclCommInitRankConfig has taken more than 0.05 s between ranks 0, 3"));
  abort.raise(absl::AbortedError("rank 3 died"));
  auto ended = NcclLink::create(nccl, {0, 3}, 0, {"b"}, abort, 60);
  EXPECT_EQ(ended.status(), absl::AbortedError("rank 3 died"));
  EXPECT_EQ(network.aborts, 2);
  EXPECT_THAT(network.violations, IsEmpty());
}

// The negative control: graphs must be gone before the communicators that they have parts of, as NCCL waits for that.
TEST(Nccl, GraphsThatOutliveACommunicatorAreFound) {
  for (bool inTime : {true, false}) {
    FakeNetwork network;
    auto log = std::make_shared<FakeLog>();
    FakeDriver driver(log);
    Abort abort;
    auto link = *NcclLink::create(network.functions(driver, log), {0}, 0, {"a"}, abort, 10);
    auto stream = *driver.createStream();
    auto memory = *driver.allocate(64);
    ASSERT_TRUE(driver.beginCapture(stream).ok());
    CollectiveDesc desc;
    desc.group = {0};
    desc.srcCount = desc.dstCount = 4;
    ASSERT_TRUE(link->queue(desc, *checkCollective(desc, 0, 1, 64), memory, driver, stream).ok());
    auto graph = *driver.endCapture(stream);
    if (inTime)
      driver.destroyGraph(graph);
    EXPECT_TRUE(NcclLink::close({&link, 1}).ok());
    if (!inTime)
      driver.destroyGraph(graph);
    driver.release(memory);
    driver.destroyStream(stream);
    EXPECT_EQ(network.violations.size(), inTime ? 0u : 1u);
  }
}

// NCCL that hangs when it is aborted does not hang the worker.
TEST(Nccl, AbortsNoLongerThanItMay) {
  FakeNetwork network;
  auto log = std::make_shared<FakeLog>();
  FakeDriver driver(log);
  Abort abort;
  auto link = *NcclLink::create(network.functions(driver, log), {0}, 0, {"a"}, abort, 0.1);
  network.hangsInAbort = true;
  EXPECT_FALSE(NcclLink::abort({&link, 1}));
  network.hangsInAbort = false;
  while (network.aborts == 0)
    std::this_thread::yield();
  EXPECT_TRUE(NcclLink::abort({&link, 1})); // nothing is left
}

} // namespace
