#include "runtime/cluster/MeetingFile.h"

#include "runtime/base/Disk.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Status.h"
#include "runtime/net/Socket.h"

#include "absl/strings/str_split.h"

#include <cerrno>
#include <chrono>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dgc::rt {

std::string meetingFolder() { return str("/dev/shm/dgc-", getuid()); }

static std::string pathOf(const std::string &folder, const std::string &job) {
  Sha256 hash;
  hash.add(job);
  return str(folder, "/", hash.finishHex().substr(0, 16), ".meeting");
}

static absl::Status wrong(const std::string &message) {
  return withExitCode(absl::FailedPreconditionError(str(
                          message, "; give all workers --coordinator HOST:PORT of rank 0, which needs no such file")),
                      ExitCode::Cluster);
}

/// What is in a folder that others can write might be theirs.
static absl::Status checkFolder(const std::string &folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return wrong(std::string(errnoStatus(errno, str("cannot make ", folder)).message()));
  struct stat found = {};
  if (lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != getuid() ||
      (found.st_mode & 077) != 0)
    return wrong(str(folder, ", where workers of one machine meet, is no folder of this user alone"));
  return absl::OkStatus();
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
  DGC_RETURN_IF_ERROR(checkFolder(folder));
  // The port is free a moment later as well, as the kernel gives others first.
  DGC_ASSIGN_OR_RETURN(Socket probe, listenAt("127.0.0.1", 0, 1));
  DGC_ASSIGN_OR_RETURN(SocketAddress address, boundAddress(probe));
  DGC_ASSIGN_OR_RETURN(std::string first, randomToken());
  DGC_ASSIGN_OR_RETURN(std::string second, randomToken());
  MeetingFile file(pathOf(folder, job), {address.text(), first + second});
  const std::string temporary = str(file.path, ".", first.substr(0, 4));
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return wrong(std::string(errnoStatus(errno, str("cannot write ", temporary)).message()));
  const std::string text =
      str(describeProcess(getpid()), " ", file.meeting_.coordinator, " ", file.meeting_.token, "\n");
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
  DGC_RETURN_IF_ERROR(checkFolder(folder));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    if (auto text = readFile(realDisk(), pathOf(folder, job), 4096); text.ok()) {
      const std::vector<std::string> words = absl::StrSplit(*text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
      if (words.size() == 3 && describeProcess(std::atoi(words[0].c_str())) == words[0])
        return Meeting{words[1], words[2]};
    }
    if (std::chrono::steady_clock::now() >= end)
      return wrong(str("rank 0 of this job did not come within ", seconds, " s"));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

} // namespace dgc::rt
