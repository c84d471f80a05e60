// Who is let in, and what those cost who are not.
#include "runtime/net/Acceptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include <sys/socket.h>
#include <unistd.h>

namespace dgc::rt {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// An acceptor at a loopback port, with those that it has admitted.
class AcceptorTest : public ::testing::Test {
protected:
  void start(Acceptor::Options options = {}) {
    absl::StatusOr<Socket> listening = listenAt("127.0.0.1", 0, 128);
    ASSERT_TRUE(listening.ok());
    address = *boundAddress(*listening);
    options.key = deriveKey("test", "secret");
    options.self = 7;
    acceptor =
        std::make_unique<Acceptor>(*std::move(listening), options, [this](Socket socket, uint32_t sender, auto &) {
          std::scoped_lock<std::mutex> lock(mutex);
          admitted.emplace_back(std::move(socket), sender);
          changed.notify_all();
        });
  }
  absl::StatusOr<Socket> dialWith(const char *secret, uint32_t sender = 3, uint32_t receiver = 7) {
    DialOptions options;
    options.key = deriveKey("test", secret);
    options.sender = sender;
    options.receiver = receiver;
    options.deadline = steady_clock::now() + std::chrono::seconds(20);
    return dial(address, options);
  }
  Socket connectBare() {
    Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.fd(), address.get(), address.length), 0);
    return socket;
  }
  /// Whether the other end closes the connection; reads what it says before.
  static bool isClosed(const Socket &socket) {
    char buffer[256];
    for (;;)
      if (ssize_t n = recv(socket.fd(), buffer, sizeof(buffer), 0); n <= 0)
        return n == 0 || errno == ECONNRESET;
  }

  SocketAddress address;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::pair<Socket, uint32_t>> admitted;
  std::unique_ptr<Acceptor> acceptor;
};

TEST_F(AcceptorTest, AdmitsWhoHasTheKeyAndSaysWhoItIs) {
  start();
  absl::StatusOr<Socket> socket = dialWith("secret", 3);
  ASSERT_TRUE(socket.ok()) << socket.status();
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return !admitted.empty(); });
  EXPECT_EQ(admitted[0].second, 3u);
  ASSERT_EQ(send(socket->fd(), "hello", 5, 0), 5); // from here on the connection is theirs
  char text[6] = {};
  while (recv(admitted[0].first.fd(), text, 5, 0) < 0)
    ASSERT_EQ(errno, EAGAIN);
  EXPECT_STREQ(text, "hello");
}

TEST_F(AcceptorTest, RefusesAnotherKeyAndAnotherReceiver) {
  start();
  EXPECT_TRUE(absl::IsPermissionDenied(dialWith("guess").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(dialWith("").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(dialWith("secret", 3, 8).status()));
  acceptor.reset();
  EXPECT_TRUE(admitted.empty());
}

TEST_F(AcceptorTest, AProofIsOfUseOnce) {
  start();
  // What a connector with the key says to one challenge, said again to another.
  absl::StatusOr<Socket> listening = listenAt("127.0.0.1", 0, 8);
  const SocketAddress real = std::exchange(address, *boundAddress(*listening));
  Challenger first(deriveKey("test", "secret"), 7);
  Response response = {};
  std::thread connector([&] { EXPECT_FALSE(dialWith("secret").ok()); });
  {
    Socket peer;
    while (!peer)
      peer = Socket(accept(listening->fd(), nullptr, nullptr));
    const Challenge challenge = first.challenge();
    ASSERT_EQ(send(peer.fd(), &challenge, sizeof(challenge), 0), static_cast<ssize_t>(sizeof(challenge)));
    ASSERT_EQ(recv(peer.fd(), &response, sizeof(response), MSG_WAITALL), static_cast<ssize_t>(sizeof(response)));
  }
  connector.join();
  EXPECT_TRUE(first.verify(response));
  address = real;
  Socket socket = connectBare();
  ASSERT_EQ(send(socket.fd(), &response, sizeof(response), 0), static_cast<ssize_t>(sizeof(response)));
  EXPECT_TRUE(isClosed(socket));
  acceptor.reset();
  EXPECT_TRUE(admitted.empty());
}

TEST_F(AcceptorTest, ClosesGarbageAtOnceAndSilenceInTime) {
  Acceptor::Options options;
  options.handshakeTime = milliseconds(100);
  start(options);
  Socket mute = connectBare(), garbage = connectBare(), half = connectBare();
  (void)!send(garbage.fd(), "x", 1, MSG_NOSIGNAL);
  (void)!send(half.fd(), magicOf(Protocol::Data).data(), 8, MSG_NOSIGNAL);
  EXPECT_TRUE(isClosed(garbage));
  EXPECT_TRUE(isClosed(mute));
  EXPECT_TRUE(isClosed(half));
  EXPECT_TRUE(dialWith("secret").ok());
}

TEST_F(AcceptorTest, TheOldestOfTooManyGivesWay) {
  Acceptor::Options options;
  options.handshakeTime = std::chrono::hours(1);
  options.mostPending = 4;
  start(options);
  std::vector<Socket> mute;
  for (int i = 0; i < 20; ++i)
    mute.push_back(connectBare());
  EXPECT_TRUE(dialWith("secret").ok());
  for (int i = 0; i < 15; ++i)
    EXPECT_TRUE(isClosed(mute[i])) << i;
}

TEST_F(AcceptorTest, AConnectionWithoutRoomMayComeAgain) {
  std::atomic<bool> room = false;
  Acceptor::Options options;
  options.hasRoom = [&] { return room.load(); };
  start(options);
  EXPECT_TRUE(absl::IsUnavailable(dialWith("secret").status()));
  room = true;
  EXPECT_TRUE(dialWith("secret").ok());
  acceptor.reset();
}

TEST_F(AcceptorTest, AConnectorTellsOtherServersFromSlowOnes) {
  absl::StatusOr<Socket> listening = listenAt("127.0.0.1", 0, 8);
  address = *boundAddress(*listening);
  std::thread server([&] {
    for (Socket peer; !peer;)
      if (peer = Socket(accept(listening->fd(), nullptr, nullptr)); peer) {
        (void)!send(peer.fd(), "HTTP/1.1 400 Bad Request\r\n\r\n", 28, MSG_NOSIGNAL);
        usleep(20'000);
      }
  });
  EXPECT_TRUE(absl::IsFailedPrecondition(dialWith("secret").status()));
  server.join();
  DialOptions brief;
  brief.deadline = steady_clock::now() + milliseconds(50);
  EXPECT_TRUE(absl::IsDeadlineExceeded(dial(address, brief).status())); // it says nothing
  brief.deadline += std::chrono::hours(1);
  brief.interrupted = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(dial(address, brief).status()));
}

} // namespace
} // namespace dgc::rt
