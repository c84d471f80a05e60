// The suite over UCX: on the loopback interface, and between two network
// namespaces that stand for two hosts.
#include "Processes.h"
#include "TransportSuite.h"
#include "TwoHosts.h"

#include "runtime/collective/Ucx.h"

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
