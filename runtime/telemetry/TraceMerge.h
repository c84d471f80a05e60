// The traces of several workers on one clock, and which of their events belong together.
#pragma once

#include "runtime/base/ClockOffset.h"
#include "runtime/telemetry/Trace.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dgc::rt {

/// What an op of a worker has to do with others.
struct TraceLink {
  enum Kind { Send, Receive, Exchange } kind = Send;
  uint64_t key = 0;            // the channel of a send or receive; of an exchange, which one it is
  std::vector<uint32_t> peers; // the receivers, the senders, or all that exchange, by rank
};

/// The events of one worker, by its own clock.
struct WorkerTrace {
  std::vector<TraceEvent> events; // by their beginning
  std::vector<TraceName> names;
  std::vector<std::optional<TraceLink>> links; // by name
  uint64_t dropped = 0;
  ClockOffset clock; // to a clock that is the same for all
};

/// The n-th send on a channel from one rank to another and the n-th receive of it there, as places in `events`.
struct TraceFlow {
  uint32_t sender = 0, receiver = 0;
  size_t send = 0, receive = 0;
};

/// All flows of which both ends are there.
std::vector<TraceFlow> matchTransfers(std::span<const WorkerTrace> workers);

/// What is added to the times of each worker. Offsets are those nearest to what the round trips say with which no receive ends
/// before its send began, and no exchange before all have come to it. Clocks that drift may allow for none: then what the
/// round trips say.
std::vector<TimeNs> alignClocks(std::span<const WorkerTrace> workers, std::span<const TraceFlow> flows);

/// Moves the events of each worker onto the common clock.
void shift(std::span<WorkerTrace> workers, std::span<const TimeNs> offsets);

/// Arrows from sends to receives, as a part of a trace as formatTrace() gives them; empty where there is none. The times are on
/// one clock.
std::string formatFlows(std::span<const WorkerTrace> workers, std::span<const TraceFlow> flows, TimeNs origin);

} // namespace dgc::rt
