// Where the workers of a job meet that were started on one machine by somebody who does not say where, as by mpirun: rank 0
// gives its address, and a secret that it makes for the job, to processes of the same user that ask for it at a socket. The
// socket has a name that both sides know, in no folder: it ends with the process, however that ends.
#pragma once

#include "runtime/net/LocalSocket.h"

#include "absl/status/statusor.h"

#include <memory>
#include <string>

namespace dgc::rt {

struct Meeting {
  std::string coordinator; ///< 127.0.0.1:PORT
  std::string secret;      ///< of the job
};

class MeetingPoint {
public:
  /// For rank 0. `job` is a name that all workers of the job know and no other job of this machine has at the time. The others
  /// are answered as long as the result lives.
  static absl::StatusOr<MeetingPoint> announce(const std::string &job);

  const Meeting &meeting() const { return meeting_; }

private:
  MeetingPoint(std::unique_ptr<LocalServer> server, Meeting meeting)
      : server(std::move(server)), meeting_(std::move(meeting)) {}

  std::unique_ptr<LocalServer> server;
  Meeting meeting_;
};

/// For the others: waits until rank 0 has announced the job.
absl::StatusOr<Meeting> findMeeting(const std::string &job, double seconds);

} // namespace dgc::rt
