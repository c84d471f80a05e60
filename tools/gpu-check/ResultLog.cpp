#include "tools/gpu-check/ResultLog.h"

#include "runtime/base/Status.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using dgc::rt::str;

ResultLog::~ResultLog() {
  if (file >= 0)
    ::close(file);
}

absl::Status ResultLog::open(const std::string &name, bool continues) {
  path = name;
  file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (continues ? 0 : O_TRUNC), 0644);
  if (file < 0)
    return absl::UnavailableError(str(path, ": ", std::strerror(errno)));
  char last = '\n'; // a line may have been cut off
  if (off_t size = ::lseek(file, 0, SEEK_END); size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n')
    return append("\n");
  return absl::OkStatus();
}

absl::Status ResultLog::append(const std::string &line) const {
  if (file < 0)
    return absl::OkStatus();
  if (::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return absl::UnavailableError(str(path, ": ", std::strerror(errno)));
  ::fdatasync(file); // not where it is a pipe
  return absl::OkStatus();
}
