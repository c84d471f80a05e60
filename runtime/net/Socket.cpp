#include "runtime/net/Socket.h"
#include "runtime/base/Status.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <cstring>

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

namespace dgc::rt {

Socket &Socket::operator=(Socket &&other) noexcept {
  if (this != &other) {
    if (descriptor >= 0)
      close(descriptor);
    descriptor = std::exchange(other.descriptor, -1);
  }
  return *this;
}

Socket::~Socket() {
  if (descriptor >= 0)
    close(descriptor);
}

std::string SocketAddress::host() const {
  char digits[NI_MAXHOST] = {};
  getnameinfo(get(), length, digits, sizeof(digits), nullptr, 0, NI_NUMERICHOST);
  return digits;
}

int SocketAddress::port() const {
  if (storage.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6 &>(storage).sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in &>(storage).sin_port);
}

std::string SocketAddress::text() const {
  return storage.ss_family == AF_INET6 ? absl::StrCat("[", host(), "]:", port()) : absl::StrCat(host(), ":", port());
}

absl::StatusOr<std::vector<SocketAddress>> resolveHost(const std::string &host, int port) {
  addrinfo hints = {}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0)
    return absl::NotFoundError(absl::StrCat("no address of '", host, "' is known: ", gai_strerror(error)));
  std::vector<SocketAddress> addresses;
  for (addrinfo *each = list; each; each = each->ai_next) {
    SocketAddress address;
    address.length = each->ai_addrlen;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    addresses.push_back(address);
  }
  freeaddrinfo(list);
  return addresses;
}

absl::StatusOr<Socket> listenAt(const std::string &host, int port, int backlog) {
  DGC_ASSIGN_OR_RETURN(std::vector<SocketAddress> addresses, resolveHost(host, port));
  int error = 0;
  for (const SocketAddress &address : addresses) {
    Socket socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1; // Connections of a job that has ended do not hold the port; a second listener is still refused.
    if (socket && setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(socket.fd(), address.get(), address.length) == 0 && listen(socket.fd(), backlog) == 0)
      return socket;
    error = errno;
  }
  std::string what = absl::StrCat("cannot listen on ", addresses.front().text());
  if (error == EADDRINUSE || error == EADDRNOTAVAIL)
    return absl::AlreadyExistsError(absl::StrCat(what, ": the address is in use or not one of this machine"));
  return errnoStatus(error, what);
}

absl::StatusOr<SocketAddress> boundAddress(const Socket &socket) {
  SocketAddress address;
  address.length = sizeof(address.storage);
  if (getsockname(socket.fd(), reinterpret_cast<sockaddr *>(&address.storage), &address.length) != 0)
    return errnoStatus(errno, "cannot tell the address of a socket");
  return address;
}

std::string sourceAddressTowards(const std::string &host) {
  absl::StatusOr<std::vector<SocketAddress>> addresses = resolveHost(host, 9);
  if (!addresses.ok())
    return "";
  // Connecting a datagram socket sends nothing; it only selects the route.
  Socket socket(::socket(addresses->front().storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.fd(), addresses->front().get(), addresses->front().length) != 0)
    return "";
  absl::StatusOr<SocketAddress> own = boundAddress(socket);
  return own.ok() ? own->host() : "";
}

std::string interfaceTowards(const std::string &host) {
  const std::string own = sourceAddressTowards(host);
  ifaddrs *interfaces = nullptr;
  if (own.empty() || getifaddrs(&interfaces) != 0)
    return "";
  std::string name;
  for (ifaddrs *i = interfaces; i && name.empty(); i = i->ifa_next) {
    if (!i->ifa_addr || (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6))
      continue;
    SocketAddress address;
    address.length = i->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&address.storage, i->ifa_addr, address.length);
    if (address.host() == own)
      name = i->ifa_name;
  }
  freeifaddrs(interfaces);
  return name;
}

} // namespace dgc::rt
