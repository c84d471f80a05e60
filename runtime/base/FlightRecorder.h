// A flight recorder: what a worker did last, in a file that is there after it was killed.
//
// The file is mapped, so that what was written survives the process, not its machine. It is a header, a ring of the last
// events, and the names of the ops, and can be read at any moment (runtime/telemetry/FlightLog.h).
#pragma once

#include "runtime/base/Clock.h"

#include "absl/status/statusor.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace dgc::rt {

namespace flight {

inline constexpr char kMagic[8] = {'d', 'g', 'c', 'f', 'l', 'g', 'h', 't'};
inline constexpr uint32_t kVersion = 1;
inline constexpr int32_t kNotEnded = -1;

/// What begins in a step: `op` of the plan. Written by one thread.
struct Entry {
  std::atomic<int64_t> time;      // nanoseconds of Clock::now()
  std::atomic<uint64_t> position; // step << 24 | op
  std::atomic<uint64_t> number;   // of this entry, from 1, written last: another one, and it is being overwritten
};

/// The beginning of the file. Entries follow at kEntriesAt, `capacity` of them, and then the names of the ops, each ended by a
/// line feed.
struct Header {
  char magic[8];
  uint32_t version, rank, world;
  int32_t pid;
  uint64_t capacity, nameBytes;
  int64_t beganAt, beganReal;     // of Clock::now(), and of the time of day in nanoseconds since 1970, at one moment
  char host[64], plan[72];        // with a zero at the end; the digest of the plan
  std::atomic<uint64_t> written;  // entries so far
  std::atomic<int64_t> sampledAt; // when `awaited` was looked at, of Clock::now(); 0: not yet
  std::atomic<int32_t> awaited;   // the rank that the worker waits for; -1: none
  std::atomic<int32_t> exitCode;  // kNotEnded until the worker has ended by itself
};

inline constexpr uint64_t kEntriesAt = 512;
static_assert(sizeof(Header) <= kEntriesAt && sizeof(Entry) == 24);
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<int32_t>::is_always_lock_free);

} // namespace flight

class FlightRecorder {
public:
  struct Worker {
    uint32_t rank = 0, world = 1;
    std::string host, plan;    // the digest of the plan
    uint64_t capacity = 16384; // events that are kept
  };

  /// Replaces the file. `names` are those of the ops, by number. All of the file has its place on the disk afterwards, so that
  /// writing cannot fail.
  static absl::StatusOr<std::unique_ptr<FlightRecorder>> create(const std::string &path, const Worker &worker,
                                                                std::span<const std::string> names, Clock &clock);
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder &) = delete;
  FlightRecorder &operator=(const FlightRecorder &) = delete;

  /// An op begins. One thread calls this; it takes as long as three stores.
  void begin(uint64_t step, uint32_t op, TimeNs now) {
    const uint64_t number = header->written.load(std::memory_order_relaxed);
    flight::Entry &entry = entries[number % capacity];
    entry.number.store(0, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    entry.time.store(now, std::memory_order_relaxed);
    entry.position.store(step << 24 | (op & 0xffffff), std::memory_order_relaxed);
    entry.number.store(number + 1, std::memory_order_release);
    header->written.store(number + 1, std::memory_order_release);
  }

  /// Whom the worker waits for now; -1: nobody. Another thread may call this.
  void sample(int32_t awaited, TimeNs now) {
    header->awaited.store(awaited, std::memory_order_relaxed);
    header->sampledAt.store(now, std::memory_order_release);
  }

  /// The worker ends by itself.
  void end(int code) { header->exitCode.store(code, std::memory_order_release); }

private:
  FlightRecorder(std::byte *memory, uint64_t bytes, uint64_t capacity)
      : header(reinterpret_cast<flight::Header *>(memory)),
        entries(reinterpret_cast<flight::Entry *>(memory + flight::kEntriesAt)), capacity(capacity), bytes(bytes) {}

  flight::Header *header;
  flight::Entry *entries;
  uint64_t capacity, bytes;
};

} // namespace dgc::rt
