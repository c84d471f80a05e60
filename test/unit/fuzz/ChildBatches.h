// Work on many inputs in child processes, each of which does many: an input at which a process crashes, does not end or takes
// too much memory is known by its number, and the others are done all the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace dgc::testing {

struct WorkLimits {
  double seconds;       // for each input
  size_t bytes;         // by which the process may grow with one input
  uint32_t batch = 100; // so many inputs a child does at most
  int tries = 2;        // of what takes too long: other programs may have had the processor
  /// A child that has grown so much is followed by another one, so that what earlier inputs leave behind is not held against a
  /// later one.
  size_t growth = size_t{512} << 20;
};

/// How the work on an input ended.
struct WorkEnd {
  enum Kind { Returned, Signalled, Exited, TooSlow, TooLarge };
  Kind kind = Returned;
  int code = 0; // what the work gave, the signal, or the exit code
};

/// Calls `work` for the numbers from `first` to below `end` in child processes, and `report` in this one, in their order. `work`
/// gives a number from 0 to 100.
void workInChildren(uint32_t first, uint32_t end, const WorkLimits &limits, const std::function<int(uint32_t)> &work,
                    const std::function<void(uint32_t, WorkEnd)> &report);

/// Ends a child whose work is refused memory. `new` calls it; other allocators may.
[[noreturn]] void endForMemory();

} // namespace dgc::testing
