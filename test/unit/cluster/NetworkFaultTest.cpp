// Networks that fail between real processes: data that does not arrive while the coordinator is reachable, and pauses.
#include "../collective/TwoHosts.h"
#include "JobProcess.h"

#include "runtime/net/Handshake.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include <poll.h>

namespace dgc::rt {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using namespace test;

/// Two machines whose workers meet in one network and exchange data in another, over the same cable.
class TwoNetworks : public ::testing::Test {
protected:
  void SetUp() override {
    if (!hosts.usable)
      GTEST_SKIP() << TwoHosts::skipReason();
    for (int h = 0; h < 2; ++h)
      ASSERT_TRUE(shell("ip -n " + hosts.name(h) + " addr add " + data(h) + "/24 dev " + hosts.device[h]));
  }

  static std::string data(int host) { return "10.79.80." + std::to_string(host + 1); }
  /// Whether packets from `from` to the other host get through, to its address for the data or for the coordinator.
  void pass(int from, bool forData, bool open) {
    const std::string to = forData ? data(1 - from) : TwoHosts::address(1 - from);
    ASSERT_TRUE(shell("ip -n " + hosts.name(from) + " route " + (open ? "del" : "add") + " blackhole " + to));
  }

  std::vector<Process> start(const std::vector<std::string> &more) {
    std::vector<Process> p;
    for (int r : {0, 1}) {
      std::vector<std::string> arguments = {"--rank",         absl::StrCat(r),
                                            "--world-size",   "2",
                                            "--insecure",     "",
                                            "--coordinator",  TwoHosts::address(0) + ":29400",
                                            "--transport",    "tcp",
                                            "--data-address", data(r)};
      std::erase(arguments, "");
      arguments.insert(arguments.end(), more.begin(), more.end());
      p.emplace_back(arguments, std::vector<std::string>{}, [this, r] { return hosts.enter(r); });
    }
    return p;
  }

