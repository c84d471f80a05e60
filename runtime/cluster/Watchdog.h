// Ends a process that does not end by itself after the first error of the job.
#pragma once

#include "absl/status/status.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace dgc::rt {

/// Once armed, the process has `graceSeconds` to destroy this object. Else the
/// error is printed and the process ends with its exit code, without
/// destructors: whatever hangs must not keep the job. Callers print the error
/// after they have destroyed this object, so it is printed once.
class Watchdog {
public:
  explicit Watchdog(double graceSeconds) : graceSeconds(graceSeconds) {}
  ~Watchdog();

  void arm(const absl::Status &error);

private:
  const double graceSeconds;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread thread;
  bool stopping = false;
};

} // namespace dgc::rt
