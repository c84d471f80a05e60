#include "runtime/collective/StepGate.h"

#include <algorithm>
#include <chrono>

namespace dgc::rt {

void StepGate::updateLimit() {
  const int64_t event = events.empty() ? INT64_MAX : events.begin()->first;
  limit.store(std::min(event, proposed.value_or(INT64_MAX)));
}

int64_t StepGate::propose() {
  std::scoped_lock<std::mutex> lock(mutex);
  // The worker says which step it begins and then looks at the limit; this sets the limit and then looks at the step. So
  // one of the two sees what the other has done.
  int64_t seen;
  do {
    seen = begun.load();
    proposed = seen + 1;
    updateLimit();
  } while (begun.load() != seen);
  return *proposed;
}

void StepGate::agree(int64_t step, StepEvent event) {
  std::scoped_lock<std::mutex> lock(mutex);
  proposed.reset();
  StepEvent &there = events[step];
  there = event.kind > there.kind ? event : there;
  updateLimit();
  changed.notify_all();
}

absl::StatusOr<StepEvent> StepGate::wait(int64_t step, const Abort &abort) {
  std::unique_lock<std::mutex> lock(mutex);
  while (proposed && *proposed <= step) {
    if (abort.raised())
      return abort.status();
    changed.wait_for(lock, std::chrono::milliseconds(20)); // an abort does not notify
  }
  StepEvent found;
  while (!events.empty() && events.begin()->first <= step) {
    found = events.begin()->second.kind > found.kind ? events.begin()->second : found;
    events.erase(events.begin());
  }
  updateLimit();
  return found;
}

} // namespace dgc::rt
