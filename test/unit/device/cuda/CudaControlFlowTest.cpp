// Loops and branches on fake GPUs, where the host decides: what they compute, against the CPU, and what is launched for it;
// times, errors and interruption.
#include "runtime/base/Status.h"
#include "runtime/collective/Mapped.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/PlannedMemory.h"
#include "test/unit/device/cuda/FakeWorkers.h"

#include <gmock/gmock.h>

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::testing;
using ::testing::Contains;
using ::testing::HasSubstr;

namespace {

/// `limit` rounds. In round i another loop has max(inner - i, 0) rounds, and a branch does one thing or another.
constexpr char kNested[] = R"(
dgc.model @nested {
  %x = dgc.input "x" : tensor<6x5xf32>
  %limit = dgc.input "limit" : tensor<i32>
  %inner = dgc.input "inner" : tensor<i32>
  %m = dgc.variable "m" normal 0 0.3 : tensor<5x5xf32>
  %zero = dgc.constant dense<0> : tensor<i32>
  %n, %rounds, %y = dgc.while (%i = %zero, %total = %zero, %h = %x) with (%l = %limit, %most = %inner, %w = %m) {
    %more = dgc.compare lt %i, %l
    dgc.condition %more
  } do {
    %none = dgc.constant dense<0> : tensor<i32>
    %c, %r = dgc.while (%count = %none, %s = %h) with (%end = %most, %start = %i) {
      %sum = dgc.add %count, %start
      %more = dgc.compare lt %sum, %end
      dgc.condition %more
    } do {
      %half = dgc.multiply %s, 0.5
      %next = dgc.add %count, 1
      dgc.yield %next, %half
    }
    %parity = dgc.remainder %i, 2
    %odd = dgc.compare eq %parity, 1
    %t = dgc.if %odd (%u = %r, %v = %w) {
      %z = dgc.matmul %u, %v
      dgc.yield %z
    } else {
      %z = dgc.tanh %u
      dgc.yield %z
    }
    %j = dgc.add %i, 1
    %all = dgc.add %total, %c
    dgc.yield %j, %all, %t
  }
  dgc.output "n" %n
  dgc.output "rounds" %rounds
  dgc.output "y" %y
})";

struct Rounds {
  int32_t limit, inner;
};
constexpr std::array<Rounds, 5> kRounds = {Rounds{0, 3}, Rounds{1, 0}, Rounds{2, 5}, Rounds{7, 3}, Rounds{3, 0}};

HostArray number(int32_t value) { return HostArray::of({}, std::vector<int32_t>{value}); }

HostArray numbers(int64_t rows, int64_t columns) {
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
  return HostArray::of({rows, columns}, values);
}

NamedArrays nestedInputs(const Rounds &rounds) {
  return {{"x", numbers(6, 5)}, {"limit", number(rounds.limit)}, {"inner", number(rounds.inner)}};
}

ExecuteOptions modelOptions() {
  ExecuteOptions options;
  options.from = "input";
  options.run.program = "predict";
  return options;
}

/// A run for each of kRounds, each submitted as early as the device allows.
ExecuteOptions nestedOptions() {
  ExecuteOptions options = modelOptions();
  options.run.steps = static_cast<int>(kRounds.size());
  options.run.ahead = true;
  options.run.inputsOfStep = [](int step) { return nestedInputs(kRounds[static_cast<size_t>(step)]); };
  return options;
}

/// What workers communicate by (docs/gpu.md).
enum class Way : uint8_t { Host, Memory, Nccl };

struct Distributed {
  const char *mesh, *strategy;
  size_t workers;
  Way way;
};

