#include "runtime/net/FrameStream.h"

#include "runtime/base/Status.h"

#include <cerrno>
#include <cstring>

#include <poll.h>

namespace dgc::rt {
namespace {
using SteadyClock = std::chrono::steady_clock;

/// In the byte order of the machines, as the tensors are.
struct Lengths {
  uint64_t header, body;
};

/// How long the other end may take nothing of what is sent to it.
constexpr std::chrono::seconds kSendTime{60};

absl::Status lost(std::string_view why) { return absl::UnavailableError(str("the connection was lost: ", why)); }
} // namespace

absl::StatusOr<FrameStream> FrameStream::connect(const Address &address, const FrameSecurity &security,
                                                 SteadyClock::time_point deadline, Interrupted interrupted) {
  DGC_ASSIGN_OR_RETURN(std::vector<SocketAddress> addresses, resolveHost(address.host, address.port));
  DialOptions options;
  options.key = security.key;
  options.deadline = deadline;
  options.interrupted = interrupted;
  absl::StatusOr<Socket> socket = absl::UnavailableError("no address");
  for (const SocketAddress &each : addresses)
    if (socket = dial(each, options); socket.ok() || absl::IsPermissionDenied(socket.status()))
      break;
  if (!socket.ok())
    return socket.status();
  if (!security.tls)
    return FrameStream(*std::move(socket), std::move(interrupted));
  DGC_ASSIGN_OR_RETURN(auto tls,
                       TlsStream::greet(security.tls, TlsSide::Connector, *std::move(socket), deadline, interrupted));
  return FrameStream(std::move(tls), std::move(interrupted));
}

absl::StatusOr<FrameStream> FrameStream::accept(Socket socket, const FrameSecurity &security,
                                                SteadyClock::time_point deadline, Interrupted interrupted) {
  if (!security.tls)
    return FrameStream(std::move(socket), std::move(interrupted));
  DGC_ASSIGN_OR_RETURN(auto tls,
                       TlsStream::greet(security.tls, TlsSide::Acceptor, std::move(socket), deadline, interrupted));
  return FrameStream(std::move(tls), std::move(interrupted));
}

bool FrameStream::isReadable() const {
  pollfd entry = {fd(), POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

absl::Status FrameStream::await(short events, SteadyClock::time_point deadline) const {
  while (true) {
    if (interrupted())
      return absl::CancelledError("interrupted");
    pollfd entry = {fd(), events, 0};
    if (poll(&entry, 1, 20) > 0)
      return absl::OkStatus();
    if (SteadyClock::now() >= deadline)
      return absl::DeadlineExceededError(std::strerror(ETIMEDOUT));
  }
}

absl::Status FrameStream::send(std::string_view header, std::string_view body) {
  const Lengths lengths{header.size(), body.size()};
  std::string first(reinterpret_cast<const char *>(&lengths), sizeof lengths);
  first.append(header);
  size_t sent = 0;
  const size_t all = first.size() + body.size();
  while (sent < all) {
    iovec parts[2] = {{const_cast<char *>(first.data()), first.size()}, {const_cast<char *>(body.data()), body.size()}};
    const size_t ofFirst = std::min(sent, first.size()), ofBody = sent - ofFirst;
    parts[0] = {static_cast<char *>(parts[0].iov_base) + ofFirst, first.size() - ofFirst};
    parts[1] = {static_cast<char *>(parts[1].iov_base) + ofBody, body.size() - ofBody};
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t n = tls ? tls->send(parts, 2) : sendmsg(socket.fd(), &message, MSG_NOSIGNAL);
    if (n > 0) {
      sent += static_cast<size_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR)
      continue;
    if (n == 0 || errno != EAGAIN)
      return lost(n == 0 ? "it was closed" : tls ? tls->why().c_str() : std::strerror(errno));
    DGC_RETURN_IF_ERROR(await(POLLOUT, SteadyClock::now() + kSendTime));
  }
  return absl::OkStatus();
}

absl::Status FrameStream::read(char *to, size_t bytes, SteadyClock::time_point deadline) {
  while (bytes > 0) {
    const iovec part = {to, bytes};
    const ssize_t n = tls ? tls->receive(&part, 1) : recv(socket.fd(), to, bytes, 0);
    if (n > 0) {
      to += n;
      bytes -= static_cast<size_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR)
      continue;
    if (n == 0 || errno != EAGAIN)
      return lost(n == 0 ? "it was closed" : tls ? tls->why().c_str() : std::strerror(errno));
    DGC_RETURN_IF_ERROR(await(POLLIN, deadline));
  }
  return absl::OkStatus();
}

absl::StatusOr<Frame> FrameStream::receive(uint64_t mostHeader, uint64_t mostBody, double seconds) {
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
  Lengths lengths;
  DGC_RETURN_IF_ERROR(read(reinterpret_cast<char *>(&lengths), sizeof lengths, deadline));
  if (lengths.header > mostHeader || lengths.body > mostBody)
    return absl::InvalidArgumentError(str("a message has ", lengths.header, " and ", lengths.body, " bytes, of ",
                                          mostHeader, " and ", mostBody, " at most"));
  Frame frame;
  frame.header.resize(lengths.header);
  frame.body.resize(lengths.body);
  DGC_RETURN_IF_ERROR(read(frame.header.data(), frame.header.size(), deadline));
  DGC_RETURN_IF_ERROR(read(frame.body.data(), frame.body.size(), deadline));
  return frame;
}

} // namespace dgc::rt
