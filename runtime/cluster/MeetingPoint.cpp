#include "runtime/cluster/MeetingPoint.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Status.h"
#include "runtime/cluster/Credentials.h"

#include "absl/strings/str_split.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>

namespace dgc::rt {
namespace {

/// How long a process that answers may take; it has nothing else to do.
constexpr timeval kAnswer = {5, 0};

struct Name {
  sockaddr_un address = {};
  socklen_t length = 0;
  const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&address); }
};

/// Of the abstract namespace of sockets.
Name nameOf(const std::string &job) {
  const std::string text = str("dgc-meeting.", getuid(), ".", sha256Of(job).substr(0, 32));
  Name name;
  name.address.sun_family = AF_UNIX;
  std::memcpy(name.address.sun_path + 1, text.data(), text.size());
  name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

absl::Status wrong(const std::string &message) {
  return withExitCode(absl::FailedPreconditionError(str(
                          message, "; give all workers --coordinator HOST:PORT of rank 0, which needs no such socket")),
                      ExitCode::Cluster);
}

/// The user at the other end, or who has begun to listen there.
uid_t userOf(const Socket &socket) {
  ucred credentials = {};
  socklen_t length = sizeof(credentials);
  return getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? credentials.uid
                                                                                      : static_cast<uid_t>(-1);
}

/// What rank 0 says; nothing where it is not there. FailedPrecondition: somebody else is.
absl::StatusOr<std::string> ask(const Name &name) {
  Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &kAnswer, sizeof(kAnswer));
  if (!socket || connect(socket.fd(), name.get(), name.length) != 0)
    return "";
  if (const uid_t user = userOf(socket); user != getuid())
    return wrong(str("a process of another user (", user, ") answers in the place of rank 0 of this job"));
  std::string text;
  char buffer[256];
  for (ssize_t n = 0; text.size() < 4096 && (n = recv(socket.fd(), buffer, sizeof(buffer), 0)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  return text;
}

} // namespace

absl::StatusOr<std::unique_ptr<MeetingPoint>> MeetingPoint::announce(const std::string &job) {
  // If another process takes the port before rank 0 listens there, the job ends with an error that names the address.
  DGC_ASSIGN_OR_RETURN(Socket probe, listenAt("127.0.0.1", 0, 1));
  DGC_ASSIGN_OR_RETURN(SocketAddress address, boundAddress(probe));
  const Name name = nameOf(job);
  Socket listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listening || bind(listening.fd(), name.get(), name.length) != 0 || listen(listening.fd(), 4096) != 0)
    return wrong(errno == EADDRINUSE ? std::string("another process is rank 0 of this job already, or has its name")
                                     : str("cannot announce the job: ", std::strerror(errno)));
  return std::unique_ptr<MeetingPoint>(new MeetingPoint(std::move(listening), {address.text(), makeJobSecret()}));
}

MeetingPoint::MeetingPoint(Socket socket, Meeting meeting)
    : listening(std::move(socket)), wake(eventfd(0, EFD_CLOEXEC)), meeting_(std::move(meeting)) {
  thread = std::thread([this] { run(); });
}

MeetingPoint::~MeetingPoint() {
  eventfd_write(wake.fd(), 1);
  thread.join();
}

void MeetingPoint::run() {
  const std::string text = str(meeting_.coordinator, " ", meeting_.secret, "\n");
  while (true) {
    pollfd entries[] = {{listening.fd(), POLLIN, 0}, {wake.fd(), POLLIN, 0}};
    poll(entries, 2, -1);
    if (entries[1].revents)
      return;
    Socket socket(accept4(listening.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket && userOf(socket) == getuid())
      (void)!send(socket.fd(), text.data(), text.size(), MSG_NOSIGNAL);
  }
}

absl::StatusOr<Meeting> findMeeting(const std::string &job, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const Name name = nameOf(job);
  while (true) {
    DGC_ASSIGN_OR_RETURN(const std::string text, ask(name));
    const std::vector<std::string> words = absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
    if (words.size() == 2)
      return Meeting{words[0], words[1]};
    if (std::chrono::steady_clock::now() >= end)
      return wrong(str("rank 0 of this job did not come within ", seconds, " s"));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

} // namespace dgc::rt
