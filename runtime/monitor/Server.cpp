// CivetWeb as a server of pages.
#include "runtime/monitor/Server.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Limits.h"
#include "runtime/base/Status.h"
#include "runtime/net/Socket.h"

#include <CivetServer.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include <arpa/inet.h>

using namespace dgc;
using namespace dgc::rt;

static bool isDigits(const std::string &host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 || inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

absl::StatusOr<Address> dgc::rt::parseListen(const std::string &text, const std::string &flag) {
  const size_t colon = text.rfind(':');
  std::string host = colon == std::string::npos ? "127.0.0.1" : text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  if (host == "localhost")
    host = "127.0.0.1";
  const char *first = text.data() + (colon == std::string::npos ? 0 : colon + 1), *last = text.data() + text.size();
  int port = -1;
  auto [end, error] = std::from_chars(first, last, port);
  if (error != std::errc() || end != last || port < 0 || port > 65535 || !isDigits(host))
    return usageError(str(flag, ": '", text,
                          "' is neither a port, as 9464 (0: a free one), nor a port with an address ",
                          "of this machine, as 0.0.0.0:9464 or [::]:9464"));
  return Address{host, port};
}

namespace {
/// Of the host that a request names, without its port.
std::string hostOf(const char *header) {
  std::string host = header ? header : "";
  if (host.starts_with('['))
    return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool isLoopbackName(const std::string &host) {
  return host == "localhost" || host == "::1" || (host.starts_with("127.") && isDigits(host));
}

class Handler final : public CivetHandler {
public:
  Handler(ServedPage page, bool isLocal) : page(std::move(page)), isLocal(isLocal) {}
  const std::string &path() const { return page.path; }

  bool handleGet(CivetServer *, mg_connection *connection) override { return answer(connection, true); }
  bool handleHead(CivetServer *, mg_connection *connection) override { return answer(connection, false); }

private:
  bool answer(mg_connection *connection, bool withContent) const {
    // A path has all that begins with it.
    if (std::string_view(mg_get_request_info(connection)->local_uri) != page.path)
      return send(connection, "404 Not Found", "text/plain", "There is no such page.\n", withContent);
    if (isLocal && !isLoopbackName(hostOf(mg_get_header(connection, "Host"))))
      return send(connection, "403 Forbidden", "text/plain", "This port answers to localhost alone.\n", withContent);
    std::string content;
    const absl::Status status = catchExhaustion([&] {
      content = page.content();
      return absl::OkStatus();
    });
    if (!status.ok())
      return send(connection, "503 Service Unavailable", "text/plain", "", withContent);
    return send(connection, "200 OK", page.type, content, withContent);
  }

  static bool send(mg_connection *connection, const char *status, const std::string &type, const std::string &content,
                   bool withContent) {
    mg_printf(connection,
              "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
              "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
              status, type.c_str(), content.size());
    if (withContent)
      mg_write(connection, content.data(), content.size());
    return true;
  }

  ServedPage page;
  bool isLocal;
};

/// While one lives, threads that are started take no signal: those of the process are for others.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before = {};
};

/// What CivetWeb says while it starts, on this thread.
thread_local std::string lastWords;

int keepWords(const mg_connection *, const char *message) {
  lastWords = message;
  return 1; // it is not written elsewhere
}

class CivetPages final : public PageServer {
public:
  absl::Status listen(const Address &at, std::vector<ServedPage> pages) {
    const bool isLocal = isLoopbackName(at.host);
    CivetCallbacks callbacks;
    callbacks.log_message = keepWords;
    const std::vector<std::string> options = {"listening_ports",    at.text(), "num_threads",           "3",
                                              "request_timeout_ms", "5000",    "keep_alive_timeout_ms", "0"};
    lastWords.clear();
    try {
      SignalsBlocked blocked;
      server.emplace(options, &callbacks);
    } catch (const CivetException &) {
      return absl::UnavailableError(lastWords.empty() ? "the server cannot be started" : lastWords);
    }
    for (ServedPage &page : pages) {
      handlers.push_back(std::make_unique<Handler>(std::move(page), isLocal));
      server->addHandler(handlers.back()->path(), *handlers.back());
    }
    const std::vector<int> ports = server->getListeningPorts();
    bound = {at.host, ports.empty() ? at.port : ports[0]};
    return absl::OkStatus();
  }
  ~CivetPages() override {
    // A server that is told to stop sees that when somebody connects, or after some seconds.
    std::atomic<bool> isStopped{false};
    std::thread waker([&] {
      while (!isStopped) {
        connectOnce();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
    server.reset(); // before what its threads call
    isStopped = true;
    waker.join();
  }

  Address address() const override { return bound; }

private:
  void connectOnce() const {
    auto addresses = resolveHost(bound.host, bound.port);
    if (!addresses.ok() || addresses->empty())
      return;
    const Socket socket(::socket(addresses->front().get()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    (void)::connect(socket.fd(), addresses->front().get(), addresses->front().length);
  }

  std::vector<std::unique_ptr<Handler>> handlers;
  std::optional<CivetServer> server;
  Address bound;
};
} // namespace

absl::StatusOr<std::unique_ptr<PageServer>> PageServer::start(const Address &at, std::vector<ServedPage> pages,
                                                              const std::string &flag) {
  auto wrong = [&](const absl::Status &status) {
    return withExitCode(absl::Status(status.code(), str(flag, ": ", std::string(status.message()),
                                                        "; give another port, or 0 for a free one")),
                        ExitCode::Usage);
  };
  // CivetWeb does not say why it cannot listen.
  if (at.port != 0)
    if (absl::Status free = listenAt(at.host, at.port, 1).status(); !free.ok())
      return wrong(free);
  auto made = std::make_unique<CivetPages>();
  if (absl::Status listens = made->listen(at, std::move(pages)); !listens.ok())
    return wrong(listens);
  return made;
}
