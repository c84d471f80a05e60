// Communication between fake GPUs: the tests of all transports, and how transports are chosen.
#include "test/unit/collective/TransportSuite.h"
#include "test/unit/device/cuda/DeviceTransport.h"
#include "test/unit/device/cuda/FakeNccl.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <thread>

using namespace dgc::rt;
using namespace dgc::rt::cuda;
using namespace dgc::testing;
using ::testing::HasSubstr;

namespace dgc::rt::test {
namespace {

RankGroups groupsOfSuite(int worldSize) {
  RankGroups groups;
  RankGroup everyone, even, odd;
  for (uint32_t r = 0; r < static_cast<uint32_t>(worldSize); ++r) {
    everyone.push_back(r);
    (r % 2 ? odd : even).push_back(r);
  }
  groups.devices = groups.transfers = everyone;
  RankGroup reversed(everyone.rbegin(), everyone.rend());
  for (const RankGroup &group : {everyone, even, odd, reversed, RankGroup{2, 0}})
    if (group.size() > 1 && *std::max_element(group.begin(), group.end()) < everyone.size())
      groups.collectives["some"].push_back(group);
  return groups;
}

std::vector<std::string> runOnGpus(int worldSize, const TransportOptions &options, const RankProgram &program,
                                   bool ownGpus, std::shared_ptr<FakePeers> peers, int *operations = nullptr) {
  Abort abort;
  auto transports = createInProcessTransports(worldSize, options, abort);
  FakeNetwork network;
  std::vector<std::string> results(static_cast<size_t>(worldSize));
  std::vector<std::thread> threads;
  for (int r = 0; r < worldSize; ++r)
    threads.emplace_back([&, r] {
      std::string &result = results[static_cast<size_t>(r)];
      auto log = std::make_shared<FakeLog>();
      GpuInfo info{"Fake GPU", 9, 0, uint64_t{1} << 30};
      info.id[0] = static_cast<char>(ownGpus ? r : 0);
      int done = 0;
      {
        FakeDriver driver(log, info);
        if (peers)
          driver.join(peers);
        DeviceTransport transport(*(*transports)[static_cast<size_t>(r)], driver, done);
        absl::Status opened = transport.open(groupsOfSuite(worldSize), [&]() -> absl::StatusOr<NcclFunctions> {
          return network.functions(driver, log);
        });
        if (!opened.ok())
          abort.raise(opened);
        result = opened.ok() ? program(transport) : opened.ToString();
      }
      if (operations && r == 0)
        *operations = done;
      if (!log->violations.empty())
        result = "error: " + log->violations.front();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &violation : network.violations)
    results[0] = "error: " + violation;
  return results;
}

std::vector<SuiteCase> casesOf(const char *name, bool ownGpus, bool processes = false) {
  Harness harness{name, [=](int worldSize, const TransportOptions &options, const RankProgram &program) {
                    auto peers = ownGpus ? nullptr : std::make_shared<FakePeers>();
                    if (peers)
                      peers->areProcesses = processes;
                    return runOnGpus(worldSize, options, program, ownGpus, peers);
                  }};
  harness.namesTheLate = false;
  std::vector<SuiteCase> cases;
  for (int worldSize : ownGpus || processes ? std::vector{1, 2, 4} : std::vector{2})
    cases.push_back({harness, worldSize});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Nccl, TransportSuite, ::testing::ValuesIn(casesOf("Nccl", true)), caseName);
INSTANTIATE_TEST_SUITE_P(Threads, TransportSuite, ::testing::ValuesIn(casesOf("Threads", false)), caseName);
INSTANTIATE_TEST_SUITE_P(Processes, TransportSuite, ::testing::ValuesIn(casesOf("Processes", false, true)), caseName);

// What the suite saw was done by GPUs: but for types that NCCL lacks.
TEST(Communication, IsDoneByGpus) {
  for (bool ownGpus : {true, false})
    for (DType type : {DType::F32, DType::U16}) {
      TransportOptions options;
      options.sharedBytes = 4096;
      auto peers = ownGpus ? nullptr : std::make_shared<FakePeers>();
      int operations = 0;
      auto results = runOnGpus(
          2, options,
          [&](Transport &t) {
            CollectiveDesc desc;
            desc.dtype = type;
            desc.group = {0, 1};
            desc.srcCount = desc.dstCount = 10;
            desc.dst = 1024;
            return (*t.prepare(desc))->run().ToString();
          },
          ownGpus, peers, &operations);
      EXPECT_EQ(results, std::vector<std::string>(2, "OK"));
      EXPECT_EQ(operations, ownGpus && type == DType::U16 ? 0 : 1) << ownGpus;
    }
}

// A member that stays away: the others end in time, and abort.
TEST(Communication, WaitsForMembersNoLongerThanItMay) {
  TransportOptions options;
  options.sharedBytes = 4096;
  options.timeoutSeconds = 0.3;
  for (bool ownGpus : {true, false}) {
    auto results = runOnGpus(
        2, options,
        [&](Transport &t) {
          CollectiveDesc desc;
          desc.group = {0, 1};
          desc.srcCount = desc.dstCount = 10;
          desc.dst = 1024;
          auto op = t.prepare(desc);
          return t.rank() == 1 ? "stayed away" : (*op)->run().ToString();
        },
        ownGpus, ownGpus ? nullptr : std::make_shared<FakePeers>());
    EXPECT_THAT(results[0], HasSubstr(ownGpus ? "the GPU of rank 0 has worked for more than 0.3 s"
                                              : "rank 0 waited 0.3 s in a barrier of its group for rank 1"));
    EXPECT_EQ(results[1], "stayed away");
  }
}

// Memory that cannot be shared or opened: all go through the host, and say why.
TEST(Communication, FallsBackOnTheHost) {
  for (bool opens : {true, false}) {
    auto peers = std::make_shared<FakePeers>();
    peers->areProcesses = true;
    (opens ? peers->refusesToShare : peers->refusesToOpen) = true;
    TransportOptions options;
    options.sharedBytes = 4096;
    auto results = runOnGpus(
        2, options,
        [&](Transport &t) { return static_cast<DeviceTransport &>(t).gpuCommunication().choiceOf({0, 1}).why; }, false,
        peers);
    EXPECT_THAT(results[1], HasSubstr(opens ? "the driver shares no memory between processes"
                                            : "the memory of a GPU cannot be opened by another worker"));
  }
}

} // namespace
} // namespace dgc::rt::test

namespace {

WorkerRecord worker(char gpu, const char *host = "a", uint64_t process = 1, int nccl = 22809) {
  WorkerRecord record;
  record.gpu[0] = gpu;
  std::copy_n(host, 1, record.host.begin());
  record.process = process;
  record.isShared = 1;
  record.nccl = nccl;
  return record;
}

TEST(Transports, AreChosenByWhatWorkersHave) {
  auto choice = [](std::vector<WorkerRecord> members) {
    TransportChoice chosen = chooseTransport(members);
    return nameOf(chosen.transport) + ": " + chosen.why;
  };
  EXPECT_EQ(choice({worker(1), worker(2)}), "NCCL: each worker has a GPU of its own, and there is NCCL 2.28.9");
  EXPECT_EQ(choice({worker(1), worker(2, "b")}), "NCCL: each worker has a GPU of its own, and there is NCCL 2.28.9");
  EXPECT_EQ(choice({worker(1), worker(1)}), "GPU memory: workers share a GPU, which NCCL refuses");
  EXPECT_EQ(choice({worker(1), worker(1), worker(2, "b")}),
            "host-staged: workers share a GPU, which NCCL refuses, and they are on different hosts");
  EXPECT_EQ(choice({worker(1), worker(2, "a", 2, 0)}), "GPU memory: NCCL was not found");
  EXPECT_EQ(choice({worker(1), worker(2, "a", 2, 22803)}), "GPU memory: the workers have different versions of NCCL");
  EXPECT_EQ(choice({worker(1), worker(2, "b", 2, 0)}),
            "host-staged: NCCL was not found, and they are on different hosts");
  WorkerRecord closed = worker(1, "a", 2);
  closed.isShared = 0;
  EXPECT_EQ(choice({worker(1), closed}), "host-staged: workers share a GPU, which NCCL refuses, and the driver shares "
                                         "no memory between processes");
  WorkerRecord asking = worker(2);
  asking.preferences.transport = 3;
  EXPECT_EQ(choice({worker(1), asking}), "host-staged: DGC_CUDA_COMMUNICATION says so");
  asking.preferences.transport = 2;
  EXPECT_EQ(choice({worker(1), asking}), "GPU memory: DGC_CUDA_COMMUNICATION says so");
  asking.preferences.transport = 1;
  asking.gpu[0] = 1;
  EXPECT_EQ(choice({worker(1), asking}),
            "host-staged: DGC_CUDA_COMMUNICATION says nccl, but workers share a GPU, which NCCL refuses");
}

TEST(Transports, AreReadFromTheEnvironment) {
  setenv("DGC_CUDA_COMMUNICATION", "peers", 1);
  setenv("DGC_CUDA_COLLECTIVES", "graph", 1);
  auto preferences = preferencesFromEnvironment();
  ASSERT_TRUE(preferences.ok());
  EXPECT_EQ(preferences->transport, 2);
  EXPECT_EQ(preferences->collectives, 2);
  setenv("DGC_CUDA_COMMUNICATION", "tin cans", 1);
  EXPECT_EQ(preferencesFromEnvironment().status().message(),
            "DGC_CUDA_COMMUNICATION is 'tin cans'; it may be one of auto, nccl, peers, host");
  unsetenv("DGC_CUDA_COMMUNICATION");
  unsetenv("DGC_CUDA_COLLECTIVES");
}

} // namespace
