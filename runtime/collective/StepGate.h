// How the workers of a job agree on a step while they run, before which all of them do something: tell each other
// what they have found, save a checkpoint, stop.
//
// The coordinator asks every worker for a step that it has not begun (propose), and sends all of them the largest one (agree).
// In between a worker does not begin the step that it has proposed, so no worker is past the one that is agreed on.
#pragma once

#include "runtime/collective/Abort.h"

#include "absl/status/statusor.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace dgc::rt {

/// What is to be done before a step, the smaller one first.
struct StepEvent {
  enum Kind : uint32_t {
    None,
    Compare, // the values that are not finite which workers have found, by a plan that checks values
    Checkpoint,
    Stop
  };
  Kind kind = None;
  int32_t signal = 0; // that asked for it; 0: none
  bool operator==(const StepEvent &) const = default;
};

/// That of one worker. Steps are numbered as those of training: the first one after a checkpoint of 500 steps is 500.
class StepGate {
public:
  /// The worker is about to begin `step`: what all workers do before. Waits while the step is being negotiated; an abort ends
  /// that. Steps grow.
  absl::StatusOr<StepEvent> pass(int64_t step, const Abort &abort) {
    begun.store(step);
    return step < limit.load() ? StepEvent() : wait(step, abort);
  }

  /// The first step that this worker has not begun. It does not begin it before agree().
  int64_t propose();

  /// All workers do this before `step`, which is none that any of them had begun when it proposed.
  void agree(int64_t step, StepEvent event);

private:
  absl::StatusOr<StepEvent> wait(int64_t step, const Abort &abort);
  /// `mutex` is held.
  void updateLimit();

  std::atomic<int64_t> begun{-1}, limit{INT64_MAX}; // `limit`: the first step that takes more than two atomics to begin
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<int64_t> proposed;
  std::map<int64_t, StepEvent> events;
};

} // namespace dgc::rt
