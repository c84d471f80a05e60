// The fake driver finds what it is there to find.
#include "test/unit/device/cuda/FakeDriver.h"

#include <gmock/gmock.h>

using namespace dgc::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

class FakeDriverTest : public ::testing::Test {
protected:
  std::shared_ptr<FakeLog> log = std::make_shared<FakeLog>();
  std::unique_ptr<FakeDriver> driver = std::make_unique<FakeDriver>(log);
};

TEST_F(FakeDriverTest, WorkIsDoneWhenTheHostWaits) {
  auto stream = *driver->createStream();
  auto memory = *driver->allocate(64);
  std::byte *pinned = *driver->allocateHost(64);
  pinned[3] = std::byte{1};
  ASSERT_TRUE(driver->fill(memory, 7, 1, 64, stream).ok());
  ASSERT_TRUE(driver->copyToHost(pinned, memory, 64, stream).ok());
  EXPECT_EQ(pinned[3], std::byte{1}); // not yet
  ASSERT_TRUE(driver->synchronize(stream).ok());
  EXPECT_EQ(pinned[3], std::byte{7});
  driver->release(memory);
  driver->releaseHost(pinned);
  driver->destroyStream(stream);
  driver.reset();
  EXPECT_THAT(log->violations, IsEmpty());
}

TEST_F(FakeDriverTest, FindsAccessesOutsideOfMemory) {
  auto stream = *driver->createStream();
  auto memory = *driver->allocate(64);
  ASSERT_TRUE(driver->fill(memory + 32, 0, 1, 33, stream).ok());
  EXPECT_THAT(log->violations, ElementsAre(HasSubstr("fill touches memory outside of allocations")));
  // Behind the end by a kernel, which does not say what it touches.
  log->violations.clear();
  ASSERT_TRUE(driver->enqueue("kernel", stream, {}, [&] { driver->host(memory)[64] = std::byte{0}; }).ok());
  ASSERT_TRUE(driver->synchronize(stream).ok());
  EXPECT_THAT(log->violations, ElementsAre(HasSubstr("written outside of an allocation of 64 bytes")));
}

TEST_F(FakeDriverTest, FindsAMissingWaitBetweenStreams) {
  auto first = *driver->createStream(), second = *driver->createStream();
  auto memory = *driver->allocate(64);
  auto event = *driver->createEvent(false);
  auto write = [&](auto stream) { ASSERT_TRUE(driver->fill(memory, 0, 1, 64, stream).ok()); };
  write(first);
  ASSERT_TRUE(driver->record(event, first).ok());
  ASSERT_TRUE(driver->wait(second, event).ok());
  write(second);
  EXPECT_THAT(log->violations, IsEmpty());
  write(first); // the event says nothing of what `second` does
  EXPECT_THAT(log->violations, ElementsAre(HasSubstr("does not wait for fill")));
  log->violations.clear();
  ASSERT_TRUE(driver->synchronize(first).ok());
  ASSERT_TRUE(driver->synchronize(second).ok());
  write(second);
  EXPECT_THAT(log->violations, IsEmpty());
}

TEST_F(FakeDriverTest, WaitingForOneStreamDoesNoWorkOfAnother) {
  auto first = *driver->createStream(), second = *driver->createStream();
  auto memory = *driver->allocate(64), other = *driver->allocate(64);
  auto event = *driver->createEvent(false);
  ASSERT_TRUE(driver->fill(memory, 1, 1, 64, first).ok());
  ASSERT_TRUE(driver->fill(other, 2, 1, 64, second).ok());
  ASSERT_TRUE(driver->synchronize(second).ok());
  EXPECT_EQ(driver->host(memory)[0], std::byte{0xcd});
  EXPECT_EQ(driver->host(other)[0], std::byte{2});
  ASSERT_TRUE(driver->record(event, first).ok());
  ASSERT_TRUE(driver->wait(second, event).ok());
  ASSERT_TRUE(driver->synchronize(second).ok());
  EXPECT_EQ(driver->host(memory)[0], std::byte{1});
}

// The memory of the host is watched as well: it must be pinned, and not be read while it is written.
TEST_F(FakeDriverTest, FindsRacesInPinnedMemory) {
  auto first = *driver->createStream(), second = *driver->createStream();
  auto memory = *driver->allocate(64), other = *driver->allocate(64);
  std::vector<std::byte> host(64);
  (void)driver->copyToHost(host.data(), memory, 64, first);
  EXPECT_THAT(log->violations, ElementsAre(HasSubstr("memory of the host that is not pinned")));
  log->violations.clear();
  ASSERT_TRUE(driver->synchronize(first).ok());
  ASSERT_TRUE(driver->pin(host).ok());
  ASSERT_TRUE(driver->copyToHost(host.data(), memory, 64, first).ok());
  ASSERT_TRUE(driver->copyToDevice(other, host.data(), 64, second).ok());
  EXPECT_THAT(log->violations, ElementsAre(HasSubstr("copy to device does not wait for copy to host")));
  log->violations.clear();
  driver->unpin(host);
  EXPECT_THAT(log->violations, ElementsAre(HasSubstr("is given back while copy to host is queued")));
}

