// Files in memory, and how they are filled.
#include "runtime/artifact/SealedFile.h"

#include "runtime/base/Status.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace dgc;
using namespace dgc::rt;

absl::StatusOr<int> dgc::rt::memoryFile(const char *name) {
  int fd = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0 || ::fchmod(fd, 0600) != 0)
    return errnoStatus(errno, "cannot create a file in memory");
  return fd;
}

absl::Status dgc::rt::writeAll(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errnoStatus(errno, "cannot copy into memory");
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status dgc::rt::seal(int fd) {
  constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  return ::fcntl(fd, F_ADD_SEALS, seals) == 0 ? absl::OkStatus() : errnoStatus(errno, "cannot seal the copy");
}

absl::StatusOr<size_t> dgc::rt::readFull(int in, std::span<uint8_t> bytes) {
  size_t filled = 0;
  while (filled < bytes.size()) {
    ssize_t n = ::read(in, bytes.data() + filled, bytes.size() - filled);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errnoStatus(errno, "cannot read");
    if (n == 0)
      break;
    filled += static_cast<size_t>(n);
  }
  return filled;
}

absl::StatusOr<uint64_t> dgc::rt::copyFile(int in, int out, uint64_t limit) {
  std::vector<uint8_t> chunk(std::min(limit, uint64_t{1} << 20));
  uint64_t total = 0;
  while (total < limit) {
    const size_t wanted = std::min<uint64_t>(chunk.size(), limit - total);
    DGC_ASSIGN_OR_RETURN(const size_t n, readFull(in, std::span(chunk).first(wanted)));
    DGC_RETURN_IF_ERROR(writeAll(out, std::span(chunk).first(n)));
    total += n;
    if (n < wanted)
      break;
  }
  return total;
}
