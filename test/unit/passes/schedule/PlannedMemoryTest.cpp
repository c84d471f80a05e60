// What a plan says that a worker takes is what it takes, counted where it is allocated: every example, one worker and two.
#include "runtime/executor/PlannedMemory.h"
#include "runtime/artifact/Reader.h"
#include "runtime/base/MemoryUse.h"
#include "runtime/collective/SharedMemory.h"
#include "runtime/executor/Executor.h"
#include "test/unit/support/Execute.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace dgc::rt;
using dgc::testing::ExecuteOptions;

static std::string readExample(const std::string &name) {
  std::ifstream file(DGC_SOURCE_DIR "/examples/" + name + ".mlir");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

static std::unique_ptr<Artifact> compileExample(const std::string &name, ExecuteOptions options) {
  options.from = "input";
  absl::StatusOr<std::vector<uint8_t>> bytes = dgc::testing::compileText(readExample(name), options);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  absl::StatusOr<std::unique_ptr<Artifact>> artifact = loadBytes(*bytes);
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  return *std::move(artifact);
}

static void expectNear(uint64_t taken, uint64_t planned, const std::string &what) {
  EXPECT_LE(taken, planned + planned / 100) << what;
  EXPECT_GE(taken, planned - planned / 100) << what;
}

/// Makes all workers of a plan in this process and compares what they take with what is planned.
static void compare(const Artifact &artifact, int threads, const std::string &name) {
  const dgc::artifact::Plan &plan = artifact.plan();
  ASSERT_EQ(plan.threads(), static_cast<uint32_t>(threads));
  PlannedMemory planned; // of all workers together
  for (uint32_t rank = 0; rank < plan.world_size(); ++rank) {
    int32_t group = -1;
    for (uint32_t i = 0; plan.groups() && i < plan.groups()->size(); ++i)
      if (rank >= plan.groups()->Get(i)->first_rank())
        group = static_cast<int32_t>(i);
    PlannedMemory worker = plannedMemory(plan, group);
    planned.variables += worker.variables;
    planned.values += worker.values;
    planned.communication += worker.communication;
    planned.scratch += worker.scratch;
  }
  Abort abort;
  TransportOptions options;
  options.sharedBytes = plan.shared_bytes();
  const uint64_t before = memoryUse().now();
  memoryUse().resetPeak();
  auto transports = createInProcessTransports(static_cast<int>(plan.world_size()), options, abort);
  ASSERT_TRUE(transports.ok()) << transports.status();
  std::vector<std::unique_ptr<Executor>> workers;
  for (std::unique_ptr<Transport> &transport : *transports) {
    ExecutorOptions executor;
    executor.threads = threads;
    absl::StatusOr<std::unique_ptr<Executor>> worker = Executor::create(artifact, *transport, executor);
    ASSERT_TRUE(worker.ok()) << worker.status();
    workers.push_back(*std::move(worker));
  }
  const MemoryUse &use = memoryUse();
  const uint64_t scratch = use.peak(MemoryKind::Scratch); // the plan says what it is at most
  EXPECT_LE(scratch, planned.scratch) << name << ", libraries";
  expectNear(use.now() - before, planned.total() - planned.scratch + scratch, name);
  expectNear(use.peak(MemoryKind::Arena), planned.variables + planned.values, name + ", arenas");
  expectNear(use.peak(MemoryKind::Communication), planned.communication, name + ", communication");
  workers.clear();
  transports->clear();
  EXPECT_EQ(use.now(), before) << name << ": all of it is given back";
}

class PlannedMemoryOf : public testing::TestWithParam<const char *> {};

TEST_P(PlannedMemoryOf, IsWhatWorkersTake) {
  ExecuteOptions options;
  options.batch = 24;
  compare(*compileExample(GetParam(), options), 1, "one worker");
  options.mesh = "data=2";
  compare(*compileExample(GetParam(), options), 1, "two workers");
}

INSTANTIATE_TEST_SUITE_P(Examples, PlannedMemoryOf,
                         testing::Values("linear_regression", "mnist_mlp", "mnist_cnn", "mnist_cnn_deep", "gpt_char"),
                         [](const auto &info) { return info.param; });

TEST(PlannedMemory, OfMoreThreadsAndOfStages) {
  ExecuteOptions options;
  options.batch = 24;
  options.run.threads = 2;
  compare(*compileExample("mnist_cnn", options), 2, "two threads");
  options.run.threads = 1;
  options.mesh = "stage=2";
  compare(*compileExample("mnist_mlp", options), 1, "two stages");
}

// Segments of processes take what those of threads do.
TEST(PlannedMemory, OfASharedSegment) {
  TransportOptions options;
  options.sharedBytes = 100000;
  const uint64_t before = memoryUse().now();
  absl::StatusOr<std::unique_ptr<SharedSegment>> segment = SharedSegment::create(0, 1, options);
  ASSERT_TRUE(segment.ok()) << segment.status();
  EXPECT_EQ(memoryUse().now() - before, 4096u + wholePages(options.sharedBytes));
}

TEST(PlannedMemory, IsPrinted) {
  ExecuteOptions options;
  options.batch = 24;
  options.mesh = "data=2";
  std::string text = describeMemory(compileExample("mnist_mlp", options)->plan());
  for (const char *part : {"with 1 thread:", "train", "evaluate", "predict", "worker", "to communicate between hosts"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}
