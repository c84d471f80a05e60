// Plans of workers with GPUs and parameter servers on CPUs: what they compute against plans for CPUs, and who is where.
#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Reader.h"
#include "runtime/executor/PlannedMemory.h"
#include "test/unit/device/cuda/FakeGpus.h"

#include <gmock/gmock.h>

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::testing;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

struct Servers {
  const char *mesh, *strategy;
  size_t workers, servers;
  bool onGpus = false; // the servers, too
  const char *name;
};
void PrintTo(const Servers &servers, std::ostream *out) { *out << servers.name; }

class CudaServers : public ::testing::TestWithParam<Servers> {};

// mnist_mlp trains as on as many CPUs. Workers and servers use the driver of the GPU, or never do.
TEST_P(CudaServers, TrainAsOnCpus) {
  const Servers &given = GetParam();
  ExecuteOptions options = mnistOptions();
  options.mesh = given.mesh;
  options.strategy = given.strategy;
  auto expected = execute(mnist(), {}, options);
  ASSERT_TRUE(expected.ok()) << expected.status();
  options.serverTarget = given.onGpus ? "cuda:sm_90" : "";
  auto plan = compileForFakeGpu(mnist(), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<std::shared_ptr<FakeLog>> logs(given.workers + given.servers);
  for (auto &log : logs)
    log = std::make_shared<FakeLog>();
  options.run.makeDevice = fakeDevices(logs);
  auto result = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->outputsOfStep.size(), expected->outputsOfStep.size());
  for (size_t step = 0; step < expected->outputsOfStep.size(); ++step)
    for (const auto &[name, array] : expected->outputsOfStep[step])
      EXPECT_LE(difference(result->outputsOfStep[step].at(name), array), 1e-5) << name;
  ASSERT_EQ(result->variables.size(), expected->variables.size());
  for (const auto &[name, array] : expected->variables)
    EXPECT_LE(difference(result->variables.at(name), array), 1e-5) << name;
  for (size_t rank = 0; rank < logs.size(); ++rank) {
    EXPECT_THAT(logs[rank]->violations, IsEmpty()) << rank;
    EXPECT_EQ(logs[rank]->allocatedBytes, 0u);
    EXPECT_EQ(logs[rank]->graphs > 0, rank < given.workers || given.onGpus) << rank;
  }
  // The plan says so, too.
  auto artifact = *loadBytes(*plan);
  const artifact::Plan &p = artifact->plan();
  for (size_t rank = 0; rank < logs.size(); ++rank) {
    int32_t group = groupOf(p, static_cast<uint32_t>(rank));
    bool onGpu = rank < given.workers || given.onGpus;
    EXPECT_EQ(!isOnHost(p, group), onGpu) << rank;
    EXPECT_EQ(plannedMemory(p, group).host > 0, onGpu) << rank;
  }
  EXPECT_EQ(describeMemory(p).find(", on a CPU") != std::string::npos, !given.onGpus);
}

INSTANTIATE_TEST_SUITE_P(Plans, CudaServers,
                         ::testing::Values(Servers{"data=2", "parameter-server=1", 2, 1, false, "one"},
                                           Servers{"data=2", "parameter-server=2", 2, 2, false, "two"},
                                           Servers{"data=3", "parameter-server=2", 3, 2, false, "uneven"},
                                           Servers{"data=2", "central-storage", 2, 1, false, "central"},
                                           Servers{"data=2", "parameter-server=1", 2, 1, true, "on_gpus"}),
                         [](const auto &info) { return info.param.name; });

// The negative control: an optimizer of the server that takes other steps is seen.
TEST(CudaServersControl, AnotherLearningRateTrainsOtherwise) {
  ExecuteOptions options = mnistOptions();
  options.mesh = "data=2";
  options.strategy = "central-storage";
  auto expected = execute(mnist(), {}, options);
  ASSERT_TRUE(expected.ok()) << expected.status();
  std::string model = mnist();
  size_t rate = model.find("learning_rate ");
  ASSERT_NE(rate, std::string::npos);
  model.insert(rate + std::string("learning_rate ").size() + 2, "1");
  auto plan = compileForFakeGpu(model, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  options.run.makeDevice = fakeDevices({std::make_shared<FakeLog>(), std::make_shared<FakeLog>(), nullptr});
  auto result = runOnce(*plan, {}, options.run);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(difference(result->variables.at("w1"), expected->variables.at("w1")), 1e-4);
}

TEST(CudaServersErrors, TargetsThatDoNotGoTogetherAreRefused) {
  ExecuteOptions options = mnistOptions();
  options.mesh = "data=2";
  options.serverTarget = "cpu";
  EXPECT_THAT(std::string(compileForFakeGpu(mnist(), options).status().message()),
              HasSubstr("--server-target=cpu: there are no servers; they come with --strategy parameter-server=P"));
  options.strategy = "central-storage";
  options.serverTarget = "cuda:sm_80";
  EXPECT_THAT(std::string(compileForFakeGpu(mnist(), options).status().message()),
              HasSubstr("the server target 'cuda:sm_80' does not go with the target 'cuda:sm_90'"));
}

// Whatever call of a worker's driver fails, the server ends with the others.
TEST(CudaServersErrors, EveryErrorOfAWorkerEndsAll) {
  ExecuteOptions options = mnistOptions();
  options.mesh = "data=1";
  options.strategy = "central-storage";
  options.run.steps = 1;
  auto plan = compileForFakeGpu(mnist(), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  int failures = 0;
  for (bool failed = true; failed && failures < 300; failures += failed) {
    std::vector<std::shared_ptr<FakeLog>> logs{std::make_shared<FakeLog>(), nullptr};
    options.run.makeDevice = fakeDevices(logs, [&](FakeDriver &driver, int) { driver.failAt(failures); });
    auto result = runOnce(*plan, {}, options.run);
    failed = !result.ok();
    if (failed)
      EXPECT_THAT(std::string(result.status().message()), HasSubstr("CUDA_ERROR_"));
    EXPECT_THAT(logs[0]->violations, IsEmpty()) << "after failure " << failures;
    EXPECT_EQ(logs[0]->allocatedBytes, 0u);
  }
  EXPECT_GT(failures, 20);
  EXPECT_LT(failures, 300);
}

} // namespace
