// The suite over UCX. Where there is no network of RDMA it runs over TCP, which a job does not use.
#include "Processes.h"
#include "TransportSuite.h"

#include "runtime/collective/Ucx.h"

#include <cstdlib>

namespace dgc::rt::test {
namespace {

std::string ucxRank(int rank, int worldSize, const std::string &device, const TransportOptions &options,
                    const Exchange &exchange, const RankProgram &program) {
  Abort abort;
  setenv("UCX_TLS", "tcp,self", 1);
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

std::vector<std::string> runOneHost(int worldSize, const TransportOptions &options, const RankProgram &program) {
  return forkRanks(worldSize, [&](int rank, const Exchange &exchange) {
    return ucxRank(rank, worldSize, "lo", options, exchange, program);
  });
}

INSTANTIATE_TEST_SUITE_P(Ucx, TransportSuite,
                         ::testing::Values(SuiteCase{{"OneHost", runOneHost}, 2},
                                           SuiteCase{{"OneHost", runOneHost}, 3}),
                         caseName);

TEST(Ucx, TellsWhetherAPortForTcpIsAskedFor) {
  for (const char *tls : {"tcp", "tcp,self", "self,tcp", "all", "^rc", "^rc,ud"})
    EXPECT_TRUE(ucxAsksForTcp(tls)) << tls;
  for (const char *tls : {"rc,self", "^tcp", "^rc,tcp", "sm,self", "rc_mlx5"})
    EXPECT_FALSE(ucxAsksForTcp(tls)) << tls;
}

} // namespace
} // namespace dgc::rt::test
