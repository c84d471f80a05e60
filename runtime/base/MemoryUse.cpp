// Asks the system what this process takes.
#include "runtime/base/MemoryUse.h"

#include <cstdio>
#include <unistd.h>

uint64_t dgc::rt::residentBytes() {
  std::FILE *file = std::fopen("/proc/self/statm", "re");
  if (!file)
    return 0;
  unsigned long long size = 0, resident = 0;
  const int read = std::fscanf(file, "%llu %llu", &size, &resident);
  std::fclose(file);
  return read == 2 ? resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}
