// What a server has acknowledged it has after its death, and nothing else.
#include "test/unit/servers/FakeServers.h"

#include <gtest/gtest.h>

using namespace dgc::rt;
using namespace dgc::rt::test;

namespace {

const UpdateLogPlace place{"dir", 2, "plan a, seed 1"};

std::vector<int64_t> replayed(FakeDisk &disk, const UpdateLogPlace &from, int64_t base, bool *hasOthers = nullptr) {
  std::vector<int64_t> steps;
  auto result = replayUpdates(disk, from, base, [&](const Update &update) {
    steps.push_back(update.step);
    return absl::OkStatus();
  });
  EXPECT_TRUE(result.ok()) << result.status();
  if (hasOthers)
    *hasOthers = *result;
  return steps;
}

TEST(UpdateLog, KeepsUpdatesInTheirOrder) {
  FakeDisk disk;
  auto log = UpdateLog::begin(disk, place, 5);
  ASSERT_TRUE(log.ok()) << log.status();
  const Update update{7, 3, std::string("a\0b", 3), "loss"};
  ASSERT_TRUE((*log)->add(update).ok());
  ASSERT_TRUE((*log)->add({5, 4, "", ""}).ok());
  std::vector<Update> found;
  auto result = replayUpdates(disk, place, 5, [&](const Update &each) {
    found.push_back(each);
    return absl::OkStatus();
  });
  ASSERT_TRUE(result.ok() && !*result);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].step, 7);
  EXPECT_EQ(found[0].valid, 3);
  EXPECT_EQ(found[0].received, update.received);
  EXPECT_EQ(found[0].outputs, "loss");
  EXPECT_EQ(found[1].step, 5);
}

TEST(UpdateLog, EndsAtARecordThatIsNotWhole) {
  FakeDisk disk;
  auto log = UpdateLog::begin(disk, place, 0);
  for (int64_t step = 0; step < 3; ++step)
    ASSERT_TRUE((*log)->add({step, 1, "some bytes", ""}).ok());
  log->reset();
  const std::string path = "dir/updates-00002-000000000-0000.log", whole = *disk.get(path);
  size_t last = 3;
  for (size_t length = whole.size(); length-- > 0;) {
    FakeDisk cut;
    cut.put(path, whole.substr(0, length));
    const size_t count = replayed(cut, place, 0).size();
    EXPECT_LE(count, last);
    EXPECT_LT(count, 3u);
    last = count;
    std::string flipped = whole;
    flipped[length] ^= 1;
    FakeDisk other;
    other.put(path, flipped);
    bool hasOthers = false;
    EXPECT_LT(replayed(other, place, 0, &hasOthers).size(), 3u) << length;
    EXPECT_FALSE(hasOthers);
  }
  EXPECT_EQ(last, 0u);
}

TEST(UpdateLog, GoesOnBehindCheckpoints) {
  FakeDisk disk;
  auto add = [&](int64_t base, std::initializer_list<int64_t> steps) {
    auto log = UpdateLog::begin(disk, place, base);
    ASSERT_TRUE(log.ok()) << log.status();
    for (int64_t step : steps)
      ASSERT_TRUE((*log)->add({step, 1, "", ""}).ok());
  };
  add(0, {0, 1, 2});
  add(0, {3});
  add(4, {5, 4});
  EXPECT_EQ(replayed(disk, place, 0), (std::vector<int64_t>{0, 1, 2, 3, 5, 4}));
  // The checkpoint of 4 steps did not come about: the server goes on behind what it has logged.
  add(0, {6});
  EXPECT_EQ(replayed(disk, place, 0), (std::vector<int64_t>{0, 1, 2, 3, 5, 4, 6}));
  EXPECT_EQ(replayed(disk, place, 4), (std::vector<int64_t>{5, 4}));
  // Of a checkpoint without a log nothing is known of what follows.
  EXPECT_EQ(replayed(disk, place, 2), (std::vector<int64_t>{}));
  ASSERT_TRUE(removeUpdateLogs(disk, place, 4).ok());
  EXPECT_EQ(replayed(disk, place, 0), (std::vector<int64_t>{}));
  EXPECT_EQ(replayed(disk, place, 4), (std::vector<int64_t>{5, 4}));
  // Those of other servers and other runs are not taken.
  bool hasOthers = false;
  EXPECT_EQ(replayed(disk, {"dir", 1, place.run}, 4, &hasOthers), (std::vector<int64_t>{}));
  EXPECT_FALSE(hasOthers);
  EXPECT_EQ(replayed(disk, {"dir", 2, "plan b"}, 4, &hasOthers), (std::vector<int64_t>{}));
  EXPECT_TRUE(hasOthers);
  EXPECT_EQ(replayed(disk, {"nowhere", 2, place.run}, 0), (std::vector<int64_t>{}));
}

