#include "runtime/collective/TcpCore.h"
#include "runtime/base/Status.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/uio.h>

namespace dgc::rt {
namespace {

/// Rounds of reading and writing before the thread sleeps: some 20 us, in which a peer with a core of its own answers.
constexpr uint32_t kSpins = 20;

} // namespace

ssize_t TcpCore::Connection::send(iovec *parts, int count) {
  if (tls)
    return tls->send(parts, count);
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<size_t>(count);
  return sendmsg(socket.fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t TcpCore::Connection::receive(iovec *parts, int count) {
  return tls ? tls->receive(parts, count) : readv(socket.fd(), parts, count);
}

std::string TcpCore::Connection::why() const { return tls ? tls->why() : std::strerror(errno); }

TcpCore::TcpCore(int rank, int worldSize, std::unique_ptr<SharedSegment> ownSegment, const TransportOptions &options,
                 Abort &abort, std::vector<Connection> connections)
    : MessagePassing(rank, worldSize, std::move(ownSegment), options, abort), peers(worldSize),
      waiter(abort, options.timeoutSeconds, &segment->waits()) {
  waiter.setSpins(kSpins);
  ready.reserve(static_cast<size_t>(worldSize));
  for (int r = 0; r < worldSize; ++r)
    peers[r].connection = std::move(connections[r]);
  reserve(4 * static_cast<size_t>(worldSize));
}

void TcpCore::reserve(size_t count) {
  for (Peer &p : peers) {
    p.sends.reserve(count);
    p.receives.reserve(count);
  }
}

void TcpCore::send(int to, uint64_t tag, const void *data, uint64_t bytes) {
  Peer &p = peers[to];
  p.sends.push_back({{tag, bytes}, static_cast<std::byte *>(const_cast<void *>(data))});
  if (p.sent + 1 == p.sends.size())
    write(p);
}

void TcpCore::receive(int from, uint64_t tag, void *data, uint64_t bytes) {
  Peer &p = peers[from];
  p.receives.push_back({{tag, bytes}, static_cast<std::byte *>(data)});
  ++p.open;
  auto early = std::find_if(p.early.begin(), p.early.end(), [&](const Early &e) { return e.complete && e.tag == tag; });
  if (early != p.early.end())
    deliver(p, early, p.receives.back());
}

void TcpCore::deliver(Peer &p, const std::deque<Early>::iterator &early, Transfer &receive) {
  if (early->data.size() != receive.frame.bytes)
    return refuse(p, receive);
  std::copy(early->data.begin(), early->data.end(), receive.data);
  p.early.erase(early);
  receive.done = true;
  --p.open;
}

void TcpCore::fail(Peer &p, std::string why) {
  p.failure = std::move(why);
  broken = true;
}

void TcpCore::refuse(Peer &p, Transfer &receive) {
  p.wrong = &receive;
  broken = true;
}

void TcpCore::write(Peer &p) {
  while (p.failure.empty() && p.sent < p.sends.size()) {
    Transfer &t = p.sends[p.sent];
    const uint64_t ofFrame = std::min<uint64_t>(p.sentBytes, sizeof(Frame)), ofBody = p.sentBytes - ofFrame;
    iovec parts[2] = {{reinterpret_cast<std::byte *>(&t.frame) + ofFrame, sizeof(Frame) - ofFrame},
                      {t.data + ofBody, t.frame.bytes - ofBody}};
    const ssize_t n = p.connection.send(parts, 2);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
      return;
    if (n <= 0)
      return fail(p, n == 0 ? "it was closed" : p.connection.why());
    segment->waits().move(static_cast<uint64_t>(n));
    p.sentBytes += static_cast<uint64_t>(n);
    if (p.sentBytes == sizeof(Frame) + t.frame.bytes) {
      ++p.sent;
      p.sentBytes = 0;
    }
  }
}

bool TcpCore::match(Peer &p) {
  if (p.matched)
    return true;
  auto wanted = std::find_if(p.receives.begin(), p.receives.end(),
                             [&](const Transfer &t) { return !t.done && t.frame.tag == p.incoming.tag; });
  if (wanted != p.receives.end()) {
    if (wanted->frame.bytes != p.incoming.bytes) {
      refuse(p, *wanted);
      return false;
    }
    p.target = &*wanted;
    p.body = wanted->data;
  } else {
    // No message is longer than the arena that it comes from, which has one size on all ranks, or than a token.
    if (p.incoming.bytes > std::max<uint64_t>(arena().size(), 1)) {
      fail(p, absl::StrCat("it announces a message of ", p.incoming.bytes, " bytes"));
      return false;
    }
    p.target = nullptr;
    p.early.push_back({p.incoming.tag, std::vector<std::byte>(p.incoming.bytes)});
    p.body = p.early.back().data.data();
  }
  return p.matched = true;
}

void TcpCore::complete(Peer &p) {
  p.matched = false;
  p.bodyBytes = 0;
  if (p.target) {
    p.target->done = true;
    --p.open;
    return;
  }
  // It may be wanted by now.
  p.early.back().complete = true;
  auto wanted = std::find_if(p.receives.begin(), p.receives.end(),
                             [&](const Transfer &t) { return !t.done && t.frame.tag == p.early.back().tag; });
  if (wanted != p.receives.end())
    deliver(p, std::prev(p.early.end()), *wanted);
}

void TcpCore::read(Peer &p) {
  while (p.failure.empty() && !p.wrong && p.open > 0) {
    const bool framed = p.frameBytes == sizeof(Frame);
    if (framed && !match(p))
      return;
    const uint64_t body = framed ? p.incoming.bytes - p.bodyBytes : 0;
    if (framed && body == 0) {
      complete(p);
      p.frameBytes = 0;
      continue;
    }
    // The rest of a message, and at once the frame of the next one.
    Frame next;
    iovec parts[2] = {{p.body + p.bodyBytes, body}, {&next, sizeof(Frame)}};
    if (!framed)
      parts[0] = {reinterpret_cast<std::byte *>(&p.incoming) + p.frameBytes, sizeof(Frame) - p.frameBytes};
    const ssize_t n = p.connection.receive(parts, framed ? 2 : 1);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
      return;
    if (n <= 0)
      return fail(p, n == 0 ? "it was closed" : p.connection.why());
    const auto bytes = static_cast<uint64_t>(n);
    segment->waits().move(bytes);
    if (!framed) {
      p.frameBytes += bytes;
      continue;
    }
    p.bodyBytes += std::min(bytes, body);
    if (bytes < body)
      continue;
    complete(p);
    p.incoming = next;
    p.frameBytes = bytes - body;
  }
}

bool TcpCore::progress(Peer &p) {
  const uint64_t before = segment->waits().moved();
  write(p);
  read(p);
  return segment->waits().moved() != before;
}

void TcpCore::awaitReady(size_t first) {
  ready.clear();
  for (size_t r = first; r < peers.size(); ++r)
    if (const Peer &p = peers[r]; isWaiting(p)) {
      const int events = (p.open > 0 ? POLLIN : 0) | (p.sent < p.sends.size() ? POLLOUT : 0);
      ready.push_back({p.connection.fd(), static_cast<short>(events), 0});
    }
  poll(ready.data(), ready.size(), 1);
}

absl::Status TcpCore::finish(const std::string &title) {
  size_t at = 0; // ranks before this one are done
  auto done = [&] {
    while (at < peers.size() && !isWaiting(peers[at]))
      ++at;
    return broken || at == peers.size();
  };
  uint32_t idle = 0; // rounds in which nothing moved
  auto drive = [&] {
    bool moved = false;
    for (size_t r = at; r < peers.size(); ++r)
      if (isWaiting(peers[r]))
        moved = progress(peers[r]) || moved;
    idle = moved ? 0 : idle + 1;
  };
  auto rest = [&](int64_t) {
    if (idle > kSpins && !broken)
      awaitReady(at);
  };
  // What is awaited from a peer says more than what is still to be sent to one.
  auto awaited = [&] {
    for (size_t r = at; r < peers.size(); ++r)
      if (peers[r].open > 0)
        return static_cast<int32_t>(r);
    return static_cast<int32_t>(at);
  };
  drive();
  DGC_RETURN_IF_ERROR(waiter.until(done, [&] { return late(title, awaited()); }, drive, awaited, rest));
  return end(title);
}

absl::Status TcpCore::end(const std::string &title) {
  for (size_t r = 0; r < peers.size(); ++r) {
    if (peers[r].wrong)
      return wrongSize(title, static_cast<int>(r), peers[r].wrong->frame.bytes);
    if (!peers[r].failure.empty() && isWaiting(peers[r]))
      return connectionLost(title, static_cast<int>(r), peers[r].failure);
  }
  for (Peer &p : peers) {
    p.sends.clear();
    p.receives.clear();
    p.sent = p.open = 0;
  }
  return absl::OkStatus();
}

} // namespace dgc::rt
