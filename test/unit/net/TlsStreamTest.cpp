// What goes over an encrypted connection arrives, cannot be read on its way, and cannot be changed.
#include "runtime/net/TlsStream.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dgc::rt {
namespace {

using ::testing::HasSubstr;
using Streams = std::pair<std::unique_ptr<TlsStream>, std::unique_ptr<TlsStream>>;

std::pair<Socket, Socket> makePair() {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  return {Socket(ends[0]), Socket(ends[1])};
}

absl::StatusOr<std::unique_ptr<TlsStream>> greet(const char *secret, TlsSide side, Socket socket) {
  return TlsStream::greet(*TlsIdentity::ofSecret(deriveKey("test", secret)), side, std::move(socket),
                          std::chrono::steady_clock::now() + std::chrono::seconds(20), [] { return false; });
}

Streams meet(Socket a, Socket b) {
  auto other = std::async(std::launch::async, [&] { return greet("secret", TlsSide::Acceptor, std::move(b)); });
  auto one = greet("secret", TlsSide::Connector, std::move(a));
  auto two = other.get();
  EXPECT_TRUE(one.ok() && two.ok()) << one.status() << two.status();
  return {*std::move(one), *std::move(two)};
}

void await(const TlsStream &stream, short events) {
  pollfd entry = {stream.fd(), events, 0};
  poll(&entry, 1, 20);
}

/// Sends a frame and a body, as messages of the transport are.
bool sendAll(TlsStream &stream, std::string frame, std::string body) {
  for (size_t sent = 0; sent < frame.size() + body.size();) {
    const size_t ofFrame = std::min(sent, frame.size()), ofBody = sent - ofFrame;
    iovec parts[2] = {{frame.data() + ofFrame, frame.size() - ofFrame}, {body.data() + ofBody, body.size() - ofBody}};
    const ssize_t n = stream.send(parts, 2);
    if (n == 0 || (n < 0 && errno != EAGAIN))
      return false;
    if (n < 0)
      await(stream, POLLOUT);
    else
      sent += static_cast<size_t>(n);
  }
  return true;
}

std::string receiveAll(TlsStream &stream, size_t bytes) {
  std::string first(bytes / 3, ' '), second(bytes - first.size(), ' ');
  size_t got = 0;
  while (got < bytes) {
    const size_t ofFirst = std::min(got, first.size()), ofSecond = got - ofFirst;
    iovec parts[2] = {{first.data() + ofFirst, first.size() - ofFirst},
                      {second.data() + ofSecond, second.size() - ofSecond}};
    const ssize_t n = stream.receive(parts, 2);
    if (n == 0 || (n < 0 && errno != EAGAIN))
      return "lost: " + stream.why();
    if (n < 0)
      await(stream, POLLIN);
    else
      got += static_cast<size_t>(n);
  }
  return first + second;
}

std::string pattern(size_t bytes, unsigned seed) {
  std::string text(bytes, ' ');
  for (size_t i = 0; i < bytes; ++i)
    text[i] = static_cast<char>((i * 2654435761U + seed) >> 11);
  return text;
}

TEST(TlsStream, CarriesMessagesOfAnySizeBothWays) {
  auto [a, b] = makePair();
  Streams streams = meet(std::move(a), std::move(b));
  for (size_t bytes : {0, 1, 15, 16367, 16368, 16384, 100'000, 3'000'000}) {
    const std::string there = pattern(bytes, 1), back = pattern(bytes + 7, 2);
    auto other = std::async(std::launch::async, [&] {
      const bool sent = sendAll(*streams.second, "0123456789abcdef", back);
      return std::pair(sent, receiveAll(*streams.second, bytes + 16));
    });
    std::string received;
    EXPECT_TRUE(bytes > 100'000 || sendAll(*streams.first, "fedcba9876543210", there));
    received = receiveAll(*streams.first, back.size() + 16);
    EXPECT_TRUE(bytes <= 100'000 || sendAll(*streams.first, "fedcba9876543210", there));
    auto [sent, arrived] = other.get();
    EXPECT_TRUE(sent);
    EXPECT_EQ(received, "0123456789abcdef" + back) << bytes;
    EXPECT_EQ(arrived, "fedcba9876543210" + there) << bytes;
  }
}

TEST(TlsStream, RefusesAnotherSecret) {
  auto [a, b] = makePair();
  auto other = std::async(std::launch::async, [&, end = std::move(b)]() mutable {
    return greet("another", TlsSide::Acceptor, std::move(end)).status();
  });
  const absl::Status one = greet("secret", TlsSide::Connector, std::move(a)).status();
  EXPECT_FALSE(one.ok());
  EXPECT_FALSE(other.get().ok());
}

TEST(TlsStream, SaysThatItWasClosed) {
  auto [a, b] = makePair();
  Streams streams = meet(std::move(a), std::move(b));
  streams.second.reset();
  EXPECT_EQ(receiveAll(*streams.first, 1), "lost: ");
}

/// Two sockets whose bytes go through this process, which keeps them and may change one.
class Eavesdropper {
public:
  Eavesdropper() {
    auto [a, left] = makePair();
    auto [right, b] = makePair();
    ends = {std::move(a), std::move(b)};
    thread = std::thread([this, left = std::move(left), right = std::move(right)] { run(left.fd(), right.fd()); });
  }
  ~Eavesdropper() {
    stopping = true;
    thread.join();
  }

  std::pair<Socket, Socket> ends;
  std::string heard; // of both directions; once it has stopped
  std::atomic<bool> changes{false};
  void stop() {
    stopping = true;
    thread.join();
    thread = std::thread([] {});
  }

private:
  void run(int left, int right) {
    while (!stopping) {
      pollfd entries[2] = {{left, POLLIN, 0}, {right, POLLIN, 0}};
      poll(entries, 2, 10);
      for (int i = 0; i < 2; ++i) {
        char bytes[4096];
        const ssize_t n = ::read(i == 0 ? left : right, bytes, sizeof bytes);
        if (n <= 0)
          continue;
        if (changes && n > 40)
          bytes[n / 2] ^= 1;
        heard.append(bytes, static_cast<size_t>(n));
        for (ssize_t at = 0; at < n && !stopping;) {
          const ssize_t written = ::send(i == 0 ? right : left, bytes + at, static_cast<size_t>(n - at), MSG_NOSIGNAL);
          at += std::max<ssize_t>(written, 0);
        }
      }
    }
  }
  std::atomic<bool> stopping{false};
  std::thread thread;
};

TEST(TlsStream, CannotBeReadOnItsWay) {
  Eavesdropper between;
  Streams streams = meet(std::move(between.ends.first), std::move(between.ends.second));
  const std::string words = "the weights of the third layer", body = words + pattern(50'000, 3) + words;
  auto sent = std::async(std::launch::async, [&] { return sendAll(*streams.first, "frame of message", body); });
  EXPECT_EQ(receiveAll(*streams.second, 16 + body.size()), "frame of message" + body);
  EXPECT_TRUE(sent.get());
  between.stop();
  EXPECT_GT(between.heard.size(), body.size());
  EXPECT_EQ(between.heard.find(words), std::string::npos);
  EXPECT_EQ(between.heard.find("frame of message"), std::string::npos);
}

TEST(TlsStream, CannotBeChangedOnItsWay) {
  Eavesdropper between;
  Streams streams = meet(std::move(between.ends.first), std::move(between.ends.second));
  EXPECT_TRUE(sendAll(*streams.first, "frame of message", "body"));
  EXPECT_EQ(receiveAll(*streams.second, 20), "frame of messagebody");
  between.changes = true;
  EXPECT_TRUE(sendAll(*streams.first, "frame of message", "body"));
  EXPECT_THAT(receiveAll(*streams.second, 20), HasSubstr("lost: TLS: "));
}

} // namespace
} // namespace dgc::rt
