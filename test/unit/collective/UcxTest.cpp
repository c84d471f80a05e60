// The suite over UCX: on the loopback interface, and between two network
// namespaces that stand for two hosts.
#include "Processes.h"
#include "TransportSuite.h"

#include "runtime/collective/Ucx.h"

#include <cstdlib>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dgc::rt::test {
namespace {

std::string ucxRank(int rank, int worldSize, const std::string &device, const TransportOptions &options,
                    const Exchange &exchange, const RankProgram &program) {
  Abort abort;
  auto segment = SharedSegment::create(rank, worldSize, options);
  if (!segment.ok())
    return "error: " + segment.status().ToString();
  auto endpoint = UcxEndpoint::create(rank, worldSize, std::move(*segment), options, abort, device);
  if (!endpoint.ok())
    return "error: " + endpoint.status().ToString();
  std::vector<std::string> all = exchange((*endpoint)->address());
  auto transport = std::move(**endpoint).connect(all);
  if (!transport.ok())
    return "error: " + transport.status().ToString();
  std::string result = program(**transport);
  exchange("done");
  return result;
}

std::vector<std::string> runLoopback(int worldSize, const TransportOptions &options, const RankProgram &program) {
  return forkRanks(worldSize, [&](int rank, const Exchange &exchange) {
    return ucxRank(rank, worldSize, "lo", options, exchange, program);
  });
}

INSTANTIATE_TEST_SUITE_P(Ucx, TransportSuite, ::testing::ValuesIn(suiteCases({"Loopback", runLoopback})), caseName);

// --- Two network namespaces ---------------------------------------------------

bool shell(const std::string &command) { return system((command + " >/dev/null 2>&1").c_str()) == 0; }

/// Two namespaces joined by a pair of interfaces; gone with the object.
class TwoHosts {
public:
  TwoHosts() {
    for (int h = 0; h < 2; ++h)
      if (!shell("ip netns add " + name(h)))
        return;
    std::string ends[2] = {"dgcA" + id, "dgcB" + id};
    bool ok =
        shell("ip link add " + ends[0] + " netns " + name(0) + " type veth peer name " + ends[1] + " netns " + name(1));
    for (int h = 0; h < 2; ++h) {
      std::string in = "ip -n " + name(h) + " ";
      device[h] = ends[h];
      ok = ok && shell(in + "link set lo up") &&
           shell(in + "addr add 10.79.79." + std::to_string(h + 1) + "/24 dev " + ends[h]) &&
           shell(in + "link set " + ends[h] + " up");
    }
    // The kernel takes up to a second to call a new link running.
    for (int h = 0; h < 2 && ok; ++h)
      for (int i = 0; !(ok = shell("ip -n " + name(h) + " link show " + device[h] + " | grep -q 'state UP'")) && i < 30;
           ++i)
        usleep(100'000);
    usable = ok;
  }
  ~TwoHosts() {
    for (int h = 0; h < 2; ++h)
      shell("ip netns del " + name(h));
  }
  /// Moves the calling process to host `h`.
  bool enter(int h) const {
    std::string path = "/run/netns/" + name(h);
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
    if (fd >= 0)
      close(fd);
    // UCX reads the interfaces from /sys, which shows those of the namespace
    // that it was mounted in.
    return ok && unshare(CLONE_NEWNS) == 0 && mount("", "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
           mount("dgc", "/sys", "sysfs", 0, nullptr) == 0;
  }

  bool usable = false;
  std::string device[2];

private:
  std::string name(int h) const { return "dgc-" + id + "-" + std::to_string(h); }
  std::string id = std::to_string(getpid() % 100000);
};

TwoHosts &hosts() {
  static TwoHosts both;
  return both;
}

std::vector<std::string> runBetweenHosts(int worldSize, const TransportOptions &options, const RankProgram &program) {
  return forkRanks(worldSize, [&](int rank, const Exchange &exchange) {
    if (!hosts().enter(rank % 2))
      return std::string("error: cannot enter the namespace");
    return ucxRank(rank, worldSize, hosts().device[rank % 2], options, exchange, program);
  });
}

std::string noNamespaces() {
  return hosts().usable ? ""
                        : "network namespaces are not allowed here (ip netns add and a "
                          "pair of veth interfaces need CAP_NET_ADMIN and iproute2)";
}

INSTANTIATE_TEST_SUITE_P(UcxBetweenNamespaces, TransportSuite,
                         ::testing::Values(SuiteCase{{"Namespaces", runBetweenHosts, noNamespaces}, 2},
                                           SuiteCase{{"Namespaces", runBetweenHosts, noNamespaces}, 4}),
                         caseName);

TEST(Ucx, FindsTheInterfaceTowardsAHost) {
  EXPECT_EQ(interfaceTowards("127.0.0.1"), "lo");
  EXPECT_EQ(interfaceTowards("no.such.host.invalid"), "");
}

} // namespace
} // namespace dgc::rt::test
