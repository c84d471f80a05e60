// Waiting for another worker: spin, then yield, then sleep; always watching
// Abort and a deadline.
#pragma once

#include "runtime/collective/Abort.h"
#include "runtime/collective/Progress.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>

#include <sched.h>

namespace dgc::rt {

/// The waits of one transport. A wait that is short never makes a system call;
/// one that is long leaves the processor to others, as there may be fewer cores
/// than ranks.
class Waiter {
public:
  /// `record`, where given, shows whom a longer wait is for.
  Waiter(Abort &abort, double timeoutSeconds, WaitRecord *record = nullptr)
      : abort_(abort), record_(record), timeoutNs_(static_cast<int64_t>(std::min(timeoutSeconds, 9e9) * 1e9)) {}

  /// Fits the length of spinning to the number of ranks on this machine.
  void setSpinning(size_t ranksHere);
  /// For waits whose `idle` makes system calls, each of which takes as long as many spins.
  void setSpins(uint32_t count) { spins_ = count; }

  /// Returns OK once `done()`, the status of the Abort once that is raised, or
  /// DeadlineExceeded with the text of `describe()`. `idle`, called in between,
  /// may drive progress; `awaited` is the rank that is waited for now.
  /// `rest(waitedNs)` leaves the processor to others for some milliseconds at most.
  template <class Done, class Describe, class Idle, class Awaited, class Rest>
  absl::Status until(Done done, Describe describe, Idle idle, Awaited awaited, Rest rest) {
    for (uint32_t i = 0; i < spins_; ++i) {
      if (done()) [[likely]]
        return absl::OkStatus();
      idle();
      pause();
    }
    absl::Status status = wait(done, describe, idle, awaited, rest);
    if (record_)
      record_->awaits(WaitRecord::kNoRank);
    return status;
  }
  template <class Done, class Describe, class Idle, class Awaited>
  absl::Status until(Done done, Describe describe, Idle idle, Awaited awaited) {
    return until(done, describe, idle, awaited, [this](int64_t waitedNs) { rest(waitedNs, doze); });
  }
  template <class Done, class Describe> absl::Status until(Done done, Describe describe) {
    return until(done, describe, [] {}, [] { return WaitRecord::kNoRank; });
  }

  /// Yields the processor; sleeps by `sleep()` when the wait is long or other programs compete for the processor.
  /// When only ranks of the job share the processor, yielding reaches the awaited rank fastest. Beside other programs
  /// it is slow: the Linux scheduler defers a thread at each yield, but not one that sleeps.
  template <class Sleep> void rest(int64_t waitedNs, Sleep sleep) {
    if (waitedNs > kYieldForNs || sleepingWaits_ > 0) {
      sleep();
      return;
    }
    const int64_t before = now();
    sched_yield();
    if (now() - before > kLongYieldNs)
      sleepingWaits_ = kSleepingWaits;
  }

private:
  static constexpr int64_t kYieldForNs = 20'000'000;
  /// A yield that takes longer means that a thread outside the job uses the processor.
  static constexpr int64_t kLongYieldNs = 1'500'000;
  /// After such a yield, so many waits sleep at once.
  static constexpr uint32_t kSleepingWaits = 256;

  /// The part of a wait after the spinning.
  template <class Done, class Describe, class Idle, class Awaited, class Rest>
  absl::Status wait(Done done, Describe describe, Idle idle, Awaited awaited, Rest rest) {
    if (sleepingWaits_ > 0)
      --sleepingWaits_;
    const int64_t start = now();
    for (;;) {
      if (done())
        return absl::OkStatus();
      if (abort_.raised()) [[unlikely]]
        return abort_.status();
      idle();
      const int64_t waited = now() - start;
      if (record_)
        record_->awaits(awaited());
      if (waited > timeoutNs_) [[unlikely]]
        return absl::DeadlineExceededError(describe());
      rest(waited);
    }
  }

  static void pause() {
#ifdef __x86_64__
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  static int64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * int64_t{1'000'000'000} + t.tv_nsec;
  }
  static void doze() {
    timespec t{0, 50'000};
    nanosleep(&t, nullptr);
  }

  Abort &abort_;
  WaitRecord *record_;
  int64_t timeoutNs_;
  uint32_t spins_ = 100;
  uint32_t sleepingWaits_ = 0;
};

} // namespace dgc::rt