  TwoHosts hosts;
};

const int kNetwork = static_cast<int>(ExitCode::Network);

TEST_F(TwoNetworks, DataThatDoesNotArriveEndsTheJobWithWhoWaitsForWhom) {
  auto p = start({"--steps", "1000000000", "--step-us", "50", "--stall-timeout", "2"});
  ASSERT_TRUE(p[0].printed("first step done")) << p[0].output() << p[1].output();
  pass(0, true, false);
  pass(1, true, false);
  for (Process &each : p) {
    EXPECT_EQ(each.wait(20), kNetwork);
    EXPECT_THAT(each.output(), ContainsRegex("ranks 0 and 1 have not advanced for 2 s \\(--stall-timeout\\).*: rank 0 "
                                             "waits for rank 1 at step [0-9]+, op 1 \\(all_reduce\\), rank 1 waits for "
                                             "rank 0 at step [0-9]+, op 1 \\(all_reduce\\)"));
  }
}

TEST_F(TwoNetworks, RanksThatCannotConnectForDataEndInTheTimeToJoin) {
  pass(0, true, false); // what rank 0 answers is lost
  auto p = start({"--join-timeout", "2"});
  for (Process &each : p) {
    EXPECT_EQ(each.wait(20), kNetwork);
    EXPECT_THAT(each.output(),
                AnyOf(ContainsRegex("rank 1 could not connect to rank 0 at 10.79.80.1:[0-9]+ within 2 s"),
                      ContainsRegex("rank 1 did not connect to rank 0 at 10.79.80.1:[0-9]+ within 2 s")));
  }
}

// After three seconds without a way in either direction, TCP sends again after up to three more.
TEST_F(TwoNetworks, APauseOfThreeSecondsEndsNothing) {
  auto p = start({"--steps", "2000", "--step-us", "1000"});
  ASSERT_TRUE(p[0].printed("first step done")) << p[0].output() << p[1].output();
  for (bool open : {false, true}) {
    for (int from : {0, 1})
      for (bool forData : {false, true})
        pass(from, forData, open);
    if (!open)
      usleep(3'200'000);
  }
  for (Process &each : p)
    EXPECT_EQ(each.wait(60), 0) << each.output();
}

// A rank that computes for longer than the time for stalls is waited for.
TEST_F(TwoNetworks, ALongStepIsNoStall) {
  auto p = start({"--steps", "2", "--step-us", "2500000", "--slow-rank", "1", "--stall-timeout", "1"});
  for (Process &each : p)
    EXPECT_EQ(each.wait(60), 0) << each.output();
}

/// Relays connections to a port of this machine. With the first one, once its handshake is through, it does something.
class Relay {
public:
  enum class Then { Pause, Close };
  Relay(int target, Then then) : target(target), then(then), listening(*listenAt("127.0.0.1", 0, 8)) {
    thread = std::thread([this] { run(); });
  }
  ~Relay() {
    stopping = true;
    thread.join();
  }
  int port() const { return boundAddress(listening)->port(); }
  int connections() const { return accepted; }

private:
  void run() {
    std::vector<std::thread> relayed;
    while (!stopping) {
      Socket client(accept4(listening.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) {
        usleep(1000);
        continue;
      }
      const bool isFirst = accepted++ == 0;
      relayed.emplace_back([this, isFirst, client = std::move(client)] { relay(client, isFirst); });
    }
    for (std::thread &each : relayed)
      each.join();
  }
  void relay(const Socket &client, bool isFirst) {
    SocketAddress address = resolveHost("127.0.0.1", target)->front();
    Socket server;
    do {
      server = Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    } while (connect(server.fd(), address.get(), address.length) != 0 && !stopping && usleep(1000) == 0);
    size_t left[] = {isFirst ? sizeof(Response) : ~size_t{0},
                     isFirst ? sizeof(Challenge) + sizeof(HandshakeResult) : ~size_t{0}};
    const int ends[] = {client.fd(), server.fd()};
    while (!stopping) {
      if (left[0] == 0 && left[1] == 0) {
        if (then == Then::Close)
          return;
        usleep(3'200'000);
        left[0] = left[1] = ~size_t{0};
      }
      pollfd entries[] = {{left[0] ? ends[0] : -1, POLLIN, 0}, {left[1] ? ends[1] : -1, POLLIN, 0}};
      poll(entries, 2, 20);
      for (int i : {0, 1}) {
        char buffer[4096];
        if (!entries[i].revents)
          continue;
        const ssize_t n = recv(ends[i], buffer, std::min(left[i], sizeof(buffer)), 0);
        if (n <= 0 || send(ends[1 - i], buffer, n, MSG_NOSIGNAL) != n)
          return;
        left[i] -= n;
      }
    }
  }

  const int target;
  const Then then;
  Socket listening;
  std::atomic<bool> stopping = false;
  std::atomic<int> accepted = 0;
  std::thread thread;
};

/// Two workers, of which one reaches the coordinator through a relay.
void joinThrough(Relay::Then then, int connections) {
  const int port = freePort();
  Relay relay(port, then);
  std::vector<Process> p;
  for (int r : {0, 1})
    p.push_back(Process({"--rank", absl::StrCat(r), "--world-size", "2", "--coordinator",
                         absl::StrCat("127.0.0.1:", r == 0 ? port : relay.port()), "--join-timeout", "20"}));
  for (Process &each : p)
    EXPECT_EQ(each.wait(40), 0) << each.output();
  EXPECT_EQ(relay.connections(), connections);
}

TEST(Join, APauseBehindTheHandshakeIsWaitedFor) { joinThrough(Relay::Then::Pause, 1); }

TEST(Join, AConnectionThatIsLostBehindTheHandshakeIsMadeAgain) { joinThrough(Relay::Then::Close, 2); }

TEST(Join, WhyAHostIsNotFoundIsSaid) {
  Process p({"--rank", "1", "--world-size", "2", "--insecure", "--coordinator", "nosuch.invalid:29400",
             "--join-timeout", "1"});
  EXPECT_EQ(p.wait(), static_cast<int>(ExitCode::Cluster));
  EXPECT_THAT(p.output(),
              ContainsRegex("no coordinator at nosuch.invalid:29400 within 1.* s \\(.*nosuch.invalid.*\\);"));
}

} // namespace
} // namespace dgc::rt
