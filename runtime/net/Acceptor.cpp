#include "runtime/net/Acceptor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>

namespace dgc::rt {
namespace {

using Clock = std::chrono::steady_clock;

/// How often the thread looks for connections whose time is over.
constexpr int kSliceMs = 20;
/// After an error of accept(), such as no descriptor being left, the listening socket rests this long.
constexpr std::chrono::milliseconds kRest{50};

} // namespace

Acceptor::Acceptor(Socket socket, Options o, Admit a)
    : listening(std::move(socket)), wake(eventfd(0, EFD_CLOEXEC)), options(std::move(o)), admit(std::move(a)),
      refilled(Clock::now()) {
  thread = std::thread([this] { run(); });
}

Acceptor::~Acceptor() {
  stopping = true;
  eventfd_write(wake.fd(), 1);
  thread.join();
}

bool Acceptor::fill(std::vector<pollfd> &entries, Time now) const {
  entries.clear();
  for (const Pending &each : pending)
    entries.push_back({each.socket.fd(), POLLIN, 0});
  entries.push_back({wake.fd(), POLLIN, 0});
  if (allowance < 1 || now < pausedUntil)
    return false;
  entries.push_back({listening.fd(), POLLIN, 0});
  return true;
}

void Acceptor::run() {
  std::vector<pollfd> entries;
  while (!stopping) {
    Time now = Clock::now();
    const std::chrono::duration<double> passed = now - refilled;
    allowance = std::min(kBurst, allowance + options.mostPerSecond * passed.count());
    refilled = now;
    const bool accepting = fill(entries, now);
    // Without `wake`, where the process has no descriptor left for it, the end is noticed in slices.
    poll(entries.data(), entries.size(), accepting && pending.empty() && wake ? -1 : kSliceMs);
    now = Clock::now();
    size_t kept = 0; // the oldest first: who comes a second time has given up the first
    for (size_t i = 0; i < pending.size(); ++i)
      if ((!entries[i].revents || progress(pending[i])) && now - pending[i].since < options.handshakeTime)
        std::swap(pending[kept++], pending[i]);
    pending.erase(pending.begin() + static_cast<ptrdiff_t>(kept), pending.end());
    if (accepting && entries.back().revents)
      acceptWaiting(now);
  }
}

void Acceptor::acceptWaiting(Time now) {
  for (int i = 0; i < 16 && allowance >= 1; ++i) {
    SocketAddress peer;
    peer.length = sizeof(peer.storage);
    auto *storage = reinterpret_cast<sockaddr *>(&peer.storage);
    Socket socket(accept4(listening.fd(), storage, &peer.length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        pausedUntil = now + kRest;
      return;
    }
    allowance -= 1;
    const int on = 1;
    setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    Challenger challenger(options.key, options.self, options.protocol);
    const Challenge &challenge = challenger.challenge();
    if (send(socket.fd(), &challenge, sizeof(challenge), MSG_NOSIGNAL) != sizeof(challenge))
      continue;
    if (pending.size() >= options.mostPending)
      pending.erase(pending.begin());
    pending.push_back({std::move(socket), peer.text(), challenger, now});
  }
}

bool Acceptor::progress(Pending &p) {
  auto *bytes = reinterpret_cast<char *>(&p.response);
  ssize_t n = recv(p.socket.fd(), bytes + p.received, sizeof(p.response) - p.received, 0);
  if (n < 0)
    return errno == EAGAIN || errno == EINTR;
  if (n == 0)
    return false;
  p.received += static_cast<size_t>(n);
  const Magic magic = magicOf(options.protocol);
  if (std::memcmp(bytes, magic.data(), std::min(p.received, magic.size())) != 0) {
    if (p.received >= magic.size())
      if (const std::string why = describeMismatch(magic, p.response.magic); !why.empty())
        options.refused(p.peer, why);
    return false;
  }
  if (p.received < sizeof(p.response))
    return true;
  const bool accepted = p.challenger.verify(p.response);
  if (accepted && !options.hasRoom())
    return false;
  const HandshakeResult result = p.challenger.result(p.response, accepted);
  if (send(p.socket.fd(), &result, sizeof(result), MSG_NOSIGNAL) == sizeof(result) && accepted)
    admit(std::move(p.socket), p.response.sender, p.peer);
  else if (!accepted)
    options.refused(p.peer, "has another job secret");
  return false;
}

} // namespace dgc::rt
