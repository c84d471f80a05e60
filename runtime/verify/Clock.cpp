#include "runtime/verify/Clock.h"

#include <algorithm>

using namespace dgc::verify;

Moment Clock::advance(uint32_t task) {
  if (times.size() <= task)
    times.resize(task + 1);
  return {task, ++times[task]};
}

void Clock::join(const Clock &other) {
  if (times.size() < other.times.size())
    times.resize(other.times.size());
  for (size_t i = 0; i < other.times.size(); ++i)
    times[i] = std::max(times[i], other.times[i]);
}

/// No entry goes across `byte` afterwards.
void AccessLog::split(uint64_t byte) {
  auto at = entries.lower_bound(byte);
  if (at == entries.begin())
    return;
  --at;
  if (at->second.end <= byte)
    return;
  entries.emplace_hint(std::next(at), byte, at->second);
  at->second.end = byte;
}

/// Accesses that are before this one are forgotten where it is a write, and reads where it is a read: what is after this one
/// is after those.
std::optional<AccessLog::Conflict> AccessLog::add(ByteRange range, const Access &access, const Clock &clock) {
  if (range.begin >= range.end)
    return std::nullopt;
  split(range.begin);
  split(range.end);
  std::optional<Conflict> conflict;
  uint64_t next = range.begin; // the bytes before it have entries
  for (auto at = entries.lower_bound(range.begin); at != entries.end() && at->first < range.end; ++at) {
    for (const Access &other : at->second.accesses)
      if (!conflict && (access.writes || other.writes) && !clock.knows(other.when))
        conflict = Conflict{other, at->first};
    std::erase_if(at->second.accesses,
                  [&](const Access &other) { return access.writes || (!other.writes && clock.knows(other.when)); });
    if (access.writes)
      continue;
    at->second.accesses.push_back(access);
    if (next < at->first)
      entries.emplace_hint(at, next, Entry{at->first, {access}});
    next = at->second.end;
  }
  if (access.writes) {
    entries.erase(entries.lower_bound(range.begin), entries.lower_bound(range.end));
    next = range.begin;
  }
  if (next < range.end)
    entries[next] = {range.end, {access}};
  return conflict;
}
