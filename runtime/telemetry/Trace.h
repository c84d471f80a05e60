// --trace: what ran when, as Chrome's and Perfetto's trace JSON, one process
// track per worker with one track per queue.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/base/OutputFile.h"

#include <memory>
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

/// Room for the events of one worker. add() allocates nothing; when it is full
/// events are counted and dropped, so the beginning of the run is kept.
class TraceBuffer {
public:
  explicit TraceBuffer(size_t capacity = 1 << 20)
      : events_(std::make_unique_for_overwrite<TraceEvent[]>(capacity)), capacity(capacity) {}

  void add(const TraceEvent &event) {
    if (size < capacity)
      events_[size++] = event;
    else
      ++dropped_;
  }
  std::span<const TraceEvent> events() const { return {events_.get(), size}; }
  uint64_t dropped() const { return dropped_; }

private:
  std::unique_ptr<TraceEvent[]> events_;
  size_t capacity, size = 0;
  uint64_t dropped_ = 0;
};

/// How an event is called and what the tooltip shows.
struct TraceName {
  std::string name, program, location;
};

/// The events of a worker as a JSON array that viewers open as it is.
/// `origin` is the Clock time that the trace shows as 0, the same for all
/// workers of a host.
std::string formatTrace(const TraceBuffer &buffer, int rank, std::span<const TraceName> names, TimeNs origin = 0);

/// Replaces `file` by the parts of all workers, as formatTrace gives them, as one trace.
absl::Status writeTrace(OutputFile &file, std::span<const std::string> parts);

} // namespace dgc::rt