TEST_F(FakeDriverTest, FindsLeaksAndCallsAfterAnError) {
  auto stream = *driver->createStream();
  ASSERT_TRUE(driver->allocate(64).ok());
  driver->failAt(0);
  EXPECT_FALSE(driver->synchronize(stream).ok());
  EXPECT_THAT(log->violations, IsEmpty());
  (void)driver->allocate(64);
  EXPECT_THAT(log->violations, ElementsAre(HasSubstr("allocate is called after an error")));
  log->violations.clear();
  driver.reset();
  EXPECT_THAT(log->violations, ElementsAre("2 allocations not given back", "1 streams not given back"));
}

TEST_F(FakeDriverTest, FindsWhatMustNotBeCaptured) {
  auto stream = *driver->createStream(), other = *driver->createStream();
  auto memory = *driver->allocate(64);
  ASSERT_TRUE(driver->beginCapture(stream).ok());
  ASSERT_TRUE(driver->fill(memory, 1, 1, 64, stream).ok());
  ASSERT_TRUE(driver->fill(memory, 2, 1, 64, other).ok());
  (void)driver->synchronize(stream);
  EXPECT_THAT(log->violations, ElementsAre(HasSubstr("on another stream while work is captured"),
                                           HasSubstr("synchronize is called while work is captured")));
  EXPECT_EQ(driver->host(memory)[0], std::byte{0xcd}); // kept, not done
}

// Work of another stream can be a part of a capture: from an event in it, and to one that is waited for.
TEST_F(FakeDriverTest, FindsBranchesOfACaptureThatDoNotEnd) {
  auto stream = *driver->createStream(), branch = *driver->createStream();
  auto fork = *driver->createEvent(), end = *driver->createEvent();
  auto memory = *driver->allocate(64);
  for (bool joins : {true, false}) {
    ASSERT_TRUE(driver->beginCapture(stream).ok());
    ASSERT_TRUE(driver->fill(memory, 1, 1, 64, stream).ok());
    ASSERT_TRUE(driver->record(fork, stream).ok());
    ASSERT_TRUE(driver->wait(branch, fork).ok());
    ASSERT_TRUE(driver->fill(memory, 2, 1, 64, branch).ok());
    ASSERT_TRUE(driver->record(end, branch).ok());
    if (joins)
      ASSERT_TRUE(driver->wait(stream, end).ok());
    auto graph = *driver->endCapture(stream);
    if (!joins) {
      EXPECT_THAT(log->violations, ElementsAre(HasSubstr("on a stream that is not joined again")));
      break;
    }
    EXPECT_THAT(log->violations, IsEmpty());
    ASSERT_TRUE(driver->launchGraph(graph, stream).ok());
    ASSERT_TRUE(driver->fill(memory, 3, 1, 32, stream).ok());
    ASSERT_TRUE(driver->synchronize(stream).ok());
    EXPECT_EQ(driver->host(memory)[0], std::byte{3});
    EXPECT_EQ(driver->host(memory)[63], std::byte{2});
    EXPECT_THAT(log->violations, IsEmpty());
  }
}

TEST_F(FakeDriverTest, FindsAHostThatWaitsForOthersWithoutAnEnd) {
  auto stream = *driver->createStream();
  bool ready = false;
  ASSERT_TRUE(driver->enqueue("other", stream, {}, [] {}, [&] { return ready; }).ok());
  EXPECT_FALSE(*driver->isDone(stream));
  EXPECT_THAT(log->violations, IsEmpty());
  (void)driver->synchronize(stream);
  EXPECT_THAT(log->violations, ElementsAre(HasSubstr("waits for work that waits for other workers")));
  ready = true;
  EXPECT_TRUE(*driver->isDone(stream));
}

// The order of streams says nothing of those of another GPU: only hosts that wait do.
TEST_F(FakeDriverTest, FindsWorkOfAnotherGpuOnTheSameMemory) {
  auto peers = std::make_shared<FakePeers>();
  FakeDriver other(std::make_shared<FakeLog>());
  driver->join(peers);
  other.join(peers);
  auto mine = *driver->createStream(), its = *other.createStream();
  auto memory = *driver->allocate(64), far = *other.allocate(64);
  ASSERT_TRUE(other.fill(far, 7, 1, 64, its).ok());
  ASSERT_TRUE(driver->copy(memory, far, 64, mine).ok());
  EXPECT_THAT(log->violations, ElementsAre("copy does not wait for fill of another GPU"));
  log->violations.clear();
  ASSERT_TRUE(driver->synchronize(mine).ok());
  ASSERT_TRUE(other.synchronize(its).ok());
  ASSERT_TRUE(driver->copy(memory, far, 64, mine).ok());
  ASSERT_TRUE(driver->synchronize(mine).ok());
  EXPECT_EQ(driver->host(memory)[0], std::byte{7});
  EXPECT_THAT(log->violations, IsEmpty());
  other.release(far);
  other.destroyStream(its);
}

} // namespace