TEST(UpdateShard, RefusesRoundsThatAreNotNext) {
  CountingTarget target;
  UpdateShard shard(target, 4);
  UpdateSession session, other;
  const std::string update = "123456789";
  auto answer = shard.handle(session, {6, 0, 1, "?", ""});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->sent, "0");
  EXPECT_EQ(shard.lastBegun(), 6);
  EXPECT_EQ(shard.handle(session, {5, 1, 1, update, ""}).status().message(),
            "round 1 of step 5 comes behind round 0 of step 6");
  EXPECT_EQ(shard.handle(other, {6, 1, 1, update, ""}).status().message(),
            "round 1 of step 6 comes behind round -1 of step -1");
  EXPECT_EQ(shard.handle(session, {6, 1, 1, "12", ""}).status().message(),
            "round 1 of step 6 with 2 bytes is none of this plan");
  EXPECT_EQ(shard.handle(session, {6, 2, 1, update, ""}).status().message(),
            "round 2 of step 6 with 9 bytes is none of this plan");
  EXPECT_TRUE(target.times.empty());
  ASSERT_TRUE(shard.handle(session, {6, 1, 1, update, "loss"}).ok());
  EXPECT_EQ(target.order, std::vector<std::string>{"6 ?123456789"});
  EXPECT_EQ(shard.outputs().at(6), "loss");
  // Steps that are applied are acknowledged to any worker.
  for (int64_t step : {0, 3, 6})
    EXPECT_TRUE(shard.handle(other, {step, 1, 1, update, ""}).ok());
  EXPECT_EQ(target.order.size(), 1u);
  EXPECT_EQ(shard.applied().missing(), 4);
  EXPECT_TRUE(shard.applied().has(6));
}

TEST(UpdateShard, TellsHowStaleAnUpdateIs) {
  CountingTarget target;
  UpdateShard shard(target, 0);
  UpdateSession slow, quick;
  const std::string update = "123456789";
  ASSERT_TRUE(shard.handle(slow, {0, 0, 1, "?", ""}).ok());
  for (int64_t step = 1; step < 4; ++step) {
    ASSERT_TRUE(shard.handle(quick, {step, 0, 1, "?", ""}).ok());
    EXPECT_EQ(shard.handle(quick, {step, 1, 1, update, ""})->staleness, 0);
  }
  EXPECT_EQ(shard.handle(slow, {0, 1, 1, update, ""})->staleness, 3);
}

/// Its disk fails before it has applied anything.
TEST(UpdateShard, DoesNotApplyWhatIsNotLogged) {
  CountingTarget target;
  UpdateShard shard(target, 0);
  FakeDisk disk;
  shard.setLog(*UpdateLog::begin(disk, place, 0));
  UpdateSession session;
  ASSERT_TRUE(shard.handle(session, {0, 0, 1, "?", ""}).ok());
  disk.failAt = disk.operations;
  disk.error = ENOSPC;
  const absl::Status status = shard.handle(session, {0, 1, 1, "123456789", ""}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(absl::IsInvalidArgument(status));
  EXPECT_TRUE(target.times.empty());
  EXPECT_FALSE(shard.applied().has(0));
}

TEST(StepBoard, GivesStepsToFreeWorkers) {
  StepBoard board(/*patience=*/100);
  EXPECT_EQ(board.take(1, 0), std::nullopt);
  board.offer(0);
  board.offer(1);
  EXPECT_FALSE(board.hasBegun(0));
  EXPECT_EQ(board.take(1, 0), 0);
  EXPECT_TRUE(board.hasBegun(0));
  EXPECT_EQ(board.take(2, 0), 1);
  EXPECT_EQ(board.take(3, 10), std::nullopt);
  EXPECT_EQ(board.oldest(), 0);
  // The step of a worker that is lost comes first.
  board.offer(2);
  board.lose(1);
  EXPECT_TRUE(board.hasBegun(0));
  EXPECT_EQ(board.take(3, 20), 0);
  EXPECT_TRUE(board.finish(0, 25));
  EXPECT_FALSE(board.finish(0, 25));
  EXPECT_EQ(board.oldest(), 1);
  // One that takes long is given to a second worker.
  EXPECT_EQ(board.take(1, 30), 2);
  EXPECT_EQ(board.take(3, 99), std::nullopt);
  EXPECT_EQ(board.take(3, 100), 1);
  EXPECT_EQ(board.take(3, 150), 2);
  board.lose(3); // the first workers still have them
  EXPECT_EQ(board.take(4, 199), std::nullopt);
  EXPECT_TRUE(board.finish(1, 260));
  EXPECT_TRUE(board.finish(2, 260));
  EXPECT_EQ(board.oldest(), std::nullopt);
}

/// What is slow for all of them is not given to everybody.
TEST(StepBoard, LearnsHowLongStepsTake) {
  StepBoard board(/*patience=*/10);
  board.offer(0);
  EXPECT_EQ(board.take(1, 0), 0);
  EXPECT_TRUE(board.finish(0, 1000));
  board.offer(1);
  EXPECT_EQ(board.take(1, 1000), 1);
  EXPECT_EQ(board.take(2, 8999), std::nullopt);
  EXPECT_EQ(board.take(2, 9000), 1);
}

/// A worker that was thought to be lost brings its step after all.
TEST(StepBoard, TakesAStepFromALostWorker) {
  StepBoard board(/*patience=*/10);
  board.offer(0);
  EXPECT_EQ(board.take(1, 0), 0);
  board.lose(1);
  EXPECT_TRUE(board.finish(0, 5));
  EXPECT_EQ(board.take(2, 6), std::nullopt);
}

} // namespace
