#include "runtime/cluster/MeetingFile.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Status.h"
#include "runtime/cluster/Credentials.h"
#include "runtime/net/Socket.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dgc::rt {

std::string meetingFolder() { return "/dev/shm"; }

static std::string pathOf(const std::string &folder, const std::string &job) {
  Sha256 hash;
  hash.add(job);
  return str(folder, "/dgc-meeting.", getuid(), ".", hash.finishHex().substr(0, 16));
}

static absl::Status wrong(const std::string &message) {
  return withExitCode(absl::FailedPreconditionError(str(
                          message, "; give all workers --coordinator HOST:PORT of rank 0, which needs no such file")),
                      ExitCode::Cluster);
}

/// The text of a file that only this user can read: other users may write what they like into the folder.
static std::string readOwn(const std::string &path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return "";
  struct stat found = {};
  const bool isOwn =
      fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == getuid() && (found.st_mode & 077) == 0;
  std::string text(isOwn ? 4096 : 0, '\0');
  const ssize_t size = read(fd, text.data(), text.size());
  close(fd);
  text.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

/// A process and when it was started, which tell it from all others; empty where there is none.
static std::string describeProcess(pid_t pid) {
  std::ifstream file(str("/proc/", pid, "/stat"));
  std::string stat;
  std::getline(file, stat);
  // What follows the name, which may have anything in it. The start is field 22; that of the state is 3.
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(stat.rfind(')') + 1), ' ', absl::SkipEmpty());
  return fields.size() > 19 ? str(pid, ".", fields[19]) : "";
}

absl::StatusOr<MeetingFile> MeetingFile::announce(const std::string &folder, const std::string &job) {
  // If another process takes the port before rank 0 listens there, the job ends with an error that names the address.
  DGC_ASSIGN_OR_RETURN(Socket probe, listenAt("127.0.0.1", 0, 1));
  DGC_ASSIGN_OR_RETURN(SocketAddress address, boundAddress(probe));
  DGC_ASSIGN_OR_RETURN(std::string unique, randomToken());
  MeetingFile file(pathOf(folder, job), {address.text(), makeJobSecret()});
  const std::string temporary = str(file.path, ".", unique);
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return wrong(std::string(errnoStatus(errno, str("cannot write ", temporary)).message()));
  const std::string text =
      str(describeProcess(getpid()), " ", file.meeting_.coordinator, " ", file.meeting_.secret, "\n");
  const bool isWritten = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  if (!isWritten || rename(temporary.c_str(), file.path.c_str()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    file.path.clear();
    return wrong(std::string(errnoStatus(error, str("cannot write ", temporary)).message()));
  }
  return file;
}

MeetingFile::MeetingFile(MeetingFile &&other) noexcept
    : path(std::exchange(other.path, {})), meeting_(std::move(other.meeting_)) {}

MeetingFile::~MeetingFile() {
  if (!path.empty())
    unlink(path.c_str());
}

absl::StatusOr<Meeting> findMeeting(const std::string &folder, const std::string &job, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    const std::vector<std::string> words =
        absl::StrSplit(readOwn(pathOf(folder, job)), absl::ByAnyChar(" \n"), absl::SkipEmpty());
    pid_t pid = 0;
    if (words.size() == 3 && absl::SimpleAtoi(words[0].substr(0, words[0].find('.')), &pid) &&
        describeProcess(pid) == words[0])
      return Meeting{words[1], words[2]};
    if (std::chrono::steady_clock::now() >= end)
      return wrong(str("rank 0 of this job did not come within ", seconds, " s"));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

} // namespace dgc::rt
