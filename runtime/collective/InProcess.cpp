// Ranks as threads of one process: the mapped transport over segments that are
// plain memory.
#include "runtime/collective/Mapped.h"
#include "runtime/collective/Wait.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <cstring>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace dgc::rt {

void Waiter::setSpinning(size_t ranksHere) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  size_t allowed = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
  // A rank that is bound to one core has that for itself.
  size_t cores = allowed > 1 ? allowed : sysconf(_SC_NPROCESSORS_ONLN);
  // Some 50 us when every rank has a core; else the one waited for probably
  // needs ours.
  spins_ = ranksHere <= cores ? 3000 : 50;
}

absl::StatusOr<std::vector<std::unique_ptr<Transport>>>
createInProcessTransports(int worldSize, const TransportOptions &options, Abort &abort) {
  MappedJob job;
  job.layout = {static_cast<uint32_t>(worldSize), options.channels, options.sharedBytes};
  const uint64_t each = job.layout.totalBytes(), total = each * worldSize;
  void *memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return absl::ResourceExhaustedError(absl::StrCat("cannot map ", total, " bytes for the shared arenas of ",
                                                     worldSize, " ranks: ", std::strerror(errno)));
  madvise(memory, total, MADV_HUGEPAGE);
  auto counted = std::make_shared<CountedMemory>(MemoryKind::Communication, job.layout.residentBytes() * worldSize);
  job.owner = std::shared_ptr<void>(memory, [total, counted](void *p) { munmap(p, total); });
  for (int r = 0; r < worldSize; ++r) {
    job.segments.push_back(static_cast<std::byte *>(memory) + r * each);
    auto *header = new (job.segments[r]) SegmentHeader;
    header->rank = r;
    header->worldSize = worldSize;
  }
  std::vector<std::unique_ptr<Transport>> transports;
  for (int r = 0; r < worldSize; ++r)
    transports.push_back(createMappedTransport("in-process", r, job, options, abort));
  return transports;
}

} // namespace dgc::rt
