// Who is accepted, what is said of those who are not, and that what is sent arrives.
#include "TestAuthority.h"

#include "runtime/base/ExitCode.h"
#include "runtime/net/TlsRelay.h"

#include <gmock/gmock.h>

#include <fstream>
#include <future>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

namespace dgc::rt {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using test::TestAuthority;
using ::testing::HasSubstr;
using Identity = std::shared_ptr<const TlsIdentity>;

Identity of(const TlsFiles &files) {
  absl::StatusOr<Identity> identity = TlsIdentity::ofCertificates(files);
  EXPECT_TRUE(identity.ok()) << identity.status();
  return *identity;
}
Identity of(const char *secret) { return *TlsIdentity::ofSecret(deriveKey("test", secret)); }

/// A connected pair of sockets, as those of a network are.
std::pair<Socket, Socket> makePair() {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  return {Socket(ends[0]), Socket(ends[1])};
}

/// Both ends of a connection, driven in turn until both are open or one has failed.
struct Meeting {
  Meeting(Identity connecting, Identity accepting) {
    auto [a, b] = makePair();
    connector = std::make_unique<TlsTunnel>(std::move(connecting), TlsSide::Connector, std::move(a));
    acceptor = std::make_unique<TlsTunnel>(std::move(accepting), TlsSide::Acceptor, std::move(b));
    for (int i = 0; i < 100 && (ofConnector.ok() || ofAcceptor.ok()); ++i) {
      if (connector->isOpen() && acceptor->isOpen())
        return;
      step(connector, ofConnector);
      step(acceptor, ofAcceptor);
    }
  }
  bool isOpen() const { return connector && connector->isOpen() && acceptor && acceptor->isOpen(); }

