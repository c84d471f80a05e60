// The real clock, and the fake one of the tests.
#include "runtime/base/Clock.h"

#include <chrono>
#include <thread>

using namespace dgc::rt;

namespace {
using Steady = std::chrono::steady_clock;

class RealClock final : public Clock {
public:
  TimeNs now() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now().time_since_epoch()).count();
  }
  void sleepUntil(TimeNs deadline) override { std::this_thread::sleep_until(point(deadline)); }
  bool waitUntil(std::condition_variable &cv, std::unique_lock<std::mutex> &lock, TimeNs deadline) override {
    return cv.wait_until(lock, point(deadline)) == std::cv_status::no_timeout;
  }

private:
  static Steady::time_point point(TimeNs t) { return Steady::time_point(std::chrono::nanoseconds(t)); }
};
} // namespace

Clock &dgc::rt::realClock() {
  static RealClock clock;
  return clock;
}

TimeNs FakeClock::now() {
  std::scoped_lock<std::mutex> lock(mutex);
  return time;
}

void FakeClock::sleepUntil(TimeNs deadline) {
  std::unique_lock<std::mutex> lock(mutex);
  moved.wait(lock, [&] { return time >= deadline; });
}

bool FakeClock::waitUntil(std::condition_variable &cv, std::unique_lock<std::mutex> &lock, TimeNs deadline) {
  // Fake time has no link to the caller's condition variable, so look at it
  // again every real millisecond.
  if (now() >= deadline)
    return false;
  cv.wait_for(lock, std::chrono::milliseconds(1));
  return now() < deadline;
}

void FakeClock::advance(TimeNs duration) {
  std::scoped_lock<std::mutex> lock(mutex);
  time += duration;
  moved.notify_all();
}
