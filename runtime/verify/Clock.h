// Happens-before in a run of a plan. Workers are tasks, and so is each communication that goes on while its worker does other
// steps. A task has a vector clock: the last moment of each task that is before what it does next. Two accesses of a byte
// of which one writes it have to be ordered; else their order is chance, however they came in this run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace dgc::verify {

/// A moment of a task. Times begin at 1.
struct Moment {
  uint32_t task = 0, time = 0;
};

class Clock {
public:
  /// The next moment of a task, whose clock this is.
  Moment advance(uint32_t task);
  /// What is before the other's next moment is before this one's.
  void join(const Clock &other);
  bool knows(Moment moment) const { return moment.task < times.size() && times[moment.task] >= moment.time; }

private:
  std::vector<uint32_t> times; // by task
};

/// Bytes of an arena.
struct ByteRange {
  uint64_t begin = 0, end = 0;
};

/// What a step did to bytes.
struct Access {
  Moment when;
  uint32_t step = 0; // of the worker whose arena it is
  bool writes = false;
};

/// The accesses of the bytes of an arena in a run.
class AccessLog {
public:
  /// Another access that is not ordered with one that a task with this clock does now.
  struct Conflict {
    Access other;
    uint64_t byte = 0; // the first one
  };
  std::optional<Conflict> add(ByteRange range, const Access &access, const Clock &clock);
  void clear() { entries.clear(); }

private:
  /// Of bytes with the same history: the last write, and the reads since that are not before one another.
  struct Entry {
    uint64_t end = 0;
    std::vector<Access> accesses;
  };
  using Entries = std::map<uint64_t, Entry>; // by their first byte; disjoint

  void split(uint64_t byte);

  Entries entries;
};

} // namespace dgc::verify
