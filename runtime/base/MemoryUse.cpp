// Asks the system what this process takes.
#include "runtime/base/MemoryUse.h"

#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

uint64_t dgc::rt::residentBytes() {
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  char text[128];
  const ssize_t size = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (size <= 0)
    return 0;
  text[size] = 0;
  char *behindAll = nullptr; // pages of all memory, then of what is in memory
  (void)std::strtoull(text, &behindAll, 10);
  return std::strtoull(behindAll, nullptr, 10) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}
