// Folders of checkpoints: faults and crashes at every operation, two jobs, pruning, and what is not of dgc.
#include "test/unit/checkpoint/ShardedModel.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace dgc::rt;
using namespace dgc::rt::test;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

static std::string pathOf(int64_t step) { return "d/step-00000000" + std::to_string(step); }

namespace {
/// A disk with a checkpoint of step 1 and version 1, that a job holds.
struct Job {
  Job() {
    disk.needsFolders = true;
    lock = *lockFolder(disk, "d");
    EXPECT_TRUE(save(disk, 1, 2, 1).ok());
    disk.operations = 0;
  }
  void failFrom(int at, bool afterwards, int error = EIO) {
    disk.operations = 0;
    disk.failAt = at;
    disk.failAfterwards = afterwards;
    disk.error = error;
  }
  /// The job ends in one of these ways, and the next one begins.
  static constexpr int ways = 6;
  void end(int way) {
    std::mt19937 random(static_cast<uint32_t>(way * 100 + disk.failAt));
    disk.failAt = -1;
    if (way == 0)
      disk.kill();
    else if (way <= 2)
      disk.crash(/*namesSurvive=*/way == 1);
    else
      disk.crash([&] { return random() % 2 == 1; });
    auto next = lockFolder(disk, "d");
    ASSERT_TRUE(next.ok()) << next.status();
    lock = *std::move(next);
  }
  void clearUp() {
    disk.failAt = -1;
    absl::Status status = removeLeftovers(disk, "d", *lock);
    EXPECT_TRUE(status.ok()) << status;
  }
  /// No folder but complete checkpoints.
  void expectNothingElse() {
    std::vector<std::string> expected = {".dgc-lock"};
    std::vector<int64_t> steps = stepsIn(disk);
    std::reverse(steps.begin(), steps.end());
    for (const int64_t step : steps)
      expected.push_back(pathOf(step).substr(2));
    EXPECT_EQ(*disk.list("d"), expected);
  }

  FakeDisk disk;
  std::unique_ptr<FileLock> lock;
};
} // namespace

/// How many operations `f` takes.
template <typename F> static int operationsOf(F f) {
  Job job;
  EXPECT_TRUE(f(job).ok());
  return job.disk.operations;
}

//===-- Faults ----------------------------------------------------------===//

/// The process is killed or the power goes at any operation: afterwards there are the old checkpoint and, as a whole or not
/// at all, the new one.
TEST(CheckpointFolder, ACrashLeavesWholeCheckpoints) {
  const auto saveSecond = [](Job &job) { return save(job.disk, 2, 2, 2); };
  const int operations = operationsOf(saveSecond);
  bool wasLeft = false;
  for (int way = 0; way < Job::ways; ++way)
    for (int at = 0; at <= operations; ++at) {
      Job job;
      job.failFrom(at, /*afterwards=*/true);
      const bool saved = saveSecond(job).ok();
      EXPECT_EQ(saved, at == operations);
      job.end(way);
      if (saved)
        EXPECT_THAT(stepsIn(job.disk), ElementsAre(2, 1));
      else
        EXPECT_THAT(stepsIn(job.disk), AnyOf(ElementsAre(1), ElementsAre(2, 1))) << at;
      for (int64_t step : stepsIn(job.disk))
        EXPECT_EQ(problemOf(job.disk, pathOf(step), std::to_string(step)), "") << way << " " << at;
      wasLeft |= job.disk.list("d")->size() > stepsIn(job.disk).size() + 1;
      job.clearUp();
      job.expectNothingElse();
      absl::Status again = save(job.disk, 2, 2, 2, /*attempt=*/2);
      EXPECT_TRUE(again.ok()) << again;
      EXPECT_EQ(problemOf(job.disk, pathOf(2), "2"), "");
      job.expectNothingElse();
    }
  EXPECT_TRUE(wasLeft);
}

/// The same where the new checkpoint replaces one of the same step.
TEST(CheckpointFolder, ACrashLeavesTheReplacedCheckpointOrTheNew) {
  const auto replace = [](Job &job) { return save(job.disk, 1, 3, 2); };
  const int operations = operationsOf(replace);
  for (int way = 0; way < Job::ways; ++way)
    for (int at = 0; at <= operations; ++at) {
      Job job;
      job.failFrom(at, /*afterwards=*/true);
      const bool saved = replace(job).ok();
      job.end(way);
      for (int64_t step : stepsIn(job.disk))
        EXPECT_THAT(std::vector({problemOf(job.disk, pathOf(step), "1"), problemOf(job.disk, pathOf(step), "2")}),
                    testing::Contains(""))
            << at;
      job.clearUp();
      ASSERT_THAT(stepsIn(job.disk), ElementsAre(1)) << way << " " << at;
      if (saved || !problemOf(job.disk, pathOf(1), "1").empty())
        EXPECT_EQ(problemOf(job.disk, pathOf(1), "2"), "") << way << " " << at;
      job.expectNothingElse();
    }
}

