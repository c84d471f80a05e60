// The private memory of one worker.
#pragma once

#include "runtime/base/MemoryUse.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace dgc::rt {

/// Zeroed anonymous pages, in huge pages where the kernel has them.
class Arena {
public:
  static absl::StatusOr<Arena> allocate(uint64_t bytes);
  Arena() = default;
  ~Arena();
  Arena(Arena &&other) noexcept { swap(other); }
  Arena &operator=(Arena &&other) noexcept {
    swap(other);
    return *this;
  }

  std::span<std::byte> bytes() const { return memory; }

private:
  void swap(Arena &other) noexcept {
    std::swap(memory, other.memory);
    std::swap(counted, other.counted);
  }
  std::span<std::byte> memory;
  CountedMemory counted;
};

} // namespace dgc::rt
