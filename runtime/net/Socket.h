// TCP sockets as values: who owns the descriptor, where it leads, and what failed as a status.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>

namespace dgc::rt {

/// Owns a file descriptor.
class Socket {
public:
  Socket() = default;
  explicit Socket(int fd) : descriptor(fd) {}
  Socket(Socket &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  Socket &operator=(Socket &&other) noexcept;
  ~Socket();

  int fd() const { return descriptor; }
  explicit operator bool() const { return descriptor >= 0; }
  /// Gives the descriptor away.
  int release() { return std::exchange(descriptor, -1); }

private:
  int descriptor = -1;
};

/// One address of a host, IPv4 or IPv6, with a port.
struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t length = 0;

  const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&storage); }
  /// The host as digits: "10.0.0.1", "fe80::1".
  std::string host() const;
  int port() const;
  /// HOST:PORT, with brackets around an IPv6 host.
  std::string text() const;
};

/// The addresses of `host`, a name or digits, in the resolver's order. NotFound where there are none.
absl::StatusOr<std::vector<SocketAddress>> resolveHost(const std::string &host, int port);

/// Listens at the first address of `host` that this machine has; port 0 is one of the kernel's choice. `backlog` is how
/// many connections may wait to be accepted. AlreadyExists: the address is in use, or not one of this machine.
absl::StatusOr<Socket> listenAt(const std::string &host, int port, int backlog);

/// The address that a socket is bound to.
absl::StatusOr<SocketAddress> boundAddress(const Socket &socket);

/// The address of this machine from which packets to `host` are sent, as digits; empty where there is no route to it or
/// it has no address. Sends nothing.
std::string sourceAddressTowards(const std::string &host);

/// The network interface ("lo", "eth0") that has sourceAddressTowards(host); empty if there is none.
std::string interfaceTowards(const std::string &host);

} // namespace dgc::rt
