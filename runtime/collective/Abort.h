// Abort: how an error of the job reaches every wait of one worker.
#pragma once

#include "absl/status/status.h"

#include <atomic>
#include <mutex>

namespace dgc::rt {

/// Raised once, by the thread that learns of the first error of the job (the cluster's
/// control thread, a signal, another rank in process). From then on every wait
/// of the data plane returns `status()` promptly, and the executor stops
/// between two ops. Never lowered.
class Abort {
public:
  /// Returns whether this was the first error; later ones are ignored. `status`
  /// must not be OK.
  bool raise(absl::Status status) {
    std::scoped_lock<std::mutex> lock(mutex_);
    if (raised_.load(std::memory_order_relaxed))
      return false;
    status_ = std::move(status);
    raised_.store(true, std::memory_order_release);
    return true;
  }

  /// One load; meant for loops.
  bool raised() const { return raised_.load(std::memory_order_acquire); }

  /// OK until raised.
  absl::Status status() const {
    std::scoped_lock<std::mutex> lock(mutex_);
    return status_;
  }

private:
  std::atomic<bool> raised_{false};
  mutable std::mutex mutex_;
  absl::Status status_;
};

} // namespace dgc::rt
