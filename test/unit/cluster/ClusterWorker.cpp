// A small program in the place of dgc-run: joins or launches a job that
// all-reduces in every step, so that the tests can kill it, stop it and make it
// wrong.
//
//   cluster_worker --nproc N | --rank R --world-size W --coordinator A
//     [--steps N] [--step-us N]     length of a step's "computation", on [--slow-rank R] alone
//     [--until FILE]                end in good order once there is this file
//     [--fail-at STEP:RANK] [--exit-at STEP:RANK] [--stop-at STEP:RANK] [--digest TEXT]
//     [--hang-on-abort] [--join-timeout S] [--stall-timeout S] [--transport NAME] [--insecure]
//     [--data-address A] [--tls-cert FILE --tls-key FILE --tls-ca FILE] [--job-secret FILE]
#include "runtime/base/ExitCode.h"
#include "runtime/cluster/Cluster.h"
#include "runtime/cluster/Identity.h"
#include "runtime/cluster/Launcher.h"
#include "runtime/cluster/Signals.h"

#include "absl/strings/str_cat.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include <unistd.h>

using namespace dgc::rt;

namespace {

std::map<std::string, std::string> flags;

int number(const char *name, int otherwise) {
  auto it = flags.find(name);
  return it == flags.end() ? otherwise : std::stoi(it->second);
}

/// Whether `--name STEP:RANK` is this step of this rank.
bool here(const char *name, int step, int rank) {
  auto it = flags.find(name);
  return it != flags.end() && it->second == absl::StrCat(step, ":", rank);
}

int report(const absl::Status &s) {
  fprintf(stderr, "cluster_worker: %s\n", std::string(s.message()).c_str());
  return static_cast<int>(exitCodeOf(s));
}

absl::Status steps(Cluster &cluster) {
  constexpr uint64_t kCount = 10007;
  Transport &t = cluster.transport();
  CollectiveDesc d;
  for (int r = 0; r < t.worldSize(); ++r)
    d.group.push_back(r);
  d.srcCount = d.dstCount = kCount;
  d.origin = "gradients";
  auto op = t.prepare(d);
  if (!op.ok())
    return op.status();
  auto *data = reinterpret_cast<float *>(t.sharedArena().data());
  for (int step = 0; step < number("steps", 10); ++step) {
    t.progress().set(step, 0);
    for (uint64_t i = 0; i < kCount; ++i)
      data[i] = static_cast<float>(t.rank() + 1) * static_cast<float>(step);
    // What ranks see may differ; all end in the step in which the first of them sees the file.
    data[kCount - 1] = flags.contains("until") && access(flags["until"].c_str(), F_OK) == 0;
    if (here("exit-at", step, t.rank()))
      _exit(9);
    if (here("stop-at", step, t.rank()))
      sleep(1000);
    if (here("fail-at", step, t.rank()))
      return withExitCode(absl::DataLossError("the data file is damaged"), ExitCode::BadData);
    if (number("slow-rank", t.rank()) == t.rank())
      std::this_thread::sleep_for(std::chrono::microseconds(number("step-us", 0)));
    t.progress().set(step, 1);
    if (absl::Status s = (*op)->run(); !s.ok()) {
      if (flags.contains("hang-on-abort"))
        sleep(1000);
      return s;
    }
    const int sumOfRanks = t.worldSize() * (t.worldSize() + 1) / 2;
    auto want = static_cast<float>(step * sumOfRanks);
    for (uint64_t i = 0; i < kCount - 1; ++i)
      if (data[i] != want)
        return absl::InternalError(absl::StrCat("step ", step, ": sum is ", data[i], ", not ", want));
    if (step == 0 && t.rank() == 0)
      printf("first step done\n"), fflush(stdout);
    if (data[kCount - 1] > 0)
      break;
  }
  return absl::OkStatus();
}

} // namespace

int main(int argc, char **argv) {
  removeHandlersOfLibraries();
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i] + 2;
    bool value = i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0;
    flags[name] = value ? argv[++i] : "";
  }
  std::string digest = flags.contains("digest") ? flags["digest"] : "a plan";
  digest.resize(32);

  if (flags.contains("nproc")) {
    LauncherOptions o;
    o.worldSize = number("nproc", 2);
    o.planDigest = digest;
    o.joinTimeoutSeconds = number("join-timeout", 120);
    o.stallTimeoutSeconds = number("stall-timeout", 60);
    o.command.emplace_back(argv[0]);
    for (int i = 1; i < argc; ++i)
      if (!strcmp(argv[i], "--nproc"))
        ++i;
      else
        o.command.emplace_back(argv[i]);
    return runLauncher(o);
  }

  IdentityFlags given;
  if (flags.contains("rank"))
    given.rank = number("rank", 0);
  if (flags.contains("world-size"))
    given.worldSize = number("world-size", 1);
  if (flags.contains("coordinator"))
    given.coordinator = flags["coordinator"];
  auto identity = resolveIdentity(given, processEnvironment());
  if (!identity.ok())
    return report(identity.status());
  ClusterOptions o;
  if (*identity) {
    o.rank = (*identity)->rank;
    o.worldSize = (*identity)->worldSize;
    o.coordinator = (*identity)->coordinator;
  }
  o.planDigest = digest;
  o.producer = "test 1";
  o.transport.sharedBytes = 1 << 20;
  o.joinTimeoutSeconds = number("join-timeout", 120);
  o.stallTimeoutSeconds = number("stall-timeout", 60);
  o.insecure = flags.contains("insecure");
  auto credentials = readCredentials({{flags["tls-cert"], flags["tls-key"], flags["tls-ca"]}, flags["job-secret"]},
                                     processEnvironment());
  if (!credentials.ok())
    return report(credentials.status());
  o.credentials = *std::move(credentials);
  o.dataAddress = flags["data-address"];
  if (flags.contains("transport"))
    o.transportName = flags["transport"];
  if (flags.contains("silence"))
    o.silenceSeconds = number("silence", 10);
  o.notice = [](std::string_view line) { fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data()); };
  o.describeOp = [](uint32_t op) { return op == 0 ? std::string("compute") : std::string("all_reduce"); };
  auto cluster = Cluster::join(o);
  if (!cluster.ok())
    return report(cluster.status());
  absl::Status s = steps(**cluster);
  s = s.ok() ? (*cluster)->leave() : (*cluster)->fail(s);
  if (!s.ok())
    return report(s);
  if (o.rank == 0)
    printf("done over %s\n", std::string((*cluster)->transport().name()).c_str());
  return 0;
}
