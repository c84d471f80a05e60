// Which worker computes which step of a job with asynchronous parameter servers. Knows neither threads nor connections: the
// chief (WorkerPool) and the simulation use it.
#pragma once

#include "runtime/base/Clock.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace dgc::rt {

/// A step is computed by one worker; by another one where the first is lost, or takes so long that it may be. Servers apply
/// whichever update comes first.
class StepBoard {
public:
  using Worker = uint64_t;

  /// A step that a worker has for `patience` is given to a free one as well, but not before 8 times as long as the longest
  /// so far has taken.
  explicit StepBoard(TimeNs patience) : patience(patience) {}

  /// The step may begin.
  void offer(int64_t step) { open.insert(step); }
  /// A step for a worker that is free: `computed`, if no worker has that, else the first that no worker has, else one that is
  /// overdue.
  std::optional<int64_t> take(Worker worker, TimeNs now, std::optional<int64_t> computed = std::nullopt);
  /// A worker has computed it, and all servers have applied it. False: that was known.
  bool finish(int64_t step, TimeNs now);
  /// The worker does not come back; what it had begun is open again.
  void lose(Worker worker);

  /// Whether there is a step that no worker has.
  bool isAnyOpen() const { return !open.empty(); }
  /// Whether a worker has taken the step, or it is finished.
  bool hasBegun(int64_t step) const { return !open.contains(step) || lost.contains(step); }
  /// The first step that is offered and not finished.
  std::optional<int64_t> oldest() const;

private:
  struct Held {
    std::set<Worker> workers;
    TimeNs since;
  };
  std::set<int64_t> open;       // no worker has them
  std::set<int64_t> lost;       // of these, those that one had
  std::map<int64_t, Held> held; // workers have them
  TimeNs patience, longest = 0;
};

} // namespace dgc::rt
