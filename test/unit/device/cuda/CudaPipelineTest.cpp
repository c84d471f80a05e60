// Runs that begin while the one before computes, on fake GPUs: what they compute, that their copies wait for what they
// must, and a training run on top of it; and the times of ops in traces.
#include "runtime/base/Status.h"
#include "runtime/data/Npy.h"
#include "runtime/driver/Worker.h"
#include "test/unit/device/cuda/FakeGpus.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <gmock/gmock.h>
#include <unistd.h>

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::testing;
using ::testing::Contains;
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
  for (const auto &log : logs) {
    EXPECT_THAT(log->violations, IsEmpty()) << what;
    EXPECT_EQ(log->allocatedBytes, 0u);
    EXPECT_EQ(log->pinnedBytes, 0u);
  }
}

/// Two layers for 6 examples of 5 numbers.
constexpr char kModel[] = "dgc.model @small {\n"
                          "%x = dgc.input \"x\" : tensor<?x5xf32>\n%y = dgc.input \"y\" : tensor<?x3xf32>\n"
                          "%w1 = dgc.variable \"w1\" glorot_uniform : tensor<5x4xf32>\n"
                          "%w2 = dgc.variable \"w2\" glorot_uniform : tensor<4x3xf32>\n"
                          "%a = dgc.matmul %x, %w1\n%b = dgc.tanh %a\n%c = dgc.matmul %b, %w2\n"
                          "%loss = dgc.mean_squared_error %c, %y\ndgc.loss %loss\n"
                          "dgc.optimizer sgd learning_rate 0.1\n}";

HostArray numbers(int64_t rows, int64_t columns, size_t seed) {
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 37 + seed * 11) % 101) / 50 - 1;
  return HostArray::of({rows, columns}, values);
}

ExecuteOptions smallOptions(const char *mesh = "", const char *strategy = "") {
  ExecuteOptions options;
  options.from = "input";
  options.batch = 6;
  options.mesh = mesh;
  options.strategy = strategy;
  options.run.program = "train";
  options.run.steps = 5;
  options.run.inputsOfStep = [](int step) {
    return NamedArrays{{"x", numbers(6, 5, static_cast<size_t>(step))}, {"y", numbers(6, 3, 3)}};
  };
  return options;
}

struct Distribution {
  const char *mesh, *strategy;
  size_t workers;
  int64_t microbatches = 0;
};

// Steps that are begun one ahead give the losses and variables of steps one after the other, with one worker and with
// several, which exchange values in the middle of a step.
TEST(CudaPipeline, ComputesTheSame) {
  for (Distribution distribution :
       {Distribution{"", "", 1}, Distribution{"data=2", "data-parallel", 2}, Distribution{"data=2", "zero3", 2},
        Distribution{"stage=2", "", 2}, Distribution{"stage=2", "pipeline=1f1b", 2, 6},
        Distribution{"stage=2", "pipeline=gpipe", 2, 6}}) {
    ExecuteOptions options = smallOptions(distribution.mesh, distribution.strategy);
    options.microbatches = distribution.microbatches;
    auto expected = execute(kModel, {}, options);
    ASSERT_TRUE(expected.ok()) << expected.status();
    auto plan = compileForFakeGpu(kModel, options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    auto logs = newLogs(distribution.workers);
    options.run.makeDevice = fakeDevices(logs);
    options.run.ahead = true;
    auto result = runOnce(*plan, {}, options.run);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->outputsOfStep.size(), expected->outputsOfStep.size());
    for (size_t step = 0; step < expected->outputsOfStep.size(); ++step)
      for (const auto &[name, array] : expected->outputsOfStep[step])
        EXPECT_LE(difference(result->outputsOfStep[step].at(name), array), 1e-5) << distribution.mesh << " " << name;
    for (const auto &[name, array] : expected->variables)
      EXPECT_LE(difference(result->variables.at(name), array), 1e-5) << distribution.mesh << " " << name;
    expectClean(logs, distribution.mesh);
  }
}