/// A full disk, or one that fails once, at any operation: an error that says where, and what is there stays.
TEST(CheckpointFolder, AFaultIsToldAndLosesNothing) {
  const auto saveSecond = [](Job &job) { return save(job.disk, 2, 2, 2); };
  const int operations = operationsOf(saveSecond);
  for (int error : {ENOSPC, EIO})
    for (bool afterwards : {false, true})
      for (int at = 0; at < operations; ++at) {
        Job job;
        job.failFrom(at, afterwards, error);
        absl::Status status = saveSecond(job);
        ASSERT_FALSE(status.ok()) << at;
        EXPECT_THAT(std::string(status.message()), HasSubstr(error == ENOSPC ? "No space left" : "Input/output"));
        EXPECT_THAT(std::string(status.message()), AnyOf(HasSubstr("d/.step-000000002."), HasSubstr("folder d:")));
        job.disk.failAt = -1;
        EXPECT_EQ(problemOf(job.disk, pathOf(1), "1"), "");
        if (stepsIn(job.disk).size() > 1)
          EXPECT_EQ(problemOf(job.disk, pathOf(2), "2"), "");
        job.clearUp();
        job.expectNothingElse();
        EXPECT_TRUE(save(job.disk, 2, 2, 2, /*attempt=*/2).ok());
      }
}

TEST(CheckpointFolder, CannotBeReadWhereTheDiskFails) {
  Job job;
  const auto open = [&] { return Checkpoint::open(job.disk, pathOf(1), modelPlan()); };
  ASSERT_TRUE(open().ok());
  const int operations = job.disk.operations;
  for (int at = 0; at < operations; ++at) {
    job.failFrom(at, /*afterwards=*/false);
    auto opened = open();
    EXPECT_THAT(std::string(opened.status().message()), HasSubstr(pathOf(1) + "/m")) << at;
  }
}

//===-- Workers ---------------------------------------------------------===//

TEST(CheckpointFolder, CountsTheShardsOfThisAttemptOnly) {
  Job job;
  const ShardId first{2, nonceOf(1), 0, 3};
  EXPECT_THAT(*missingShards(job.disk, "d", first), ElementsAre(0, 1, 2));
  ASSERT_TRUE(writeShard(job.disk, "d", {2, nonceOf(1), 1, 3}, Worker(1, 3, 2).pieces).ok());
  EXPECT_THAT(*missingShards(job.disk, "d", first), ElementsAre(0, 2));
  for (uint32_t rank : {0u, 2u})
    ASSERT_TRUE(writeShard(job.disk, "d", {2, nonceOf(2), rank, 3}, Worker(rank, 3, 2).pieces).ok());
  EXPECT_THAT(*missingShards(job.disk, "d", first), ElementsAre(0, 2));
  EXPECT_THAT(*missingShards(job.disk, "d", {2, nonceOf(2), 0, 3}), ElementsAre(1));
  EXPECT_THAT(std::string(commitShards(job.disk, "d", first, stateOf(2), {}).message()), HasSubstr("shard-00001.json"));
  // A marker that was moved there does not count either.
  const std::string marker = "/.shard-00001.json", from = "d/.step-000000002." + nonceOf(2) + ".dgc-tmp",
                    to = "d/.step-000000002." + nonceOf(1) + ".dgc-tmp";
  job.disk.put(to + marker, *job.disk.get(from + marker));
  EXPECT_EQ(commitShards(job.disk, "d", first, stateOf(2), {}).message(),
            to + marker + ": it is of another attempt to save");
  EXPECT_THAT(stepsIn(job.disk), ElementsAre(1));
  EXPECT_FALSE(missingShards(job.disk, "d", {2, "../../../../x", 0, 3}).ok());
  EXPECT_FALSE(writeShard(job.disk, "d", {2, nonceOf(1), 3, 3}, {}).ok());
}

TEST(CheckpointFolder, WorkersNeedTheFolderInCommon) {
  FakeDisk disk;
  absl::Status status = writeShard(disk, "d", {2, nonceOf(1), 1, 3}, Worker(1, 3, 2).pieces);
  EXPECT_THAT(std::string(status.message()), HasSubstr("there is no folder d here, on "));
  EXPECT_THAT(stepsIn(disk), IsEmpty());
}

//===-- Housekeeping ----------------------------------------------------===//

