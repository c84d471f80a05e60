// Several workers on fake GPUs that measure, on steps of training, whether collectives of NCCL belong into graphs.
// Clocks tell what the fake driver says that its work takes.
#include "runtime/base/OutputFile.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/Describe.h"
#include "test/unit/device/cuda/FakeWorkers.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <unistd.h>

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

constexpr int kEnough = static_cast<int>(cuda::LaunchMeasurement::kSteps) + 4;

/// The time of what a worker has queued; may make its driver fail when it is asked so often.
struct LogClock final : FakeClock {
  explicit LogClock(const FakeLog &log) : log(log) {}
  TimeNs now() override {
    if (--untilFailure == 0)
      driver->failAt(0);
    return log.time;
  }
  const FakeLog &log;
  FakeDriver *driver = nullptr;
  int untilFailure = 0;
};

/// What a launch of a graph takes, in us: without and with collectives. One outside takes 30.
struct Costs {
  int64_t graph, withNccl;
};
constexpr Costs kGraphIsFaster{100, 150}, kOutsideIsFaster{100, 300};

class CudaLaunchMode : public ::testing::Test {
protected:
  CudaLaunchMode() : file(str(::testing::TempDir(), "dgc-launch-mode-", ::getpid(), ".json")) {
    std::filesystem::remove(file);
    options = deepOptions(5);
    options.run.steps = kEnough;
    auto compiled = compileForFakeGpu(deepModel(5), options);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    plan = *compiled;
  }
  ~CudaLaunchMode() override {
    std::filesystem::remove(file);
    unsetenv("DGC_CUDA_COLLECTIVES");
  }

  absl::StatusOr<RunOnceResult> run(bool tunes, std::vector<Costs> costs,
                                    const std::function<void(FakeDriver &, LogClock &, int)> &adjust = {}) {
    logs = newLogs(3); // the last one: of a server, if there is one
    FakeNetwork network;
    std::array<LogClock, 3> clocks{LogClock(*logs[0]), LogClock(*logs[1]), LogClock(*logs[2])};
    costs.resize(3);
    options.run.makeDevice = [&](const Artifact &artifact, int threads, int rank) {
      const auto index = static_cast<size_t>(rank);
      auto set = [&](FakeDriver &driver, int) {
        driver.duration = [cost = costs[index]](const std::string &name) -> int64_t {
          return 1000 * (name == "graph"             ? cost.graph
                         : name == "graph with nccl" ? cost.withNccl
                         : name == "nccl"            ? 30
                                                     : 0);
        };
        clocks[index].driver = &driver;
        if (adjust)
          adjust(driver, clocks[index], rank);
      };
      return fakeDevices(logs, set, kFakeGpu, &network, nullptr,
                         {file, tunes, rank == 0, &clocks[index]})(artifact, threads, rank);
    };
    auto result = runOnce(plan, {}, options.run);
    expectClean(logs);
    EXPECT_THAT(network.violations, IsEmpty());
    return result;
  }

  /// Whether the last step of both was one graph.
  bool endsInGraph() {
    std::vector<bool> all;
    for (size_t rank : {0, 1}) {
      const std::vector<std::string> &calls = logs[rank]->calls;
      auto last = std::find(calls.rbegin(), calls.rend(), "graph");
      auto first = std::find(last, calls.rend(), "copy to device");
      all.push_back(std::find(last, first, "nccl") == first);
    }
    EXPECT_EQ(all[0], all[1]);
    return all[0];
  }

  /// What the file says of collectives; products have theirs beside.
  nlohmann::json kept() {
    return nlohmann::json::parse(*readFile(realDisk(), file)).value("collectives", nlohmann::json());
  }

  static void expectEqual(const RunOnceResult &result, const RunOnceResult &expected) {
    ASSERT_EQ(result.outputsOfStep.size(), expected.outputsOfStep.size());
    for (size_t step = 0; step < expected.outputsOfStep.size(); ++step)
      for (const auto &[name, array] : expected.outputsOfStep[step])
        EXPECT_EQ(result.outputsOfStep[step].at(name).bytes, array.bytes) << name << " of " << step;
    for (const auto &[name, array] : expected.variables)
      EXPECT_EQ(result.variables.at(name).bytes, array.bytes) << name;
  }

  std::string file;
  ExecuteOptions options;
  std::vector<uint8_t> plan;
  std::vector<std::shared_ptr<FakeLog>> logs;
};

