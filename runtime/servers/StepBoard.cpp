#include "runtime/servers/StepBoard.h"

#include <algorithm>

using namespace dgc::rt;

std::optional<int64_t> StepBoard::take(Worker worker, TimeNs now, std::optional<int64_t> computed) {
  if (!open.empty()) {
    const int64_t step = computed && open.contains(*computed) ? *computed : *open.begin();
    open.erase(step);
    lost.erase(step);
    held[step] = {{worker}, now};
    return step;
  }
  const TimeNs limit = std::max(patience, 8 * longest);
  for (auto &[step, each] : held)
    if (now - each.since >= limit && each.workers.insert(worker).second) {
      each.since = now;
      return step;
    }
  return std::nullopt;
}

bool StepBoard::finish(int64_t step, TimeNs now) {
  if (const auto found = held.find(step); found != held.end()) {
    longest = std::max(longest, now - found->second.since);
    held.erase(found);
    return true;
  }
  lost.erase(step);
  return open.erase(step) > 0; // by a worker that was thought to be lost
}

void StepBoard::lose(Worker worker) {
  for (auto each = held.begin(); each != held.end();) {
    auto &[step, holders] = *each;
    if (holders.workers.erase(worker) == 0 || !holders.workers.empty()) {
      ++each;
      continue;
    }
    open.insert(step);
    lost.insert(step);
    each = held.erase(each);
  }
}

std::optional<int64_t> StepBoard::oldest() const {
  std::optional<int64_t> first;
  if (!open.empty())
    first = *open.begin();
  if (!held.empty())
    first = std::min(first.value_or(INT64_MAX), held.begin()->first);
  return first;
}
