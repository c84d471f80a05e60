// The suite over TCP: on the loopback interface, and between two network namespaces that stand for two hosts; what
// strangers at the port can do, which is nothing; and what an unreachable rank is called.
#include "Processes.h"
#include "TransportSuite.h"
#include "TwoHosts.h"

#include "runtime/base/ExitCode.h"
#include "runtime/collective/Tcp.h"
#include "runtime/net/Handshake.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <gmock/gmock.h>

#include <thread>

#include <sys/socket.h>
#include <unistd.h>

namespace dgc::rt::test {
namespace {

using ::testing::HasSubstr;

std::string tcpRank(int rank, int worldSize, const std::string &host, const TransportOptions &options,
                    const Exchange &exchange, const RankProgram &program) {
  Abort abort;
  auto segment = SharedSegment::create(rank, worldSize, options);
  if (!segment.ok())
    return "error: " + segment.status().ToString();
  auto endpoint = TcpEndpoint::create(rank, worldSize, std::move(*segment), options, abort, host);
  if (!endpoint.ok())
    return "error: " + endpoint.status().ToString();
  std::vector<std::string> all = exchange((*endpoint)->announcement());
  auto transport = std::move(**endpoint).connect(all, 20);
  if (!transport.ok())
    return "error: " + transport.status().ToString();
  exchange("connected");
  std::string result = program(**transport);
  exchange("done");
  return result;
}

std::vector<std::string> runLoopback(int worldSize, const TransportOptions &options, const RankProgram &program) {
  return forkRanks(worldSize, [&](int rank, const Exchange &exchange) {
    return tcpRank(rank, worldSize, "127.0.0.1", options, exchange, program);
  });
}

INSTANTIATE_TEST_SUITE_P(Tcp, TransportSuite, ::testing::ValuesIn(suiteCases({"Loopback", runLoopback})), caseName);

std::vector<std::string> runEncrypted(int worldSize, TransportOptions options, const RankProgram &program) {
  options.encrypted = true;
  return runLoopback(worldSize, options, program);
}

INSTANTIATE_TEST_SUITE_P(TcpEncrypted, TransportSuite, ::testing::ValuesIn(suiteCases({"Encrypted", runEncrypted})),
                         caseName);

TEST(Tcp, AllEncryptOrNone) {
  std::vector<std::string> results = forkRanks(2, [&](int rank, const Exchange &exchange) {
    TransportOptions options;
    options.sharedBytes = 4096;
    options.encrypted = rank == 1;
    return tcpRank(rank, 2, "127.0.0.1", options, exchange, [](Transport &) { return std::string("connected"); });
  });
  for (const std::string &result : results)
    EXPECT_THAT(result, HasSubstr("rank 1 encrypts tensors, and rank 0 does not: give all workers the same "
                                  "--data-encryption"));
}

// --- Two network namespaces ---------------------------------------------------

TwoHosts &hosts() {
  static TwoHosts both;
  return both;
}

std::vector<std::string> runBetweenHosts(int worldSize, const TransportOptions &options, const RankProgram &program) {
  return forkRanks(worldSize, [&](int rank, const Exchange &exchange) {
    if (!hosts().enter(rank % 2))
      return std::string("error: cannot enter the namespace");
    return tcpRank(rank, worldSize, TwoHosts::address(rank % 2), options, exchange, program);
  });
}

std::string noNamespaces() { return hosts().usable ? "" : TwoHosts::skipReason(); }

INSTANTIATE_TEST_SUITE_P(TcpBetweenNamespaces, TransportSuite,
                         ::testing::Values(SuiteCase{{"Namespaces", runBetweenHosts, noNamespaces}, 2},
                                           SuiteCase{{"Namespaces", runBetweenHosts, noNamespaces}, 4}),
                         caseName);

TEST(Tcp, FindsTheInterfaceTowardsAHost) {
  EXPECT_EQ(interfaceTowards("127.0.0.1"), "lo");
  EXPECT_EQ(interfaceTowards("no.such.host.invalid"), "");
  EXPECT_EQ(sourceAddressTowards("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(sourceAddressTowards("no.such.host.invalid"), "");
}

/// Connects to HOST PORT of an announcement.
Socket stranger(const std::string &announcement) {
  std::vector<std::string> parts = absl::StrSplit(announcement, ' ');
  auto addresses = resolveHost(parts[0], std::stoi(parts[1]));
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.fd(), addresses->front().get(), addresses->front().length) != 0)
    return Socket();
  return socket;
}

TransportOptions smallArena() {
  TransportOptions options;
  options.sharedBytes = 4096;
  return options;
}

// Strangers that say nothing, one byte, garbage, and the first half of a handshake, while the ranks connect; afterwards
// no port is open.
TEST(Tcp, StrangersAtThePortDisturbNothing) {
  auto results = forkRanks(3, [&](int rank, const Exchange &exchange) -> std::string {
    Abort abort;
    const TransportOptions options = smallArena();
    auto endpoint = TcpEndpoint::create(rank, 3, *SharedSegment::create(rank, 3, options), options, abort, "127.0.0.1");
    std::vector<std::string> all = exchange((*endpoint)->announcement());
    std::vector<Socket> open;
    for (const std::string &each : all)
      for (const std::string &text : {std::string(), std::string("x"), std::string(100, '\xff'),
                                      std::string("dgc job2"), std::string(60, '\0')}) {
        Socket s = stranger(each);
        if (!s)
          return "error: cannot connect";
        (void)!send(s.fd(), text.data(), text.size(), MSG_NOSIGNAL);
        open.push_back(std::move(s));
      }
    exchange("strangers are there");
    auto transport = std::move(**endpoint).connect(all, 20);
    if (!transport.ok())
      return "error: " + transport.status().ToString();
    exchange("connected");
    for (const std::string &each : all)
      if (stranger(each))
        return "error: a port is still open";
    absl::Status met = (*transport)->barrier();
    exchange("done");
    return met.ok() ? "met" : "error: " + met.ToString();
  });
  EXPECT_EQ(results, (std::vector<std::string>{"met", "met", "met"}));
}

TEST(Tcp, ARankThatCannotBeReachedIsNamed) {
  auto results = forkRanks(2, [&](int rank, const Exchange &exchange) -> std::string {
    Abort abort;
    const TransportOptions options = smallArena();
    auto endpoint = TcpEndpoint::create(rank, 2, *SharedSegment::create(rank, 2, options), options, abort, "127.0.0.1");
    std::vector<std::string> all = exchange((*endpoint)->announcement());
    if (rank == 1)
      all[1] += "0"; // other secrets, so that rank 0 does not let it in
    auto transport = std::move(**endpoint).connect(all, 0.5);
    if (exitCodeOf(transport.status()) != ExitCode::Network)
      return "error: exit code";
    return std::string(transport.status().message());
  });
  EXPECT_THAT(results[0], HasSubstr("rank 1 did not connect to rank 0 at 127.0.0.1:"));
  EXPECT_THAT(results[0], HasSubstr("within 0.5 s"));
  EXPECT_THAT(results[1], HasSubstr("rank 1 does not find rank 0 at 127.0.0.1:"));
  EXPECT_THAT(results[1], HasSubstr("belongs to another job; "));
}

// The first connection of rank 2 to rank 0 is lost before rank 1 has come.
TEST(Tcp, TheLatestConnectionOfARankCounts) {
  int lost[2];
  ASSERT_EQ(pipe(lost), 0);
  auto results = forkRanks(3, [&](int rank, const Exchange &exchange) -> std::string {
    Abort abort;
    const TransportOptions options = smallArena();
    auto endpoint = TcpEndpoint::create(rank, 3, *SharedSegment::create(rank, 3, options), options, abort, "127.0.0.1");
    std::vector<std::string> all = exchange((*endpoint)->announcement());
    if (rank == 2) {
      DialOptions dialing;
      dialing.key = deriveKey("data plane", absl::StrJoin(all, "\n") + "\n");
      dialing.sender = 2;
      dialing.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      std::vector<std::string> parts = absl::StrSplit(all[0], ' ');
      if (!dial(resolveHost(parts[0], std::stoi(parts[1]))->front(), dialing).ok())
        return "error: not admitted";
      (void)!write(lost[1], "l", 1);
    }
    char byte;
    if (rank == 1 && read(lost[0], &byte, 1) == 1)
      usleep(500'000); // rank 2 connects again
    auto transport = std::move(**endpoint).connect(all, 20);
    if (!transport.ok())
      return "error: " + transport.status().ToString();
    absl::Status met = (*transport)->barrier();
    exchange("done");
    return met.ok() ? "met" : "error: " + met.ToString();
  });
  EXPECT_EQ(results, (std::vector<std::string>{"met", "met", "met"}));
}

// Messages of a peer that are received in another order than they were sent in are kept aside.
TEST(Tcp, TakesChannelsInAnyOrder) {
  TransportOptions options;
  options.sharedBytes = 1 << 20;
  auto results = runLoopback(2, options, [](Transport &t) -> std::string {
    constexpr uint32_t kChannels = 5;
    constexpr size_t kBytes = 100'000;
    std::vector<std::vector<std::byte>> memory(kChannels, std::vector<std::byte>(kBytes));
    for (uint32_t i = 0; i < kChannels; ++i) {
      const uint32_t channel = t.rank() == 0 ? i : kChannels - 1 - i;
      std::span<std::byte> part = t.rank() == 0 ? t.sharedArena().subspan(channel * kBytes, kBytes) : memory[channel];
      if (t.rank() == 0)
        std::fill(part.begin(), part.end(), std::byte(channel + 1));
      auto op = t.rank() == 0 ? t.prepareSend(channel, 1, part) : t.prepareReceive(channel, 0, part);
      if (absl::Status s = (*op)->run(); !s.ok())
        return "error: " + s.ToString();
    }
    for (uint32_t i = 0; i < kChannels && t.rank() == 1; ++i)
      if (std::count(memory[i].begin(), memory[i].end(), std::byte(i + 1)) != kBytes)
        return "error: wrong bytes";
    return t.waits().moved() > kChannels * kBytes ? "right" : "error: not counted";
  });
  EXPECT_EQ(results, (std::vector<std::string>{"right", "right"}));
}

TEST(Tcp, ALostConnectionIsNamed) {
  auto results = runLoopback(2, smallArena(), [](Transport &t) -> std::string {
    if (t.rank() == 1)
      _exit(0);
    absl::Status s = t.barrier();
    return exitCodeOf(s) == ExitCode::Network ? std::string(s.message()) : "error: exit code";
  });
  EXPECT_THAT(results[0], HasSubstr("barrier: rank 0 lost its connection to rank 1: "));
}

} // namespace
} // namespace dgc::rt::test
