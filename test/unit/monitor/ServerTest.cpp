// A server of pages, asked over a socket.
#include "runtime/monitor/Server.h"

#include "runtime/base/Status.h"
#include "runtime/net/Socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>

using namespace dgc;
using namespace dgc::rt;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

static std::unique_ptr<PageServer> serve(std::function<std::string()> content) {
  auto server = PageServer::start(
      {"127.0.0.1", 0},
      {{"/", "text/plain", [] { return std::string("root"); }}, {"/page", "text/x-page", std::move(content)}},
      "--port");
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

/// What the server answers to these bytes.
static std::string answer(const PageServer &server, const std::string &request) {
  auto addresses = resolveHost(server.address().host, server.address().port);
  Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(::connect(socket.fd(), addresses->at(0).get(), addresses->at(0).length), 0);
  EXPECT_EQ(::send(socket.fd(), request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  std::string all;
  char buffer[4096];
  for (ssize_t n; (n = ::recv(socket.fd(), buffer, sizeof buffer, 0)) > 0;)
    all.append(buffer, static_cast<size_t>(n));
  return all;
}

static std::string get(const PageServer &server, const std::string &path, const std::string &host = "localhost") {
  return answer(server, "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
}

TEST(PageServer, AnswersWithItsPages) {
  auto server = serve([] { return std::string("some text"); });
  ASSERT_TRUE(server);
  EXPECT_GT(server->address().port, 0);
  const std::string page = get(*server, "/page");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, HasSubstr("Content-Type: text/x-page\r\n"));
  EXPECT_THAT(page, HasSubstr("Content-Length: 9\r\n"));
  EXPECT_THAT(page, EndsWith("\r\n\r\nsome text"));
  EXPECT_THAT(get(*server, "/"), EndsWith("root"));
  EXPECT_THAT(get(*server, "/page/below"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get(*server, "/../../etc/passwd"), testing::Not(HasSubstr("root:x")));
  const std::string head = answer(*server, "HEAD /page HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Content-Length: 9\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
  EXPECT_THAT(answer(*server, "POST /page HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
              testing::Not(HasSubstr("some text")));
}

// A page of the web whose name leads to 127.0.0.1 asks with its own name.
TEST(PageServer, AnswersToLoopbackNamesAlone) {
  auto server = serve([] { return std::string("secret"); });
  ASSERT_TRUE(server);
  for (const char *host : {"localhost:1234", "127.0.0.1:80", "127.8.8.8", "[::1]:80"})
    EXPECT_THAT(get(*server, "/page", host), EndsWith("secret")) << host;
  for (const char *host : {"example.com", "127.example.com", "", "localhost.example.com:80", "[::2]"})
    EXPECT_THAT(get(*server, "/page", host), testing::Not(HasSubstr("secret"))) << host;
}

TEST(PageServer, SaysThatAPortIsTaken) {
  auto server = serve([] { return std::string(); });
  ASSERT_TRUE(server);
  const absl::Status taken = PageServer::start(server->address(), {}, "--port").status();
  EXPECT_THAT(std::string(taken.message()), StartsWith("--port: "));
  EXPECT_THAT(std::string(taken.message()), EndsWith("; give another port, or 0 for a free one"));
}

TEST(PageServer, AddressesAreDigits) {
  EXPECT_EQ(parseListen("80", "--p")->text(), "127.0.0.1:80");
  EXPECT_EQ(parseListen("localhost:80", "--p")->text(), "127.0.0.1:80");
  EXPECT_EQ(parseListen("0.0.0.0:0", "--p")->text(), "0.0.0.0:0");
  EXPECT_EQ(parseListen("[::1]:65535", "--p")->text(), "[::1]:65535");
  for (const char *wrong : {"", ":", "x", "65536", "-1", "80x", "host:80", "127.0.0.1:", ":80", "::1", "[::1]"})
    EXPECT_FALSE(parseListen(wrong, "--p").ok()) << wrong;
}
