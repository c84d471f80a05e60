#include "runtime/net/LocalSocket.h"
#include "runtime/base/Status.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>

namespace dgc::rt {
namespace {

struct Name {
  explicit Name(const std::string &text) {
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, text.data(), std::min(text.size(), sizeof(address.sun_path) - 1));
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&address); }
  sockaddr_un address = {};
  socklen_t length = 0;
};

/// The user at the other end, or who has begun to listen there.
uid_t userOf(const Socket &socket) {
  ucred credentials = {};
  socklen_t length = sizeof(credentials);
  return getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? credentials.uid
                                                                                      : static_cast<uid_t>(-1);
}

/// A message of one byte that can carry a descriptor.
struct DescriptorMessage {
  DescriptorMessage() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
  }
  char byte = 0;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
};

} // namespace

absl::StatusOr<std::unique_ptr<LocalServer>> LocalServer::start(const std::string &name, Answer answer) {
  const Name address(name);
  Socket listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listening || bind(listening.fd(), address.get(), address.length) != 0 || listen(listening.fd(), 4096) != 0)
    return errno == EADDRINUSE ? absl::AlreadyExistsError("the name is in use")
                               : errnoStatus(errno, "cannot make a local socket");
  return std::unique_ptr<LocalServer>(new LocalServer(std::move(listening), std::move(answer)));
}

LocalServer::LocalServer(Socket socket, Answer a)
    : listening(std::move(socket)), wake(eventfd(0, EFD_CLOEXEC)), answer(std::move(a)) {
  thread = std::thread([this] { run(); });
}

LocalServer::~LocalServer() {
  eventfd_write(wake.fd(), 1);
  thread.join();
}

void LocalServer::run() {
  while (true) {
    pollfd entries[] = {{listening.fd(), POLLIN, 0}, {wake.fd(), POLLIN, 0}};
    poll(entries, 2, -1);
    if (entries[1].revents)
      return;
    Socket socket(accept4(listening.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket && userOf(socket) == geteuid())
      answer(socket);
  }
}

absl::StatusOr<Socket> connectLocally(const std::string &name, int seconds) {
  const Name address(name);
  Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit = {seconds, 0};
  setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); // of connect(), too
  if (!socket || connect(socket.fd(), address.get(), address.length) != 0)
    return absl::NotFoundError(std::strerror(errno));
  if (const uid_t user = userOf(socket); user != geteuid())
    return absl::PermissionDeniedError(str("a process of another user (", user, ") answers"));
  return socket;
}

void sendDescriptor(const Socket &socket, int fd) {
  DescriptorMessage m;
  cmsghdr *header = CMSG_FIRSTHDR(&m.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(fd));
  std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  (void)!sendmsg(socket.fd(), &m.message, MSG_NOSIGNAL);
}

Socket receiveDescriptor(const Socket &socket) {
  DescriptorMessage m;
  if (recvmsg(socket.fd(), &m.message, MSG_CMSG_CLOEXEC) != 1)
    return {};
  const cmsghdr *header = CMSG_FIRSTHDR(&m.message);
  if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int)))
    return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
  return Socket(fd);
}

} // namespace dgc::rt
