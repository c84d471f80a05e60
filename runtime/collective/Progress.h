// Where a worker is in its program, readable by others at any moment.
#pragma once

#include <atomic>
#include <cstdint>

namespace dgc::rt {

/// A place in a run. `op` is the index of the step of the program (dgcx.fbs,
/// Program.steps) being run; kNoOp means that no step of a program is being
/// run.
struct Position {
  static constexpr uint32_t kNoOp = (1u << 24) - 1;

  uint64_t step = 0;
  uint32_t op = kNoOp;

  bool operator==(const Position &) const = default;
};

/// Written by the executor before each op with one relaxed store. In the
/// shared-memory transport it is in memory that other workers map, so that it
/// is still there after the worker was killed.
class ProgressWord {
public:
  void set(uint64_t step, uint32_t op) { word_.store(step << 24 | (op & Position::kNoOp), std::memory_order_relaxed); }
  void set(Position p) { set(p.step, p.op); }
  Position get() const {
    uint64_t w = word_.load(std::memory_order_relaxed);
    return {w >> 24, static_cast<uint32_t>(w) & Position::kNoOp};
  }

private:
  std::atomic<uint64_t> word_{Position::kNoOp};
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// Which rank a worker waits for in a transfer or collective, and how much it has sent and received, readable by others
/// at any moment. Written by the transport; the coordinator distinguishes a job whose workers wait for each other from one
/// whose workers compute by it.
class WaitRecord {
public:
  static constexpr int32_t kNoRank = -1;

  void awaits(int32_t rank) { awaited_.store(rank, std::memory_order_relaxed); }
  /// The rank that is waited for, or kNoRank while this worker computes. A wait of a few microseconds may not show.
  int32_t awaited() const { return awaited_.load(std::memory_order_relaxed); }

  void move(uint64_t bytes) {
    moved_.store(moved_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed); // one writer
  }
  /// Bytes over sockets, both ways. 0 on transports whose transfers are parts of ops that others see to advance.
  uint64_t moved() const { return moved_.load(std::memory_order_relaxed); }

private:
  std::atomic<uint64_t> moved_{0};
  std::atomic<int32_t> awaited_{kNoRank};
};

/// What a worker tells of itself beside where it is, readable by others at any moment. Written by its run.
class WorkerFigures {
public:
  /// The worker did nothing else for so long than to communicate.
  void expose(int64_t nanoseconds) { // one writer
    exposed_.store(exposed_.load(std::memory_order_relaxed) + static_cast<uint64_t>(nanoseconds),
                   std::memory_order_relaxed);
  }
  /// Nanoseconds, from the beginning.
  uint64_t exposed() const { return exposed_.load(std::memory_order_relaxed); }

  void useDevice(uint64_t bytes) { deviceBytes_.store(bytes, std::memory_order_relaxed); }
  /// Memory of a device that has its own; 0: none, or it is not known.
  uint64_t deviceBytes() const { return deviceBytes_.load(std::memory_order_relaxed); }

private:
  std::atomic<uint64_t> exposed_{0}, deviceBytes_{0};
};

} // namespace dgc::rt