/// Runs kNested on fake GPUs, against CPUs.
void expectSameRounds(const Distributed &how) {
  SCOPED_TRACE(str(how.mesh, " ", how.strategy, ", way ", static_cast<int>(how.way)));
  ExecuteOptions options = nestedOptions();
  options.mesh = how.mesh;
  options.strategy = how.strategy;
  auto expected = execute(kNested, {}, options);
  ASSERT_TRUE(expected.ok()) << expected.status();
  auto plan = compileForFakeGpu(kNested, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto logs = newLogs(how.workers);
  FakeNetwork network;
  options.run.makeDevice = fakeDevices(logs, {}, kFakeGpu, how.way == Way::Nccl ? &network : nullptr,
                                       how.way == Way::Memory ? std::make_shared<FakePeers>() : nullptr);
  auto result = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->outputsOfStep.size(), kRounds.size());
  for (size_t step = 0; step < kRounds.size(); ++step) {
    const auto [limit, inner] = kRounds[step];
    int32_t rounds = 0;
    for (int32_t i = 0; i < limit; ++i)
      rounds += std::max(inner - i, 0);
    NamedArrays &outputs = result->outputsOfStep[step];
    EXPECT_EQ(outputs.at("n").as<int32_t>()[0], limit);
    EXPECT_EQ(outputs.at("rounds").as<int32_t>()[0], rounds);
    EXPECT_LE(difference(outputs.at("y"), expected->outputsOfStep[step].at("y")), 1e-5);
  }
  expectClean(logs);
  EXPECT_THAT(network.violations, ::testing::IsEmpty());
}

TEST(CudaControlFlow, NestedLoopsAndBranchesComputeTheSame) {
  for (const Distributed &how : {Distributed{"", "", 1, Way::Host}, Distributed{"data=2", "", 2, Way::Host},
                                 Distributed{"data=2", "", 2, Way::Nccl}})
    expectSameRounds(how);
}

// The product of each round, or its weights, are cut over workers, which may communicate in the loop.
TEST(CudaControlFlow, RoundsAreCutOverWorkers) {
  for (const char *strategy : {"tensor-parallel=m:0", "tensor-parallel=m:1"})
    for (Way way : {Way::Host, Way::Memory, Way::Nccl})
      expectSameRounds({"model=2", strategy, 2, way});
}

// The results of a branch are what another loop gives, what the branch was given, or what it computes.
TEST(CudaControlFlow, EitherBranchIsTaken) {
  constexpr char model[] = R"(
dgc.model @branch {
  %x = dgc.input "x" : tensor<6x5xf32>
  %which = dgc.input "which" : tensor<i32>
  %large = dgc.compare gt %which, 2
  %y, %z = dgc.if %large (%a = %x, %first = %which) {
    %end, %b = dgc.while (%i = %first, %s = %a) {
      %more = dgc.compare lt %i, 6
      dgc.condition %more
    } do {
      %half = dgc.multiply %s, 0.5
      %j = dgc.add %i, 1
      dgc.yield %j, %half
    }
    dgc.yield %b, %a
  } else {
    %minus = dgc.negate %a
    dgc.yield %a, %minus
  }
  dgc.output "y" %y
  dgc.output "z" %z
})";
  auto plan = compileForFakeGpu(model, modelOptions());
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::vector<float> x = numbers(6, 5).as<float>();
  struct Case {
    int32_t which;
    float y, z; // what x is multiplied by
  };
  for (const Case &each : {Case{2, 1, -1}, Case{3, 0.125, 1}, Case{5, 0.5, 1}, Case{6, 1, 1}, Case{-7, 1, -1}}) {
    SCOPED_TRACE(each.which);
    auto logs = newLogs(1);
    ExecuteOptions options = modelOptions();
    options.run.makeDevice = fakeDevices(logs);
    auto result = runOnce(*plan, {{"x", numbers(6, 5)}, {"which", number(each.which)}}, options.run);
    ASSERT_TRUE(result.ok()) << result.status();
    for (const auto &[name, factor] : {std::pair("y", each.y), std::pair("z", each.z)}) {
      const std::vector<float> found = result->outputs.at(name).as<float>();
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(found[i], factor * x[i]) << name << ", element " << i;
    }
    expectClean(logs);
  }
}