  std::unique_ptr<TlsTunnel> connector, acceptor;
  absl::Status ofConnector, ofAcceptor;

private:
  static void step(std::unique_ptr<TlsTunnel> &tunnel, absl::Status &status) {
    if (tunnel)
      status.Update(tunnel->advance());
    if (!status.ok())
      tunnel.reset(); // closes the connection
  }
};

std::string text(const absl::Status &status) { return std::string(status.message()); }

TEST(Tls, CertificatesOfOneAuthorityMeet) {
  TestAuthority authority("Authority");
  Meeting meeting(of(authority.sign("worker 1")), of(authority.sign("worker 0")));
  EXPECT_TRUE(meeting.isOpen()) << meeting.ofConnector << meeting.ofAcceptor;
}

TEST(Tls, WhoHasTheSecretMeets) {
  Meeting meeting(of("secret"), of("secret"));
  EXPECT_TRUE(meeting.isOpen()) << meeting.ofConnector << meeting.ofAcceptor;
}

TEST(Tls, ACoordinatorOfAnotherAuthorityIsRefusedOnBothSides) {
  TestAuthority mine("Mine"), other("Other");
  Meeting meeting(of(mine.sign("worker")), of(other.sign("rank 0")));
  EXPECT_FALSE(meeting.isOpen());
  EXPECT_TRUE(absl::IsPermissionDenied(meeting.ofConnector));
  EXPECT_EQ(text(meeting.ofConnector), "has a certificate of '/CN=rank 0', issued by '/CN=Other', which --tls-ca does "
                                       "not accept: self-signed certificate in certificate chain");
  EXPECT_TRUE(absl::IsPermissionDenied(meeting.ofAcceptor));
  EXPECT_EQ(text(meeting.ofAcceptor), "does not accept the certificate of this process: tlsv1 alert unknown ca");
}

TEST(Tls, AWorkerOfAnotherAuthorityIsRefusedOnBothSides) {
  TestAuthority mine("Mine"), other("Other");
  TlsFiles worker = other.sign("worker");
  worker.authority = other.together(mine);
  Meeting meeting(of(worker), of(mine.sign("rank 0")));
  EXPECT_FALSE(meeting.isOpen());
  EXPECT_EQ(text(meeting.ofAcceptor), "has a certificate of '/CN=worker', issued by '/CN=Other', which --tls-ca does "
                                      "not accept: self-signed certificate in certificate chain");
  EXPECT_EQ(text(meeting.ofConnector), "does not accept the certificate of this process: tlsv1 alert unknown ca");
}

TEST(Tls, AnotherSecretAndNoSecretAreRefused) {
  TestAuthority authority("Authority");
  const Identity certificates = of(authority.sign("worker")), secret = of("secret"), guess = of("guess");
  for (const auto &[connecting, accepting] :
       {std::pair(guess, secret), {certificates, secret}, {secret, certificates}, {secret, guess}}) {
    Meeting meeting(connecting, accepting);
    EXPECT_FALSE(meeting.isOpen());
    EXPECT_FALSE(meeting.ofAcceptor.ok() && meeting.ofConnector.ok());
  }
}

// An acceptor that says that it accepts before the connector has proved anything would be no better than none.
TEST(Tls, AConnectorIsNotOpenBeforeItIsAccepted) {
  TestAuthority mine("Mine"), other("Other");
  TlsFiles worker = other.sign("worker");
  worker.authority = other.together(mine);
  auto [a, b] = makePair();
  TlsTunnel connector(of(worker), TlsSide::Connector, std::move(a));
  TlsTunnel acceptor(of(mine.sign("rank 0")), TlsSide::Acceptor, std::move(b));
  ASSERT_TRUE(connector.advance().ok());
  ASSERT_TRUE(acceptor.advance().ok());
  ASSERT_TRUE(connector.advance().ok()); // has all that it needs of the acceptor, and has sent its certificate
  EXPECT_FALSE(connector.isOpen());
  EXPECT_TRUE(absl::IsPermissionDenied(acceptor.advance()));
  EXPECT_TRUE(absl::IsPermissionDenied(connector.advance()));
  EXPECT_FALSE(connector.isOpen());
}

TEST(Tls, GarbageIsNoPeer) {
  auto [a, b] = makePair();
  TlsTunnel acceptor(of("secret"), TlsSide::Acceptor, std::move(b));
  ASSERT_EQ(send(a.fd(), "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
  EXPECT_TRUE(absl::IsPermissionDenied(acceptor.advance()));
  auto [c, d] = makePair();
  TlsTunnel other(of("secret"), TlsSide::Acceptor, std::move(d));
  c = Socket();
  EXPECT_TRUE(absl::IsUnavailable(other.advance())); // it may come again
}

TEST(Tls, FilesThatDoNotFitSayWhich) {
  TestAuthority mine("Mine"), other("Other");
  const TlsFiles files = mine.sign("worker"), second = mine.sign("second"), late = mine.sign("late", -60);
  auto error = [](const TlsFiles &wrong) {
    absl::Status status = TlsIdentity::ofCertificates(wrong).status();
    EXPECT_EQ(exitCodeOf(status), ExitCode::Usage);
    return text(status);
  };
  EXPECT_EQ(error({"/nowhere.pem", files.key, files.authority}), "--tls-cert /nowhere.pem: No such file or directory");
  EXPECT_EQ(error({files.certificate, second.key, files.authority}),
            absl::StrCat("--tls-key ", second.key, ": this is not the key of the certificate in --tls-cert ",
                         files.certificate));
  EXPECT_THAT(error({files.key, files.key, files.authority}), HasSubstr("not a PEM file with a certificate: "));
  EXPECT_THAT(error({files.certificate, files.certificate, files.authority}),
              HasSubstr("not a PEM file with a private key"));
  EXPECT_THAT(error({files.certificate, files.key, files.key}), HasSubstr("not a PEM file with certificates"));
  EXPECT_EQ(error({files.certificate, files.key, other.path()}),
            absl::StrCat("--tls-cert ", files.certificate,
                         ": the certificate of '/CN=worker', issued by '/CN=Mine' is "
                         "not one that --tls-ca ",
                         other.path(),
                         " accepts: unable to get local issuer certificate; "
                         "all workers need certificates of one authority"));
  EXPECT_THAT(error(late), HasSubstr("accepts: certificate has expired; "));
}

/// Two relays with a connection between them, and the plain sockets at its ends.
class Relays : public ::testing::Test {
protected:
  void SetUp() override {
    auto [a, b] = makePair();
    TlsRelay::Hooks hooks;
    std::promise<std::unique_ptr<TlsTunnel>> opened;
    hooks.opened = [&](std::unique_ptr<TlsTunnel> tunnel) { opened.set_value(std::move(tunnel)); };
    TlsRelay gate(std::move(hooks));
    gate.add(std::make_unique<TlsTunnel>(of("secret"), TlsSide::Acceptor, std::move(b)));
    DialOptions options;
    options.deadline = steady_clock::now() + std::chrono::seconds(60);
    absl::StatusOr<std::unique_ptr<TlsTunnel>> tunnel = connectTls(of("secret"), std::move(a), options);
    ASSERT_TRUE(tunnel.ok()) << tunnel.status();
    std::unique_ptr<TlsTunnel> accepted = opened.get_future().get();
    left = (*tunnel)->takePlain();
    right = accepted->takePlain();
    first.emplace();
    first->add(*std::move(tunnel));
    second.emplace();
    second->add(std::move(accepted));
  }
  static void writeAll(const Socket &socket, std::string_view data) {
    while (!data.empty()) {
      pollfd entry = {socket.fd(), POLLOUT, 0};
      poll(&entry, 1, -1);
      const ssize_t n = send(socket.fd(), data.data(), data.size(), MSG_NOSIGNAL);
      ASSERT_TRUE(n > 0 || errno == EAGAIN) << errno;
      data.remove_prefix(static_cast<size_t>(std::max<ssize_t>(n, 0)));
    }
  }
  /// What comes until the end, or `size` bytes of it.
  static std::string readAll(const Socket &socket, size_t size = SIZE_MAX) {
    std::string data;
    std::vector<char> chunk(1 << 16);
    while (data.size() < size) {
      pollfd entry = {socket.fd(), POLLIN, 0};
      poll(&entry, 1, -1);
      const ssize_t n = recv(socket.fd(), chunk.data(), std::min(chunk.size(), size - data.size()), 0);
      if (n == 0)
        break;
      if (n > 0)
        data.append(chunk.data(), static_cast<size_t>(n));
    }
    return data;
  }
  static std::string pattern(size_t size, unsigned seed) {
    std::string data(size, '\0');
    for (char &c : data)
      c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
    return data;
  }

  Socket left, right;
  std::optional<TlsRelay> first, second;
};

TEST_F(Relays, CarryMuchInBothDirectionsAtOnce) {
  const std::string there = pattern(5 << 20, 1), back = pattern(7 << 20, 2);
  std::thread writers[] = {std::thread([&] { writeAll(left, there); }), std::thread([&] { writeAll(right, back); })};
  std::string got;
  std::thread reader([&] { got = readAll(left, back.size()); });
  EXPECT_TRUE(readAll(right, there.size()) == there);
  reader.join();
  EXPECT_TRUE(got == back);
  for (std::thread &each : writers)
    each.join();
}

TEST_F(Relays, TheEndOfOneIsTheEndOfTheOtherBehindAllThatCame) {
  const std::string last = pattern(200'000, 3);
  std::thread writer([&] {
    writeAll(left, last);
    left = Socket();
  });
  EXPECT_TRUE(readAll(right) == last);
  writer.join();
}

// A process ends with flush(): what it wrote before gets to the other side although the relay is gone.
TEST_F(Relays, FlushedIsSent) {
  const std::string last = pattern(10'000, 4);
  writeAll(left, last);
  first->flush(steady_clock::now() + std::chrono::seconds(60));
  EXPECT_TRUE(readAll(right, last.size()) == last);
  writeAll(left, last);
  left = Socket();
  first.reset();
  EXPECT_TRUE(readAll(right) == last);
}

TEST_F(Relays, ALostNetworkEndsThePlainSocket) {
  second.reset();
  EXPECT_EQ(readAll(left), "");
}

TEST(TlsRelay, WhoIsSilentGivesWay) {
  TlsRelay::Hooks hooks;
  hooks.mostGreeting = 4;
  hooks.greetingTime = std::chrono::hours(1);
  TlsRelay relay(std::move(hooks));
  std::vector<Socket> mute;
  for (int i = 0; i < 8; ++i) {
    auto [a, b] = makePair();
    mute.push_back(std::move(a));
    relay.add(std::make_unique<TlsTunnel>(of("secret"), TlsSide::Acceptor, std::move(b)));
  }
  auto isClosed = [](const Socket &socket, int waitMs) {
    pollfd entry = {socket.fd(), POLLIN, 0};
    return poll(&entry, 1, waitMs) == 1;
  };
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(isClosed(mute[i], -1)) << i;
  for (int i = 4; i < 8; ++i)
    EXPECT_FALSE(isClosed(mute[i], 0)) << i;
}

TEST(TlsRelay, ARefusalIsTold) {
  TestAuthority mine("Mine"), other("Other");
  std::promise<std::string> told;
  TlsRelay::Hooks hooks;
  hooks.refused = [&](const std::string &peer, std::string_view why) { told.set_value(peer + " " + std::string(why)); };
  hooks.opened = [](std::unique_ptr<TlsTunnel>) { ADD_FAILURE(); };
  TlsRelay relay(std::move(hooks));
  TlsFiles worker = other.sign("worker");
  worker.authority = other.together(mine);
  auto [a, b] = makePair();
  relay.add(std::make_unique<TlsTunnel>(of(mine.sign("rank 0")), TlsSide::Acceptor, std::move(b)), "10.0.0.7:4711");
  DialOptions options;
  options.deadline = steady_clock::now() + std::chrono::seconds(60);
  EXPECT_TRUE(absl::IsPermissionDenied(connectTls(of(worker), std::move(a), options).status()));
  EXPECT_THAT(told.get_future().get(), HasSubstr("10.0.0.7:4711 has a certificate of '/CN=worker'"));
}

TEST(TlsRelay, AnAttemptEndsInItsTime) {
  auto [a, b] = makePair();
  DialOptions options;
  options.deadline = steady_clock::now() + milliseconds(50);
  EXPECT_TRUE(absl::IsDeadlineExceeded(connectTls(of("secret"), std::move(a), options).status()));
  auto [c, d] = makePair();
  options.deadline += std::chrono::hours(1);
  options.interrupted = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(connectTls(of("secret"), std::move(c), options).status()));
}

} // namespace
} // namespace dgc::rt
