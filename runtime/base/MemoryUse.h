// Bytes that the workers of this process take for what a plan plans, counted where they are allocated.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

namespace dgc::rt {

/// Private arenas, memory of the transports, and the inside of library calls.
enum class MemoryKind : uint8_t { Arena, Communication, Scratch };

class MemoryUse {
public:
  /// Of all kinds together, or of one: now, and the most since resetPeak().
  uint64_t peak() const { return total.peak.load(); }
  uint64_t peak(MemoryKind kind) const { return kinds[static_cast<size_t>(kind)].peak.load(); }
  uint64_t now() const { return total.now.load(); }
  void resetPeak() {
    for (Count *count : {kinds.data(), &kinds[1], &kinds[2], &total})
      count->peak.store(count->now.load());
  }

private:
  friend class CountedMemory;
  struct Count {
    std::atomic<uint64_t> now{0}, peak{0};
    void add(uint64_t bytes) {
      uint64_t sum = now.fetch_add(bytes) + bytes, before = peak.load();
      while (before < sum && !peak.compare_exchange_weak(before, sum)) {
      }
    }
  };
  std::array<Count, 3> kinds;
  Count total;
};

/// That of this process.
inline MemoryUse &memoryUse() {
  static MemoryUse use;
  return use;
}

/// Bytes that count for as long as it lives.
class CountedMemory {
public:
  CountedMemory() = default;
  CountedMemory(MemoryKind kind, uint64_t bytes) : kind(kind), bytes(bytes) {
    memoryUse().kinds[static_cast<size_t>(kind)].add(bytes);
    memoryUse().total.add(bytes);
  }
  CountedMemory(CountedMemory &&other) noexcept : kind(other.kind), bytes(std::exchange(other.bytes, 0)) {}
  CountedMemory &operator=(CountedMemory &&other) noexcept {
    std::swap(kind, other.kind);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~CountedMemory() {
    memoryUse().kinds[static_cast<size_t>(kind)].now -= bytes;
    memoryUse().total.now -= bytes;
  }

private:
  MemoryKind kind = MemoryKind::Arena;
  uint64_t bytes = 0;
};

/// Bytes of this process that are in memory, whatever they are for; 0 where the system does not say.
uint64_t residentBytes();

/// What memory comes in.
inline constexpr uint64_t pageBytes = 4096;
inline uint64_t wholePages(uint64_t bytes) { return (bytes + pageBytes - 1) / pageBytes * pageBytes; }

} // namespace dgc::rt