// What a scan becomes that is too long to be written out: slices are taken and put in place at the number of the round.
TEST(CudaControlFlow, RoundsTakeAndPutSlices) {
  constexpr char model[] = R"(
dgc.model @slices {
  %x = dgc.input "x" : tensor<6x5xf32>
  %limit = dgc.input "limit" : tensor<i32>
  %zero = dgc.constant dense<0> : tensor<i32>
  %zeros = dgc.constant dense<0.0> : tensor<6x5xf32>
  %start = dgc.constant dense<1.0> : tensor<1x5xf32>
  %n, %last, %all = dgc.while (%i = %zero, %s = %start, %to = %zeros) with (%from = %x, %l = %limit) {
    %more = dgc.compare lt %i, %l
    dgc.condition %more
  } do {
    %place = dgc.reshape %i to [1]
    %row = dgc.gather %from, %place dim 0
    %next = dgc.add %s, %row
    %put = dgc.dynamic_update_slice %to, %next at %i dim 0
    %j = dgc.add %i, 1
    dgc.yield %j, %next, %put
  }
  dgc.output "all" %all
})";
  auto plan = compileForFakeGpu(model, modelOptions());
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::vector<float> x = numbers(6, 5).as<float>();
  for (int32_t limit : {0, 4, 6}) {
    SCOPED_TRACE(limit);
    std::vector<float> expected(x.size()), sum(5, 1);
    for (size_t i = 0; i < static_cast<size_t>(limit) * 5; ++i)
      expected[i] = sum[i % 5] += x[i];
    auto logs = newLogs(1);
    ExecuteOptions options = modelOptions();
    options.run.makeDevice = fakeDevices(logs);
    auto result = runOnce(*plan, {{"x", numbers(6, 5)}, {"limit", number(limit)}}, options.run);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->outputs.at("all").as<float>(), expected);
    expectClean(logs);
  }
}

/// A model of three equal layers, and as many micro-batches as the strategy says.
std::string layersModel() {
  return R"(
dgc.model @layers {
  %x = dgc.input "x" : tensor<?x5xf32>
  %y = dgc.input "y" : tensor<?x5xf32>
  %h = dgc.repeat 3 "layer" (%a = %x) {
    %w = dgc.variable "w" normal 0 0.1 : tensor<5x5xf32>
    %b = dgc.variable "b" normal 0 0.1 : tensor<5xf32>
    %d = dgc.dense %a, %w, %b
    %t = dgc.tanh %d
    %s = dgc.add %a, %t
    dgc.next %s
  }
  %loss = dgc.mean_squared_error %h, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
})";
}

ExecuteOptions layersOptions() {
  ExecuteOptions options;
  options.from = "input";
  options.batch = 12;
  options.run.program = "train";
  options.run.seed = 3;
  options.run.steps = 2;
  options.run.ahead = true;
  options.repeats = "loop";
  options.run.inputsOfStep = [](int step) {
    HostArray x = numbers(12, 5), y = numbers(12, 5);
    auto *values = reinterpret_cast<float *>(y.bytes.data());
    for (int i = 0; i < 60; ++i)
      values[i] = values[59 - i] + static_cast<float>(step);
    return NamedArrays{{"x", x}, {"y", y}};
  };
  return options;
}