TEST(CheckpointFolder, ASecondJobIsRefused) {
  Job job;
  auto second = lockFolder(job.disk, "d");
  EXPECT_TRUE(absl::IsAlreadyExists(second.status()));
  EXPECT_EQ(second.status().message(), "cannot write checkpoints to d: another job holds d/.dgc-lock");
  // Without locks nobody knows whether what looks like a leftover is one.
  job.disk.hasNoLocks = true;
  ASSERT_TRUE(writeShard(job.disk, "d", {2, nonceOf(1), 0, 2}, {}).ok());
  auto shared = lockFolder(job.disk, "d");
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_TRUE(removeLeftovers(job.disk, "d", **shared).ok());
  EXPECT_THAT(*missingShards(job.disk, "d", {2, nonceOf(1), 0, 2}), ElementsAre(1));
}

TEST(CheckpointFolder, IsOnTheMediumWithItsCheckpoints) {
  FakeDisk disk;
  disk.needsFolders = true;
  auto lock = lockFolder(disk, "a/b/d/");
  ASSERT_TRUE(lock.ok()) << lock.status();
  disk.crash(/*namesSurvive=*/false);
  EXPECT_TRUE(disk.exists("a/b/d"));
}

TEST(CheckpointFolder, PruningKeepsTheNewestAndThoseThatAreNamed) {
  Job job;
  for (int step = 2; step <= 6; ++step)
    ASSERT_TRUE(save(job.disk, step, 2, step).ok());
  EXPECT_THAT(stepsIn(job.disk), ElementsAre(6, 5, 4, 3, 2, 1));
  ASSERT_TRUE(pruneCheckpoints(job.disk, "d", 10, {}).ok());
  EXPECT_THAT(stepsIn(job.disk), ElementsAre(6, 5, 4, 3, 2, 1));
  ASSERT_TRUE(pruneCheckpoints(job.disk, "d", 2, {2, 6, 99}).ok());
  EXPECT_THAT(stepsIn(job.disk), ElementsAre(6, 5, 2));
  job.expectNothingElse();
  ASSERT_TRUE(pruneCheckpoints(job.disk, "d", 0, {}).ok());
  EXPECT_THAT(stepsIn(job.disk), ElementsAre(6));
  EXPECT_EQ(problemOf(job.disk, pathOf(6), "6"), "");
}

TEST(CheckpointFolder, ACrashWhilePruningLeavesWholeCheckpoints) {
  const auto prune = [](Job &job) { return pruneCheckpoints(job.disk, "d", 1, {}); };
  const auto prepared = [] {
    auto job = std::make_unique<Job>();
    EXPECT_TRUE(save(job->disk, 2, 2, 2).ok() && save(job->disk, 3, 2, 3).ok());
    job->disk.operations = 0;
    return job;
  };
  auto good = prepared();
  ASSERT_TRUE(prune(*good).ok());
  for (int way = 0; way < Job::ways; ++way)
    for (int at = 0; at <= good->disk.operations; ++at) {
      auto job = prepared();
      job->failFrom(at, /*afterwards=*/true);
      EXPECT_EQ(prune(*job).ok(), at == good->disk.operations) << at;
      job->end(way);
      EXPECT_THAT(stepsIn(job->disk), testing::Contains(3));
      for (int64_t step : stepsIn(job->disk))
        EXPECT_EQ(problemOf(job->disk, pathOf(step), std::to_string(step)), "") << way << " " << at;
      job->clearUp();
      job->expectNothingElse();
      EXPECT_TRUE(prune(*job).ok());
      EXPECT_THAT(stepsIn(job->disk), ElementsAre(3));
      job->expectNothingElse();
    }
}

