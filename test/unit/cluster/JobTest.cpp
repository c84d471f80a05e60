// Whole jobs of real processes: what they print and how they end when one of
// them is wrong, is killed, stops, or is interrupted.
#include "../collective/TwoHosts.h"
#include "JobProcess.h"

#include "runtime/base/Sanitizers.h"
#include "runtime/cluster/Signals.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <random>
#include <set>

namespace dgc::rt {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using namespace test;

std::set<std::string> sharedMemoryNames() {
  std::set<std::string> names;
  for (auto &e : std::filesystem::directory_iterator("/dev/shm"))
    names.insert(e.path().filename());
  return names;
}

const int kCluster = static_cast<int>(ExitCode::Cluster);
const int kPeerFailed = static_cast<int>(ExitCode::PeerFailed);

TEST(Job, LaunchesWorkersThatFinish) {
  for (const char *transport : {"shared-memory", "tcp"}) {
    Process job({"--nproc", "3", "--transport", transport});
    EXPECT_EQ(job.wait(), 0) << job.output();
    EXPECT_EQ(job.output(), absl::StrCat("first step done\ndone over ", transport, "\n"));
  }
}

TEST(Job, WorkersStartedOneByOneMeet) {
  auto p = startMembers({{1, 3, {}}, {2, 3, {}}});
  EXPECT_FALSE(p[0].printed("step", 0.3)) << "they wait for rank 0";
  p.clear();
  p = startMembers({{1, 3, {}}, {2, 3, {}}, {0, 3, {}}});
  for (Process &each : p)
    EXPECT_EQ(each.wait(), 0) << each.output();
  EXPECT_THAT(p[2].output(), HasSubstr("done over shared-memory"));
}

TEST(Job, TheEnvironmentSaysWhoOneIs) {
  std::string port = absl::StrCat(freePort());
  std::vector<Process> p;
  for (const char *rank : {"0", "1"})
    p.emplace_back(std::vector<std::string>{},
                   std::vector<std::string>{absl::StrCat("RANK=", rank), "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1",
                                            "MASTER_PORT=" + port});
  for (Process &each : p)
    EXPECT_EQ(each.wait(), 0) << each.output();
}

TEST(Job, WrongWorldSizeIsToldToEveryRank) {
  auto p = startMembers({{0, 3, {}}, {1, 3, {}}, {2, 4, {}}});
  for (Process &each : p) {
    EXPECT_EQ(each.wait(), kCluster);
    EXPECT_THAT(each.output(),
                ContainsRegex("rank 2 \\(process .*\\) was started for 4 workers, the coordinator for 3"));
  }
}

TEST(Job, ADuplicateRankIsToldToEveryRank) {
  auto p = startMembers({{0, 3, {}}, {1, 3, {}}, {1, 3, {}}});
  for (Process &each : p) {
    EXPECT_EQ(each.wait(), kCluster);
    EXPECT_THAT(each.output(), HasSubstr("two workers say that they are rank 1"));
  }
}

TEST(Job, ASecondRankZeroIsToldToEveryRank) {
  auto p = startMembers({{0, 3, {}}, {0, 3, {}}, {1, 3, {}}});
  for (Process &each : p) {
    EXPECT_EQ(each.wait(), kCluster);
    EXPECT_THAT(each.output(), HasSubstr("two workers say that they are rank 0"));
  }
}

TEST(Job, AnotherPlanIsToldToEveryRank) {
  auto p = startMembers({{0, 3, {}}, {1, 3, {"--digest", "zzzzzz"}}, {2, 3, {}}});
  for (Process &each : p) {
    EXPECT_EQ(each.wait(), kCluster);
    // Whoever comes second differs from whoever came first.
    EXPECT_THAT(each.output(), ContainsRegex("rank [012] .* runs another plan .*(7a7a7a7a7a7a|612070)"));
  }
}

TEST(Job, MissingWorkersAreNamedOnEveryRank) {
  auto p = startMembers({{0, 4, {"--join-timeout", "1"}}, {2, 4, {"--join-timeout", "3"}}});
  for (Process &each : p) {
    EXPECT_EQ(each.wait(), kCluster);
    EXPECT_THAT(each.output(), HasSubstr("ranks 1 and 3 of 4 did not join within 1"));
  }
}

TEST(Job, NoCoordinator) {
  auto p = startMembers({{1, 2, {"--join-timeout", "1"}}});
  EXPECT_EQ(p[0].wait(), kCluster);
  EXPECT_THAT(p[0].output(), HasSubstr("no coordinator at 127.0.0.1:"));
}

TEST(Job, OtherMachinesNeedInsecure) {
  Process p({"--rank", "0", "--world-size", "2", "--coordinator", "192.0.2.1:29400"});
  EXPECT_EQ(p.wait(), static_cast<int>(ExitCode::Usage));
  EXPECT_THAT(p.output(), HasSubstr("192.0.2.1:29400 is not a loopback address"));
}

TEST(Job, AWorkersErrorReachesAllAndIsTheCodeOfTheJob) {
  Process job({"--nproc", "3", "--steps", "100", "--fail-at", "5:1"});
  EXPECT_EQ(job.wait(), static_cast<int>(ExitCode::BadData));
  EXPECT_THAT(job.output(), HasSubstr("\n[rank 1] cluster_worker: the data file is damaged\n"));
  EXPECT_THAT(job.output(), HasSubstr("\n[rank 2] cluster_worker: rank 1 failed: the data file is damaged\n"));
  EXPECT_THAT(job.output(), HasSubstr("\ncluster_worker: rank 1 failed: the data file is damaged\n"));
}

TEST(Job, AWorkerThatExitsWithoutAWordIsNamed) {
  Process job({"--nproc", "2", "--steps", "100", "--exit-at", "5:1"});
  EXPECT_EQ(job.wait(), 9);
  EXPECT_THAT(job.output(), HasSubstr("rank 1 ended early with exit code 9 at step 5, op 0 (compute)"));
}

/// Kills one worker of a running job and checks what issue 3 promises. `hang`:
/// the others do not stop by themselves.
void killOne(int worldSize, int victim, const std::string &transport, bool hang, unsigned afterMs) {
  auto namesBefore = sharedMemoryNames();
  std::vector<std::string> arguments = {
      "--nproc", absl::StrCat(worldSize), "--steps", "1000000000", "--step-us", "50", "--silence",
      "20",      "--transport",           transport};
  if (hang)
    arguments.emplace_back("--hang-on-abort");
  Process job(arguments);
  ASSERT_TRUE(job.printed("first step done")) << job.output();
  usleep(afterMs * 1000);
  std::map<int, pid_t> workers = workersOf(job.pid);
  ASSERT_EQ(workers.size(), static_cast<size_t>(worldSize));
  double killed = now();
  kill(workers[victim], SIGKILL);
  EXPECT_EQ(job.wait(10), kPeerFailed);
  EXPECT_LT(job.ended - killed, 2.0); // promised: 1 s; benchmarks/faults measures
  for (auto &[rank, pid] : workers) {
    EXPECT_FALSE(runs(pid)) << "rank " << rank << " is left";
    if (rank == victim)
      continue;
    std::string prefix = rank == 0 ? "\n" : absl::StrCat("\\[rank ", rank, "\\] ");
    EXPECT_THAT(job.output(), ContainsRegex(absl::StrCat(prefix, "(cluster_worker|dgc-run: error): rank ", victim,
                                                         " was killed by signal 9 \\(Killed\\) at step [0-9]+, op "
                                                         "[01] \\((compute|all_reduce)\\)")));
  }
  EXPECT_EQ(sharedMemoryNames(), namesBefore);
}

TEST(Job, KillingARandomWorkerEndsAllWithinASecond) {
  std::mt19937 random(getpid());
  for (int i = 0; i < 5; ++i) {
    int worldSize = 2 + random() % 3;
    int victim = random() % worldSize;
    SCOPED_TRACE(absl::StrCat("rank ", victim, " of ", worldSize));
    killOne(worldSize, victim, "shared-memory", false, random() % 300);
  }
}

TEST(Job, KillingAWorkerOverTcp) { killOne(3, 1, "tcp", false, 50); }

TEST(Job, AWorkerThatHangsInItsEndIsEnded) { killOne(3, 2, "shared-memory", true, 50); }

TEST(Job, ThePositionOfADeadWorkerIsExact) {
  // Rank 1 stops itself for good in step 7, before its all-reduce.
  Process job({"--nproc", "2", "--steps", "20", "--stop-at", "7:1", "--silence", "20"});
  ASSERT_TRUE(job.printed("first step done"));
  usleep(300'000); // heartbeats repeat the same
  kill(workersOf(job.pid)[1], SIGKILL);
  EXPECT_EQ(job.wait(), kPeerFailed);
  EXPECT_THAT(job.output(), HasSubstr("rank 1 was killed by signal 9 (Killed) at step 7, op 0 (compute)"));
}

TEST(Job, KillingTheRankThatHostsTheCoordinator) {
  std::vector<std::string> more = {"--steps", "1000000000", "--step-us", "50"};
  auto p = startMembers({{0, 3, more}, {1, 3, more}, {2, 3, more}});
  ASSERT_TRUE(p[0].printed("first step done"));
  double killed = now();
  kill(p[0].pid, SIGKILL);
  for (int r : {1, 2}) {
    EXPECT_EQ(p[r].wait(10), kPeerFailed);
    EXPECT_LT(p[r].ended - killed, 2.0); // promised: 1 s; benchmarks/faults measures
    EXPECT_THAT(p[r].output(),
                ContainsRegex("rank 0, which has the coordinator 127.0.0.1:[0-9]+, died at step [0-9]+, op [01]"));
  }
}

TEST(Job, KillingAnotherRankWithoutALauncher) {
  std::vector<std::string> more = {"--steps", "1000000000", "--step-us", "50"};
  auto p = startMembers({{0, 3, more}, {1, 3, more}, {2, 3, more}});
  ASSERT_TRUE(p[0].printed("first step done"));
  double killed = now();
  kill(p[1].pid, SIGKILL);
  for (int r : {0, 2}) {
    EXPECT_EQ(p[r].wait(10), kPeerFailed);
    EXPECT_LT(p[r].ended - killed, 2.0); // promised: 1 s; benchmarks/faults measures
    EXPECT_THAT(p[r].output(), ContainsRegex("rank 1 \\(process [0-9]+ on .*\\) died at step [0-9]+, op [01]"));
  }
}

TEST(Job, AStoppedWorkerIsLost) {
  std::vector<std::string> more = {"--steps", "1000000000", "--step-us", "50", "--silence", "1"};
  auto p = startMembers({{0, 2, more}, {1, 2, more}});
  ASSERT_TRUE(p[0].printed("first step done"));
  kill(p[1].pid, SIGSTOP);
  EXPECT_EQ(p[0].wait(10), kPeerFailed);
  EXPECT_THAT(p[0].output(), ContainsRegex("rank 1 .* has not been heard of for 1"));
}

/// Two workers on two "machines", for as many steps as it takes.
std::vector<Process> startOnTwoHosts(const test::TwoHosts &hosts, const std::vector<std::string> &more) {
  std::vector<Process> p;
  for (int r : {0, 1}) {
    std::vector<std::string> arguments = {"--rank",     absl::StrCat(r), "--world-size",
                                          "2",          "--transport",   "tcp",
                                          "--insecure", "--coordinator", test::TwoHosts::address(0) + ":29400"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    p.emplace_back(arguments, std::vector<std::string>{}, [&hosts, r] { return hosts.enter(r); });
  }
  return p;
}

TEST(Job, BetweenTwoHosts) {
  test::TwoHosts hosts;
  if (!hosts.usable)
    GTEST_SKIP() << test::TwoHosts::skipReason();
  auto p = startOnTwoHosts(hosts, {});
  for (Process &each : p)
    EXPECT_EQ(each.wait(), 0) << each.output();
  EXPECT_THAT(p[0].output(), HasSubstr("done over tcp"));
}

TEST(Job, ACutCableIsNoticedOnBothHosts) {
  test::TwoHosts hosts;
  if (!hosts.usable)
    GTEST_SKIP() << test::TwoHosts::skipReason();
  auto p = startOnTwoHosts(hosts, {"--steps", "1000000000", "--step-us", "50", "--silence", "1"});
  ASSERT_TRUE(p[0].printed("first step done")) << p[0].output() << p[1].output();
  ASSERT_TRUE(hosts.cut());
  for (Process &each : p)
    EXPECT_EQ(each.wait(10), kPeerFailed);
  EXPECT_THAT(p[0].output(), ContainsRegex("rank 1 .* has not been heard of for 1.* s: stopped, or its machine or "
                                           "network is down; last seen at step [0-9]+, (op [01]|between)"));
  EXPECT_THAT(p[1].output(), ContainsRegex("rank 0, which has the coordinator 10.79.79.1:29400, has not been heard of "
                                           "for 1.* s: .* last seen at step [0-9]+, (op [01]|between)"));
}

TEST(Job, InterruptStopsAllCleanly) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Process job({"--nproc", "3", "--steps", "1000000000", "--step-us", "50"});
    ASSERT_TRUE(job.printed("first step done"));
    auto workers = workersOf(job.pid);
    // The launcher and then the whole group, as timeout does it: the second one is not a second Ctrl-C.
    kill(job.pid, signal);
    kill(-job.pid, signal);
    EXPECT_EQ(job.wait(5), 130);
    for (auto &[rank, pid] : workers)
      EXPECT_FALSE(runs(pid)) << rank;
    EXPECT_THAT(job.output(), HasSubstr(signal == SIGINT    ? "interrupted (Ctrl-C)"
                                        : signal == SIGTERM ? "interrupted (SIGTERM)"
                                                            : "interrupted (SIGHUP)"));
  }
}

// UCX takes SIGHUP for itself when it is loaded.
TEST(Job, HangUpOfOneStopsAllWithoutALauncher) {
  std::vector<std::string> more = {"--steps", "1000000000", "--step-us", "50"};
  auto p = startMembers({{0, 2, more}, {1, 2, more}});
  ASSERT_TRUE(p[0].printed("first step done"));
  kill(p[1].pid, SIGHUP);
  EXPECT_EQ(p[1].wait(5), 130);
  EXPECT_EQ(p[0].wait(5), 130);
  EXPECT_THAT(p[0].output(), HasSubstr("rank 1 was interrupted (SIGHUP)"));
}

TEST(Job, ASignalThatIsIgnoredStaysIgnored) {
  if (dgc::rt::hasThreadSanitizer)
    GTEST_SKIP() << "the processes that look up symbols for the sanitizer are of the same group, and do not ignore it";
  for (int ignored : {SIGHUP, SIGINT}) {
    Process job({"--nproc", "2", "--steps", "2000", "--step-us", "500"}, {},
                [ignored] { return signal(ignored, SIG_IGN) != SIG_ERR; }); // as nohup does
    ASSERT_TRUE(job.printed("first step done"));
    kill(-job.pid, ignored);
    EXPECT_EQ(job.wait(), 0) << job.output();
  }
}

TEST(Signals, TheSameSignalLaterEndsTheProcess) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGINT, SIG_DFL); // a shell starts what is in the background with SIGINT ignored
    SignalWatcher watcher([](int) {});
    (void)!write(ready[1], "r", 1);
    for (;;)
      pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  int status = 0;
  for (int i = 0; i < 3; ++i, usleep(20'000))
    kill(child, SIGINT);
  usleep(500'000);
  EXPECT_EQ(waitpid(child, &status, WNOHANG), 0);
  kill(child, SIGINT);
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

TEST(Signals, TheSecondOfTwoMayComeAfterTheWatcher) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGINT, SIG_DFL);
    for (int i = 0; i < 2; ++i) { // a second watcher is not confused by what the first one left
      {
        SignalWatcher watcher([](int) {});
        raise(SIGTERM);
      }
      raise(SIGTERM);
    }
    raise(SIGINT); // which has not come before
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

/// The signals that a sanitizer handles to report a crash, as a mask of /proc/PID/status.
uint64_t signalsOfSanitizer() {
  uint64_t mask = 0;
  if (dgc::rt::hasAddressSanitizer || dgc::rt::hasThreadSanitizer)
    for (int signal : {SIGILL, SIGBUS, SIGFPE, SIGSEGV})
      mask |= uint64_t{1} << (signal - 1);
  return mask;
}

TEST(Job, NoLibraryHandlesSignals) {
  Process job({"--nproc", "2", "--steps", "1000000000", "--step-us", "50"});
  ASSERT_TRUE(job.printed("first step done"));
  for (auto &[rank, pid] : workersOf(job.pid)) {
    std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("SigCgt:")) {
        // Workers of a launcher are stopped by it; signals from 32 on are the C library's.
        EXPECT_EQ(std::stoull(line.substr(8), nullptr, 16) & 0x7fffffff & ~signalsOfSanitizer(), 0u) << line;
      }
  }
}

TEST(Job, UcxIsNotUsedOverTcp) {
  Process job({"--nproc", "2", "--transport", "ucx"}, {"UCX_TLS=tcp,self"});
  EXPECT_EQ(job.wait(), static_cast<int>(ExitCode::Usage));
  EXPECT_THAT(job.output(), HasSubstr("UCX_TLS is 'tcp,self', which asks for TCP"));
}

TEST(Job, InterruptOfOneStopsAllWithoutALauncher) {
  std::vector<std::string> more = {"--steps", "1000000000", "--step-us", "50"};
  auto p = startMembers({{0, 2, more}, {1, 2, more}});
  ASSERT_TRUE(p[0].printed("first step done"));
  kill(p[1].pid, SIGINT);
  EXPECT_EQ(p[1].wait(5), 130);
  EXPECT_EQ(p[0].wait(5), 130);
  EXPECT_THAT(p[0].output(), HasSubstr("rank 1 was interrupted (Ctrl-C)"));
}

TEST(Job, TheLaunchersDeathEndsTheWorkers) {
  Process job({"--nproc", "3", "--steps", "1000000000", "--step-us", "50"});
  ASSERT_TRUE(job.printed("first step done"));
  auto workers = workersOf(job.pid);
  kill(job.pid, SIGKILL);
  EXPECT_EQ(job.wait(5), -SIGKILL);
  for (auto &[rank, pid] : workers) {
    for (int i = 0; i < 1000 && runs(pid); ++i)
      usleep(1000);
    EXPECT_FALSE(runs(pid)) << rank;
  }
}

} // namespace
} // namespace dgc::rt
