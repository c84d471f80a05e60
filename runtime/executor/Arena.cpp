// The private memory of one worker.
#include "runtime/executor/Arena.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

#include <cerrno>
#include <sys/mman.h>

using namespace dgc::rt;

absl::StatusOr<Arena> Arena::allocate(uint64_t bytes) {
  Arena arena;
  if (bytes == 0)
    return arena;
  constexpr uint64_t hugePage = uint64_t{2} << 20;
  void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return withExitCode(errnoStatus(errno, str("cannot allocate ", bytes, " bytes, the peak memory of the plan")),
                        ExitCode::Machine);
  if (bytes >= hugePage)
    ::madvise(memory, bytes, MADV_HUGEPAGE);
  arena.memory = {static_cast<std::byte *>(memory), bytes};
  arena.counted = CountedMemory(MemoryKind::Arena, wholePages(bytes));
  return arena;
}

Arena::~Arena() {
  if (!memory.empty())
    ::munmap(memory.data(), memory.size());
}