// The inputs of a step are brought, and its graph is queued, before the host waits for the step before.
TEST(CudaPipeline, InputsComeWhileTheStepBeforeComputes) {
  ExecuteOptions options = smallOptions();
  options.run.steps = 3;
  auto plan = compileForFakeGpu(kModel, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (bool ahead : {false, true}) {
    auto logs = newLogs(1);
    options.run.makeDevice = fakeDevices(logs);
    options.run.ahead = ahead;
    ASSERT_TRUE(runOnce(*plan, {}, options.run).ok());
    std::vector<std::string> calls;
    auto first = std::find(logs[0]->calls.begin(), logs[0]->calls.end(), "graph");
    ASSERT_NE(first, logs[0]->calls.end());
    for (; first != logs[0]->calls.end(); ++first)
      if (*first == "graph" || *first == "await" || (*first == "copy to device" && calls.size() < 7))
        calls.push_back(*first);
    const std::string copy = "copy to device";
    if (ahead)
      EXPECT_THAT(calls, ::testing::ElementsAre("graph", copy, "graph", "await", copy, "graph", "await", "await"));
    else
      EXPECT_THAT(calls, ::testing::ElementsAre("graph", "await", copy, "graph", "await", copy, "graph", "await"));
  }
}

// The negative control: without the event between the stream that brings inputs and the one that computes, it is found.
TEST(CudaPipeline, AMissingWaitIsFound) {
  ExecuteOptions options = smallOptions();
  auto plan = compileForFakeGpu(kModel, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto logs = newLogs(1);
  options.run.makeDevice = fakeDevices(logs, [](FakeDriver &driver, int) { driver.ignoreWaits(); });
  options.run.ahead = true;
  (void)runOnce(*plan, {}, options.run);
  EXPECT_THAT(logs[0]->violations, Contains(HasSubstr("copy does not wait for copy to device")));
}

TEST(CudaPipeline, EveryErrorOfTheDriverIsTold) {
  ExecuteOptions options = smallOptions();
  options.run.steps = 3;
  options.run.ahead = true;
  auto plan = compileForFakeGpu(kModel, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  int failures = 0, withTwoSteps = 0;
  for (bool failed = true; failed && failures < 200; failures += failed) {
    auto logs = newLogs(1);
    options.run.makeDevice = fakeDevices(logs, [&](FakeDriver &driver, int) { driver.failAt(failures); });
    auto result = runOnce(*plan, {}, options.run);
    failed = !result.ok();
    std::string message(result.status().message());
    if (failed)
      EXPECT_THAT(message, HasSubstr("CUDA_ERROR_"));
    withTwoSteps += message.find("step 0, or step 1, which was begun before that ended, of train") != std::string::npos;
    expectClean(logs, "failure " + std::to_string(failures));
  }
  EXPECT_GT(failures, 30);
  EXPECT_LT(failures, 200);
  EXPECT_GT(withTwoSteps, 0);
}

class CudaTraining : public ::testing::Test {
protected:
  CudaTraining() : folder(str(::testing::TempDir(), "dgc-cuda-training-", ::getpid())) {
    std::filesystem::create_directories(folder);
    auto write = [&](const char *name, const HostArray &array) {
      EXPECT_TRUE(writeNpy(realDisk(), folder + "/" + name, array.dtype, array.shape, array.bytes).ok());
    };
    write("train-x.npy", numbers(24, 5, 1));
    write("train-y.npy", numbers(24, 3, 2));
    write("test-x.npy", numbers(12, 5, 3));
    write("test-y.npy", numbers(12, 3, 4));
    options.data = folder;
  }
  ~CudaTraining() override { std::filesystem::remove_all(folder); }

  /// The events of the log, without what depends on the clock.
  std::vector<std::string> events(const char *name) {
    std::vector<std::string> result;
    std::string log = *readFile(realDisk(), folder + "/" + name);
    for (size_t at = 0; at < log.size(); at = log.find('\n', at) + 1) {
      auto event = nlohmann::json::parse(log.substr(at, log.find('\n', at) - at));
      std::string text =
          str(event["event"].get<std::string>(), " ", event.value("step", -1), " ", event.value("epoch", -1));
      if (event.contains("loss") && event["loss"].is_number())
        text += str(" ", std::lround(event["loss"].get<double>() * 1e4));
      result.push_back(text);
    }
    return result;
  }

  absl::Status train(const std::vector<uint8_t> &plan, const char *name) {
    auto artifact = loadBytes(plan);
    EXPECT_TRUE(artifact.ok()) << artifact.status();
    options.logJson = folder + "/" + name;
    options.save = folder + "/" + name + ".safetensors";
    printed.clear();
    return runInProcess(**artifact, options, [&](std::string_view text) { printed += text; }, -1).status();
  }

  std::string folder, printed;
  RunOptions options;
};

// A training run with evaluations in between and a checkpoint says and saves what one on CPUs does: each loss in order,
// with its step. So does one whose parameters are on a server with a CPU, which is never ahead.
TEST_F(CudaTraining, SaysAndSavesWhatTheCpuDoes) {
  options.steps = 7;
  options.evaluateEvery = 3;
  for (Distribution distribution : {Distribution{"", "", 1}, Distribution{"data=2", "data-parallel", 2},
                                    Distribution{"data=2", "central-storage", 3}}) {
    SCOPED_TRACE(distribution.strategy);
    ExecuteOptions compile = smallOptions(distribution.mesh, distribution.strategy);
    auto cpu = compileText(kModel, compile), gpu = compileForFakeGpu(kModel, compile);
    ASSERT_TRUE(cpu.ok() && gpu.ok()) << cpu.status() << gpu.status();
    options.makeDevice = nullptr;
    absl::Status s = train(*cpu, "cpu");
    ASSERT_TRUE(s.ok()) << s;
    auto logs = newLogs(distribution.workers);
    options.makeDevice = fakeDevices(logs);
    s = train(*gpu, "gpu");
    ASSERT_TRUE(s.ok()) << s;
    EXPECT_THAT(events("gpu"), ::testing::ElementsAreArray(events("cpu")));
    EXPECT_GE(events("gpu").size(), 7u + 3);
    expectClean(logs);
    // What was saved goes on from where it was: the same again from both.
    options.load = folder + "/gpu.safetensors";
    s = train(*gpu, "gpu2");
    ASSERT_TRUE(s.ok()) << s;
    options.load = folder + "/cpu.safetensors";
    options.makeDevice = nullptr;
    s = train(*cpu, "cpu2");
    ASSERT_TRUE(s.ok()) << s;
    EXPECT_THAT(events("gpu2"), ::testing::ElementsAreArray(events("cpu2")));
    options.load.clear();
  }
}

// With --tune the first steps measure where collectives of NCCL belong, with evaluations in between, and the run is the
// same but for a line that says so. One that is too short says that.
TEST_F(CudaTraining, MeasuresWhereCollectivesBelong) {
  struct LogClock final : FakeClock {
    explicit LogClock(const FakeLog &log) : log(log) {}
    TimeNs now() override { return log.time; }
    const FakeLog &log;
  };
  auto plan = compileForFakeGpu(kModel, smallOptions("data=2", "data-parallel"));
  ASSERT_TRUE(plan.ok()) << plan.status();
  options.evaluateEvery = 9;
  auto run = [&](const char *name, bool tunes) {
    auto logs = newLogs(2);
    FakeNetwork network;
    std::array<LogClock, 2> clocks{LogClock(*logs[0]), LogClock(*logs[1])};
    options.makeDevice = [&](const Artifact &artifact, int threads, int rank) {
      auto adjust = [](FakeDriver &driver, int) {
        driver.duration = [](const std::string &work) { return work.starts_with("graph") ? 100'000 : 0; };
      };
      return fakeDevices(logs, adjust, kFakeGpu, &network, nullptr,
                         {"", tunes, rank == 0, &clocks[static_cast<size_t>(rank)]})(artifact, threads, rank);
    };
    absl::Status s = train(*plan, name);
    EXPECT_TRUE(s.ok()) << s;
    expectClean(logs, name);
    EXPECT_THAT(network.violations, IsEmpty());
  };
  options.steps = 45;
  run("untuned", false);
  EXPECT_THAT(printed, ::testing::Not(HasSubstr("collectives:")));
  run("tuned", true);
  EXPECT_THAT(printed, HasSubstr("collectives: in the graph, 100 us a step (outside 200 us)\n"));
  EXPECT_THAT(events("tuned"), ::testing::ElementsAreArray(events("untuned")));
  EXPECT_EQ(*readFile(realDisk(), folder + "/tuned.safetensors"),
            *readFile(realDisk(), folder + "/untuned.safetensors"));
  options.steps = 30;
  run("short", true);
  EXPECT_THAT(printed, HasSubstr("collectives: outside, as --tune needs 42 steps to measure both\n"));
}

// Steps are ahead in a training run, too; a trace shows each op with the time that the device measured.
TEST_F(CudaTraining, TracesHaveTheTimesOfOps) {
  options.steps = 3;
  options.evaluate = false;
  auto plan = compileForFakeGpu(kModel, smallOptions());
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto logs = newLogs(1);
  options.makeDevice = fakeDevices(logs, [](FakeDriver &driver, int) {
    driver.duration = [](const std::string &name) {
      return name == "product" ? 70'000 : name.starts_with("copy") ? 0 : 5'000;
    };
  });
  ASSERT_TRUE(train(*plan, "untraced").ok());
  EXPECT_EQ(logs[0]->replays, 3);
  options.trace = folder + "/trace.json";
  logs = newLogs(1);
  auto makeDevice = options.makeDevice;
  absl::Status s = train(*plan, "traced");
  ASSERT_TRUE(s.ok()) << s;
  auto trace = nlohmann::json::parse(*readFile(realDisk(), options.trace));
  auto artifact = loadBytes(*plan);
  const artifact::Program &program = *(*artifact)->program("train");
  std::map<std::string, std::vector<double>> durations;
  size_t count = 0;
  for (const auto &event : trace.is_array() ? trace : trace["traceEvents"])
    if (event["ph"] == "X") {
      durations[event["name"].get<std::string>()].push_back(event["dur"].get<double>());
      EXPECT_GE(event["ts"].get<double>(), 0);
      ++count;
    }
  EXPECT_EQ(count, 3 * program.steps()->size());
  ASSERT_TRUE(durations.contains("matmul"));
  for (double duration : durations["matmul"])
    EXPECT_NEAR(duration, 70, 0.01);
  EXPECT_THAT(events("traced"), ::testing::ElementsAreArray(events("untraced")));
}

} // namespace
