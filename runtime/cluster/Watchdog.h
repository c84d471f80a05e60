// Ends a process that does not end by itself after the first error of the job.
#pragma once

#include "absl/status/status.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace dgc::rt {

/// Once armed, the process has `graceSeconds` to destroy this object. Else the
/// error is printed, unless told() was called, and the process ends with its
/// exit code, without destructors: whatever hangs must not keep the job.
class Watchdog {
public:
  explicit Watchdog(double graceSeconds) : graceSeconds(graceSeconds) {}
  ~Watchdog();

  void arm(const absl::Status &error);
  /// The error has been handed to the caller, which prints it.
  void told();

private:
  const double graceSeconds;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread thread;
  bool stopping = false, wasTold = false;
};

} // namespace dgc::rt
