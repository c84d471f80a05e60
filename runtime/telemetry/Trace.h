// --trace: what ran when, as Chrome's and Perfetto's trace JSON, one process
// track per worker with one track per queue.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/base/OutputFile.h"

#include <span>
#include <string>
#include <vector>

namespace dgc::rt {

/// One thing that ran. Times are those of Clock::now().
struct TraceEvent {
  TimeNs begin = 0, end = 0;
  int64_t step = 0;   // training step
  uint32_t name = 0;  // index into the names given to format()
  uint32_t queue = 0; // 0 computes, 1 communicates
};

/// How an event is called and what the tooltip shows.
struct TraceName {
  std::string name, program, location;
};

/// The events of a worker as a JSON array that viewers open as it is.
/// `origin` is the time that the trace shows as 0, on the clock of the events, the same for all workers. `label` is shown
/// beside the name of the worker.
std::string formatTrace(std::span<const TraceEvent> events, int rank, std::span<const TraceName> names,
                        TimeNs origin = 0, std::string_view label = "");

/// Replaces `file` by the parts of all workers, as formatTrace gives them, as one trace. A part may be empty.
absl::Status writeTrace(OutputFile &file, std::span<const std::string> parts);

} // namespace dgc::rt
