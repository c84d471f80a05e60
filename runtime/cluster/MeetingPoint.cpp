#include "runtime/cluster/MeetingPoint.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Status.h"
#include "runtime/cluster/Credentials.h"

#include "absl/strings/str_split.h"

#include <chrono>
#include <thread>
#include <vector>

#include <unistd.h>

namespace dgc::rt {
namespace {

/// How long a process that answers may take, in seconds; it has nothing else to do.
constexpr int kAnswer = 5;

std::string nameOf(const std::string &job) { return str("dgc-meeting.", getuid(), ".", sha256Of(job).substr(0, 32)); }

absl::Status wrong(const std::string &message) {
  return withExitCode(absl::FailedPreconditionError(str(
                          message, "; give all workers --coordinator HOST:PORT of rank 0, which needs no such socket")),
                      ExitCode::Cluster);
}

/// What rank 0 says; nothing where it is not there.
absl::StatusOr<std::string> ask(const std::string &name) {
  absl::StatusOr<Socket> socket = connectLocally(name, kAnswer);
  if (absl::IsPermissionDenied(socket.status()))
    return wrong(str(std::string(socket.status().message()), " in the place of rank 0 of this job"));
  std::string text;
  char buffer[256];
  for (ssize_t n = 0; socket.ok() && text.size() < 4096 && (n = recv(socket->fd(), buffer, sizeof(buffer), 0)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  return text;
}

} // namespace

absl::StatusOr<MeetingPoint> MeetingPoint::announce(const std::string &job) {
  // If another process takes the port before rank 0 listens there, the job ends with an error that names the address.
  DGC_ASSIGN_OR_RETURN(Socket probe, listenAt("127.0.0.1", 0, 1));
  DGC_ASSIGN_OR_RETURN(SocketAddress address, boundAddress(probe));
  Meeting meeting{address.text(), makeJobSecret()};
  absl::StatusOr<std::unique_ptr<LocalServer>> server = LocalServer::start(
      nameOf(job), [text = str(meeting.coordinator, " ", meeting.secret, "\n")](const Socket &socket) {
        (void)!send(socket.fd(), text.data(), text.size(), MSG_NOSIGNAL);
      });
  if (absl::IsAlreadyExists(server.status()))
    return wrong("another process is rank 0 of this job already, or has its name");
  if (!server.ok())
    return wrong(std::string(server.status().message()));
  return MeetingPoint(*std::move(server), std::move(meeting));
}

absl::StatusOr<Meeting> findMeeting(const std::string &job, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const std::string name = nameOf(job);
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