// Loops of layers and of micro-batches are loops on GPUs as well, over what CPUs compute, alone and with others.
TEST(CudaControlFlow, LayersAndMicrobatchesAreLoops) {
  for (const Distributed &how :
       {Distributed{"", "accumulate=6", 1, Way::Host}, Distributed{"", "recompute=layer.*", 1, Way::Host},
        Distributed{"data=2", "zero3,accumulate=6", 2, Way::Nccl}, Distributed{"data=2", "zero2", 2, Way::Host},
        Distributed{"data=2", "", 2, Way::Memory}}) {
    SCOPED_TRACE(str(how.mesh, " ", how.strategy));
    ExecuteOptions options = layersOptions();
    auto alone = execute(layersModel(), {}, options);
    ASSERT_TRUE(alone.ok()) << alone.status();
    options.mesh = how.mesh;
    options.strategy = how.strategy;
    auto plan = compileForFakeGpu(layersModel(), options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    size_t loops = 0;
    const auto loaded = *loadBytes(*plan);
    for (const artifact::Step *step : *loaded->program("train")->steps())
      if (const artifact::While *loop = step->action_as_While()) {
        ++loops;
        EXPECT_TRUE(loop->counted());
      }
    EXPECT_GE(loops, 2u);
    auto logs = newLogs(how.workers);
    FakeNetwork network;
    options.run.makeDevice = fakeDevices(logs, {}, kFakeGpu, how.way == Way::Nccl ? &network : nullptr,
                                         how.way == Way::Memory ? std::make_shared<FakePeers>() : nullptr);
    auto result = runOnce(*plan, {}, options.run);
    ASSERT_TRUE(result.ok()) << result.status();
    expectSame(*result, *alone);
    expectClean(logs);
  }
}

// The host waits for no round of a counted loop: as many waits for however many rounds.
TEST(CudaControlFlow, CountedRoundsAreNotWaitedFor) {
  auto waitsOf = [](const char *strategy) {
    ExecuteOptions options = layersOptions();
    options.strategy = strategy;
    auto plan = compileForFakeGpu(layersModel(), options);
    EXPECT_TRUE(plan.ok()) << plan.status();
    auto logs = newLogs(1);
    options.run.makeDevice = fakeDevices(logs);
    auto result = runOnce(*plan, {}, options.run);
    EXPECT_TRUE(result.ok()) << result.status();
    expectClean(logs);
    return std::pair(std::count(logs[0]->calls.begin(), logs[0]->calls.end(), "await"), logs[0]->replays);
  };
  const auto [fewWaits, fewReplays] = waitsOf("accumulate=6");
  const auto [manyWaits, manyReplays] = waitsOf("accumulate=12");
  EXPECT_EQ(manyWaits, fewWaits);
  EXPECT_GT(manyReplays, fewReplays);
}

// Segments are recorded once, however many rounds there are, and a predicate is a byte of pinned memory.
TEST(CudaControlFlow, SegmentsAreRecordedOnce) {
  ExecuteOptions options = modelOptions();
  auto plan = compileForFakeGpu(kNested, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto run = [&](const Rounds &rounds) {
    auto logs = newLogs(1);
    options.run.makeDevice = fakeDevices(logs);
    auto result = runOnce(*plan, nestedInputs(rounds), options.run);
    EXPECT_TRUE(result.ok()) << result.status();
    expectClean(logs);
    return *logs[0];
  };
  const FakeLog none = run({0, 0}), few = run({2, 0}), more = run({4, 0});
  EXPECT_EQ(few.graphs, none.graphs);
  EXPECT_EQ(more.graphs, none.graphs);
  EXPECT_GT(few.replays, none.replays);
  EXPECT_EQ(more.replays - few.replays, few.replays - none.replays); // each branch once in two rounds
  auto artifact = *loadBytes(*plan);
  const uint64_t transport = SegmentLayout{1, TransportOptions().channels, 0}.residentBytes();
  EXPECT_EQ(none.mostPinnedBytes, plannedMemory(artifact->plan(), -1).host - transport);
}

// The negative control: when the copy of a predicate does not wait for what computes it, it is found.
TEST(CudaControlFlow, MissingWaitsAreFound) {
  ExecuteOptions options = modelOptions();
  auto plan = compileForFakeGpu(kNested, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto logs = newLogs(1);
  options.run.makeDevice = fakeDevices(logs, [](FakeDriver &driver, int) { driver.ignoreWaits(); });
  (void)runOnce(*plan, nestedInputs({1, 0}), options.run);
  EXPECT_THAT(logs[0]->violations, Contains(HasSubstr("copy to host does not wait for")));
}

// Whatever call of the driver fails, the error is told, with the loop that it was found in; nothing leaks.
TEST(CudaControlFlow, EveryErrorOfTheDriverIsTold) {
  ExecuteOptions options = modelOptions();
  auto plan = compileForFakeGpu(kNested, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  int failures = 0, inLoops = 0;
  for (bool failed = true; failed && failures < 400; failures += failed) {
    auto logs = newLogs(1);
    options.run.makeDevice = fakeDevices(logs, [&](FakeDriver &driver, int) { driver.failAt(failures); });
    auto result = runOnce(*plan, nestedInputs({2, 1}), options.run);
    failed = !result.ok();
    const std::string message(result.status().message());
    if (failed)
      EXPECT_THAT(message, HasSubstr("CUDA_ERROR_"));
    inLoops += message.find("step 0, op 'while' of predict") != std::string::npos;
    expectClean(logs, "failure " + std::to_string(failures));
  }
  EXPECT_GT(failures, 60);
  EXPECT_LT(failures, 400);
  EXPECT_GT(inLoops, 5);
}

/// The program on one fake GPU, with what the driver of a run has not.
class CudaLoop : public ::testing::Test {
protected:
  void load(const std::function<void(FakeDriver &, int)> &adjust) {
    auto plan = compileForFakeGpu(kNested, modelOptions());
    ASSERT_TRUE(plan.ok()) << plan.status();
    auto loaded = loadBytes(*plan);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    artifact = *std::move(loaded);
    auto made = createInProcessTransports(1, TransportOptions(), abort);
    ASSERT_TRUE(made.ok()) << made.status();
    transports = *std::move(made);
    ExecutorOptions options;
    options.makeDevice = fakeDevices(logs, adjust);
    auto created = Executor::create(*artifact, *transports[0], options);
    ASSERT_TRUE(created.ok()) << created.status();
    executor = *std::move(created);
    ASSERT_TRUE(executor->initializeVariables().ok());
    runner = executor->program("predict");
  }

  absl::Status run(const Rounds &rounds) {
    NamedArrays inputs = nestedInputs(rounds);
    for (const InputView &view : runner->inputs())
      std::memcpy(view.memory.data(), inputs.at(view.name).bytes.data(), view.memory.size());
    return runner->run(0);
  }

  std::vector<std::shared_ptr<FakeLog>> logs = newLogs(1);
  Abort abort;
  std::unique_ptr<Artifact> artifact;
  std::vector<std::unique_ptr<Transport>> transports;
  std::unique_ptr<Executor> executor;
  ProgramRunner *runner = nullptr;
};

// A loop that does not end by itself ends with the job, in the round after.
TEST_F(CudaLoop, EndsWithTheJob) {
  int graphs = 0;
  ASSERT_NO_FATAL_FAILURE(load([&](FakeDriver &driver, int) {
    driver.duration = [&](const std::string &work) {
      if (work == "graph" && ++graphs == 60)
        abort.raise(absl::CancelledError("interrupted"));
      return 0;
    };
  }));
  EXPECT_EQ(runner->depth(), 1u);
  EXPECT_EQ(run({INT32_MAX, 0}), absl::CancelledError("interrupted"));
  EXPECT_GE(graphs, 60);
  EXPECT_LT(graphs, 70);
  executor.reset();
  expectClean(logs);
}

// A trace has each op as often as it ran, one after the other.
TEST_F(CudaLoop, TracesHaveEachRound) {
  ASSERT_NO_FATAL_FAILURE(
      load([](FakeDriver &driver, int) { driver.duration = [](const std::string &) { return 1000; }; }));
  OpTrace trace(1000);
  executor->setTrace(&trace);
  absl::Status s = run({3, 3});
  ASSERT_TRUE(s.ok()) << s;
  const auto &steps = *artifact->program("predict")->steps();
  std::vector<int> expected(steps.size(), 1), found(steps.size());
  int loops = 0;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    auto ranges = [&](uint32_t first, int firstTimes, uint32_t second, int secondTimes) {
      expected[i] = 0;
      std::fill_n(expected.begin() + i + 1, first, firstTimes);
      std::fill_n(expected.begin() + i + 1 + first, second, secondTimes);
    };
    if (const artifact::While *loop = steps[i]->action_as_While()) // three rounds, and 3 + 2 + 1 of the inner one
      loops++ == 0 ? ranges(loop->test_steps(), 4, loop->body_steps(), 3)
                   : ranges(loop->test_steps(), 9, loop->body_steps(), 6);
    else if (const artifact::If *branch = steps[i]->action_as_If())
      ranges(branch->then_steps(), 1, branch->else_steps(), 2);
  }
  EXPECT_EQ(loops, 2);
  TimeNs end = 0;
  for (const OpTiming &timing : trace.timings) {
    for (uint32_t i = 0; i < steps.size(); ++i)
      found[i] += steps[i] == timing.op;
    EXPECT_GE(timing.begin, end);
    EXPECT_GE(timing.end, timing.begin);
    end = timing.end;
  }
  EXPECT_EQ(found, expected);
  executor.reset();
  expectClean(logs);
}

} // namespace