TEST(CheckpointFolder, WhatIsNotOfDgcStays) {
  Job job;
  const std::vector<std::string> foreign = {
      "d/notes.txt",
      "d/manifest.json",
      "d/model-00001-of-00002.safetensors",
      "d/step-000000007/model-00001-of-00002.safetensors", // of Hugging Face, perhaps: never was one of dgc
      "d/step-000000008/model.safetensors",
      "d/step-8/manifest.json",
      "d/step-0000000009/manifest.json",
      "d/.step-000000009.dgc-tmp/model-00001-of-00002.safetensors",
      "d/.step-000000009.0123456789ABCDEF.dgc-tmp/manifest.json",
      "d/.step-000000009.0123456789abcdef.dgc-tmp2/manifest.json",
      "d/.other.0123456789abcdef.dgc-tmp/manifest.json",
      "d/.step-000000009.0123456789abcdef.dgc-tmp/of-the-user",
      "d/step-000000001/of-the-user",
  };
  for (const std::string &path : foreign)
    job.disk.put(path, path);
  ASSERT_TRUE(save(job.disk, 2, 2, 2).ok());
  EXPECT_THAT(stepsIn(job.disk), ElementsAre(2, 1));
  EXPECT_EQ(problemOf(job.disk, pathOf(1), "1"), "");
  job.clearUp();
  ASSERT_TRUE(pruneCheckpoints(job.disk, "d", 1, {}).ok());
  EXPECT_THAT(stepsIn(job.disk), ElementsAre(2));
  job.clearUp();
  for (const std::string &path : foreign)
    EXPECT_EQ(job.disk.get(path) ? *job.disk.get(path) : "gone", path);
  EXPECT_THAT(*job.disk.list("d/step-000000001"), ElementsAre("of-the-user"));
  // It is in the way.
  absl::Status status = save(job.disk, 8, 2, 2);
  EXPECT_EQ(status.message(), "d/step-000000008 is there and is not a checkpoint of dgc alone (it has "
                              "model.safetensors): move it away");
  EXPECT_TRUE(job.disk.exists("d/step-000000008/model.safetensors"));
}

//===-- The disk of the machine -----------------------------------------===//

namespace {
class RealCheckpointFolder : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "dgc-checkpoints-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    before = fs::current_path();
    fs::current_path(folder);
  }
  void TearDown() override {
    fs::current_path(before);
    fs::remove_all(folder);
  }
  fs::path folder, before;
};
} // namespace

TEST_F(RealCheckpointFolder, WorkersWriteAtOnce) {
  Disk &disk = realDisk();
  auto lock = lockFolder(disk, "d");
  ASSERT_TRUE(lock.ok()) << lock.status();
  constexpr uint32_t world = 5;
  for (int step = 1; step <= 3; ++step) {
    std::vector<std::thread> workers;
    for (uint32_t rank = 0; rank < world; ++rank)
      workers.emplace_back([=] {
        absl::Status status =
            writeShard(realDisk(), "d", {step, nonceOf(1), rank, world}, Worker(rank, world, step).pieces);
        EXPECT_TRUE(status.ok()) << status;
      });
    for (std::thread &worker : workers)
      worker.join();
    const ShardId id{step, nonceOf(1), 0, world};
    EXPECT_THAT(*missingShards(disk, "d", id), IsEmpty());
    absl::Status status = commitShards(disk, "d", id, stateOf(step), {{"version", std::to_string(step)}});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(problemOf(disk, pathOf(step), std::to_string(step)), "");
  }
  // Once more, in the place of the last one.
  ASSERT_TRUE(save(disk, 3, 2, 4, /*attempt=*/2).ok());
  EXPECT_EQ(problemOf(disk, pathOf(3) + "/", "4"), "");
  ASSERT_TRUE(pruneCheckpoints(disk, "d", 2, {}).ok());
  EXPECT_THAT(stepsIn(disk), ElementsAre(3, 2));
  EXPECT_THAT(*disk.list("d"), ElementsAre(".dgc-lock", "step-000000002", "step-000000003"));
}

TEST_F(RealCheckpointFolder, LinksAreNotFollowed) {
  Disk &disk = realDisk();
  auto lock = lockFolder(disk, "d");
  ASSERT_TRUE(lock.ok() && save(disk, 1, 2, 1).ok() && save(disk, 2, 2, 2).ok());
  fs::rename(pathOf(1), "kept");
  fs::create_directory_symlink("../kept", pathOf(1));
  fs::create_directory_symlink("../kept", "d/.step-000000001." + nonceOf(1) + ".dgc-tmp");
  EXPECT_THAT(stepsIn(disk), ElementsAre(2, 1));
  EXPECT_TRUE(removeLeftovers(disk, "d", **lock).ok());
  EXPECT_TRUE(pruneCheckpoints(disk, "d", 1, {}).ok());
  EXPECT_EQ(problemOf(disk, "kept", "1"), "");
}

TEST_F(RealCheckpointFolder, ASecondJobIsToldWhoWrites) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    auto lock = lockFolder(realDisk(), "d");
    char done = lock.ok();
    (void)!write(ready[1], &done, 1);
    pause();
  }
  char locked = 0;
  ASSERT_EQ(read(ready[0], &locked, 1), 1);
  EXPECT_TRUE(locked);
  auto second = lockFolder(realDisk(), "d");
  EXPECT_EQ(second.status().message(),
            str("cannot write checkpoints to d: another job (process ", static_cast<int>(child), " on ", hostName(),
                ") writes into it: name another folder, or end that job first"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(lockFolder(realDisk(), "d").ok());
  close(ready[0]);
  close(ready[1]);
}
