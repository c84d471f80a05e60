// Where the workers of a job meet that were started on one machine by somebody who does not say where, as by mpirun: rank 0
// writes its address, and a secret that it makes for the job, into a file that only this user can read, and the others look for
// it.
#pragma once

#include "absl/status/statusor.h"

#include <string>

namespace dgc::rt {

struct Meeting {
  std::string coordinator; ///< 127.0.0.1:PORT
  std::string secret;      ///< of the job
};

class MeetingFile {
public:
  /// For rank 0. `job` is a name that all workers of the job know and no other job of this machine has at the time. The file is
  /// removed with the result. Others may write into `folder` as well, if they cannot replace what is not theirs.
  static absl::StatusOr<MeetingFile> announce(const std::string &folder, const std::string &job);
  MeetingFile(MeetingFile &&other) noexcept;
  ~MeetingFile();

  const Meeting &meeting() const { return meeting_; }

private:
  MeetingFile(std::string path, Meeting meeting) : path(std::move(path)), meeting_(std::move(meeting)) {}

  std::string path;
  Meeting meeting_;
};

/// For the others: waits until rank 0 has announced the job. What a process left that has died does not count.
absl::StatusOr<Meeting> findMeeting(const std::string &folder, const std::string &job, double seconds);

/// In memory.
std::string meetingFolder();

} // namespace dgc::rt