// The faster one is taken by all and kept, and the numbers are those of a run that measures nothing.
TEST_F(CudaLaunchMode, TheFasterOneIsTaken) {
  auto expected = run(false, {kGraphIsFaster, kGraphIsFaster});
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_FALSE(endsInGraph());
  EXPECT_FALSE(std::filesystem::exists(file));
  for (bool ahead : {false, true})
    for (bool graph : {true, false}) {
      SCOPED_TRACE(str(ahead, graph));
      std::filesystem::remove(file);
      options.run.ahead = ahead;
      Costs costs = graph ? kGraphIsFaster : kOutsideIsFaster;
      auto result = run(true, {costs, costs});
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(endsInGraph(), graph);
      expectEqual(*result, *expected);
      EXPECT_EQ(kept()["outside_ns"], 230'000); // two graphs, and NCCL between
      EXPECT_EQ(kept()["graph_ns"], graph ? 180'000 : 330'000);
      EXPECT_EQ(kept()["workers"], 2);
      EXPECT_EQ(kept()["hosts"], 1);
      EXPECT_EQ(kept()["nccl"], 22809);
    }
}

// Collectives that overlap with other work, several of them, send and receive, and values that come from a server on a
// CPU by way of the host.
TEST_F(CudaLaunchMode, ProgramsOfAllKindsStayTheSame) {
  for (Distribution distribution :
       {Distribution{"data=2", "data-parallel", 2, 2, true}, Distribution{"data=2", "zero3", 2, 3, true},
        Distribution{"stage=2", "", 2, 2, false}, Distribution{"data=2", "parameter-server=1", 3, 2, false}}) {
    SCOPED_TRACE(distribution.strategy);
    std::filesystem::remove(file);
    options.mesh = distribution.mesh;
    options.strategy = distribution.strategy;
    options.overlap = distribution.overlap;
    auto compiled = compileForFakeGpu(deepModel(5), options);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    plan = *compiled;
    options.run.ahead = false;
    auto expected = run(false, {kGraphIsFaster, kGraphIsFaster});
    ASSERT_TRUE(expected.ok()) << expected.status();
    options.run.ahead = distribution.workers == 2; // a server is never ahead
    auto result = run(true, {kGraphIsFaster, kGraphIsFaster});
    ASSERT_TRUE(result.ok()) << result.status();
    expectEqual(*result, *expected);
    EXPECT_EQ(endsInGraph(), kept().at("graph_ns") < kept().at("outside_ns"));
    if (std::string(distribution.strategy) != "parameter-server=1") // which is cut all the same: less is saved
      EXPECT_TRUE(endsInGraph());
  }
}

// The slowest worker counts, whichever it is.
TEST_F(CudaLaunchMode, WorkersThatDifferDecideAlike) {
  for (const auto &costs : {std::vector{kGraphIsFaster, kOutsideIsFaster}, {kOutsideIsFaster, kGraphIsFaster}}) {
    std::filesystem::remove(file);
    auto result = run(true, costs);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_FALSE(endsInGraph());
    EXPECT_EQ(kept()["graph_ns"], 330'000);
  }
  std::filesystem::remove(file);
  auto result = run(true, {kOutsideIsFaster, Costs{500, 150}}); // 330 and 180 in the graph, 230 and 1030 outside
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(endsInGraph());
}

// What was measured before holds from the first step; a file for another machine is ignored, and measured again.
TEST_F(CudaLaunchMode, TheFileIsRead) {
  options.run.steps = 3;
  auto expected = run(false, {kGraphIsFaster, kGraphIsFaster});
  ASSERT_TRUE(expected.ok()) << expected.status();
  options.run.steps = kEnough;
  ASSERT_TRUE(run(true, {kGraphIsFaster, kGraphIsFaster}).ok());
  options.run.steps = 3;
  for (bool tunes : {false, true}) {
    auto result = run(tunes, {kOutsideIsFaster, kOutsideIsFaster});
    ASSERT_TRUE(result.ok()) << result.status();
    expectEqual(*result, *expected);
    for (size_t rank : {0, 1}) {
      EXPECT_EQ(logs[rank]->replays, 3);
      EXPECT_EQ(logs[rank]->graphs, 2); // that take turns
    }
  }
  nlohmann::json json = {{"gpu", "Fake GPU"}, {"collectives", kept()}};
  for (const char *key : {"workers", "nccl", "plan"}) {
    nlohmann::json stale = json;
    stale["collectives"][key] = key[0] == 'p' ? nlohmann::json("other") : nlohmann::json(7);
    ASSERT_TRUE(writeFileAtomically(realDisk(), file, stale.dump()).ok());
    ::testing::internal::CaptureStderr();
    auto result = run(false, {kGraphIsFaster, kGraphIsFaster});
    std::string told = ::testing::internal::GetCapturedStderr();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_THAT(told, AllOf(HasSubstr("says of collectives is ignored"), HasSubstr("--tune"))) << key;
    EXPECT_EQ(told.find("warning"), told.rfind("warning")) << told;
    EXPECT_FALSE(endsInGraph());
    EXPECT_EQ(logs[0]->replays, 6);
  }
  options.run.steps = kEnough;
  ::testing::internal::CaptureStderr();
  ASSERT_TRUE(run(true, {kGraphIsFaster, kGraphIsFaster}).ok());
  (void)::testing::internal::GetCapturedStderr();
  EXPECT_EQ(kept(), json["collectives"]);
}

TEST_F(CudaLaunchMode, WhatIsAskedForIsNotMeasured) {
  for (const char *mode : {"graph", "outside"}) {
    setenv("DGC_CUDA_COLLECTIVES", mode, 1);
    auto result = run(true, {kGraphIsFaster, kGraphIsFaster});
    ASSERT_TRUE(result.ok()) << result.status();
    const int each = mode[0] == 'g' ? 1 : 2;
    EXPECT_EQ(logs[0]->replays, kEnough * each);
    EXPECT_EQ(logs[0]->graphs, 2 * each);
    EXPECT_TRUE(kept().is_null());
  }
}

// A job that is too short is what it is without.
TEST_F(CudaLaunchMode, ShortJobsDecideNothing) {
  for (int steps : {2, 9, static_cast<int>(cuda::LaunchMeasurement::kSteps)}) {
    options.run.steps = steps;
    auto expected = run(false, {kGraphIsFaster, kGraphIsFaster});
    auto result = run(true, {kGraphIsFaster, kGraphIsFaster});
    ASSERT_TRUE(expected.ok() && result.ok()) << result.status();
    expectEqual(*result, *expected);
    EXPECT_FALSE(endsInGraph()) << steps;
    EXPECT_TRUE(kept().is_null());
  }
}

// What --dry-run says of it, where there are GPUs and NCCL.
TEST_F(CudaLaunchMode, IsToldWithoutRunning) {
  auto artifact = loadBytes(plan);
  ASSERT_TRUE(artifact.ok());
  auto told = [&](int gpus, cuda::LaunchPreferences preferences, const char *warning = "") {
    return cuda::describeWorkers((*artifact)->plan(), gpus, 22809, preferences, warning).back();
  };
  cuda::LaunchPreferences measured;
  EXPECT_EQ(told(2, {}), "collectives: outside, as nothing was measured yet (dgc-run --tune does)");
  EXPECT_THAT(told(2, {}, "it is damaged"), HasSubstr("; what was measured before is ignored: it is damaged"));
  EXPECT_THAT(told(1, {}), HasSubstr("GPU memory")); // no NCCL
  measured.measures = 1;
  EXPECT_THAT(told(2, measured), HasSubstr("the first 41 steps of training do that"));
  measured.isKept = 1;
  measured.kept = {{455'000, 412'000}, 2, 1, 22809};
  EXPECT_EQ(told(2, measured),
            "collectives: in the graph, as was measured before: in the graph, 412 us a step (outside 455 us)");
  measured.kept.workers = 8;
  EXPECT_THAT(told(2, measured),
              HasSubstr("is ignored: it is for 8 workers on 1 host with NCCL 2.28.9, and here are 2"));
  setenv("DGC_CUDA_COLLECTIVES", "graph", 1);
  EXPECT_EQ(told(2, {}), "collectives: in the graph, as DGC_CUDA_COLLECTIVES says so");
}

// While it is measured, and while workers tell each other what they have measured, the error of one ends all.
TEST_F(CudaLaunchMode, AnErrorOfOneEndsAll) {
  options.run.ahead = true;
  for (int bad : {0, 1}) {
    for (int call : {120, 190, 260, 330, 400}) {
      auto result = run(true, {kGraphIsFaster, kGraphIsFaster}, [&](FakeDriver &driver, LogClock &, int rank) {
        if (rank == bad)
          driver.failAt(call);
      });
      ASSERT_FALSE(result.ok()) << call;
      EXPECT_THAT(std::string(result.status().message()),
                  AllOf(HasSubstr(str("rank ", bad)), HasSubstr("CUDA_ERROR_")));
    }
    // The next call of the driver behind the last time that is taken is that before all tell theirs.
    auto result = run(true, {kGraphIsFaster, kGraphIsFaster}, [&](FakeDriver &, LogClock &clock, int rank) {
      if (rank == bad)
        clock.untilFailure = 2 * static_cast<int>(cuda::LaunchMeasurement::kSteps) - 1;
    });
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(std::string(result.status().message()), AllOf(HasSubstr(str("rank ", bad)), HasSubstr("CUDA_ERROR_")));
    EXPECT_TRUE(kept().is_null());
  }
}

} // namespace
