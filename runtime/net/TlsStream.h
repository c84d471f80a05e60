// A TLS connection that its user reads and writes itself, as it would a socket.
#pragma once

#include "runtime/net/Tls.h"

#include <sys/types.h>
#include <sys/uio.h>

namespace dgc::rt {

/// Used by one thread.
class TlsStream {
public:
  /// Greets until `deadline`, looking at `interrupted` now and then. `network` does not block. PermissionDenied and Unavailable as
  /// TlsConnection::greet(); DeadlineExceeded; Cancelled.
  static absl::StatusOr<std::unique_ptr<TlsStream>> greet(std::shared_ptr<const TlsIdentity> identity, TlsSide side,
                                                          Socket network,
                                                          std::chrono::steady_clock::time_point deadline,
                                                          const std::function<bool()> &interrupted);

  /// As sendmsg and readv of a socket that does not block, of two parts at most. What was not sent has to be sent by the next
  /// call, with the same bytes. -1 with another errno than EAGAIN: the connection is lost, and why() says how.
  ssize_t send(const iovec *parts, int count);
  ssize_t receive(const iovec *parts, int count);
  const std::string &why() const { return reason; }

  int fd() const { return connection.fd(); }

private:
  TlsStream(std::shared_ptr<const TlsIdentity> identity, TlsSide side, Socket network)
      : connection(std::move(identity), side, std::move(network)) {}
  ssize_t write(const void *data, size_t bytes);
  ssize_t read(void *data, size_t bytes);
  ssize_t fail(int result);

  TlsConnection connection;
  std::array<char, 16384> joined; // parts that are sent as one record
  std::string reason;
};

} // namespace dgc::rt
