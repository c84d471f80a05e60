// Monotonic time behind an interface, so that deadlines can be tested without
// waiting.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace dgc::rt {

/// Nanoseconds on a monotonic clock of unspecified origin. Never wall time.
using TimeNs = int64_t;

constexpr TimeNs operator""_ms(unsigned long long n) { return static_cast<TimeNs>(n) * 1000000; }
constexpr TimeNs operator""_s(unsigned long long n) { return static_cast<TimeNs>(n) * 1000000000; }

class Clock {
public:
  virtual ~Clock() = default;
  virtual TimeNs now() = 0;
  /// Returns when now() >= deadline.
  virtual void sleepUntil(TimeNs deadline) = 0;
  /// Waits on `cv` (with `lock` held) until it is notified or now() >=
  /// deadline; false when the deadline has passed. May wake without cause, as
  /// any condition variable.
  virtual bool waitUntil(std::condition_variable &cv, std::unique_lock<std::mutex> &lock, TimeNs deadline) = 0;

  void sleepFor(TimeNs duration) { sleepUntil(now() + duration); }
};

/// The clock of the machine (CLOCK_MONOTONIC).
Clock &realClock();

/// A clock that does not advance until a test moves it. Safe to use from several
/// threads.
class FakeClock : public Clock {
public:
  explicit FakeClock(TimeNs start = 0) : time(start) {}
  TimeNs now() override;
  void sleepUntil(TimeNs deadline) override;
  bool waitUntil(std::condition_variable &cv, std::unique_lock<std::mutex> &lock, TimeNs deadline) override;
  /// Moves time forward by `duration` >= 0 and wakes every sleeper whose
  /// deadline has come.
  void advance(TimeNs duration);

private:
  std::mutex mutex;
  std::condition_variable moved;
  TimeNs time;
};

} // namespace dgc::rt
