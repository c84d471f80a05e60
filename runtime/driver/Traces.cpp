// Brings the traces of the workers together.
#include "runtime/driver/Traces.h"

#include "runtime/artifact/Actions.h"
#include "runtime/artifact/Enums.h"
#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/base/Status.h"
#include "runtime/base/Task.h"
#include "runtime/driver/Gather.h"
#include "runtime/telemetry/TraceMerge.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>

using namespace dgc;
using namespace dgc::rt;

namespace {
/// An op of a rank, as traces number them: the programs in the order of the plan.
struct TracedOp {
  const artifact::Program *program;
  const artifact::Step *step;
};

/// What a worker sends of its trace, as numbers of 8 bytes.
struct Header {
  int64_t dropped = 0, isClockKnown = 0, least = 0, most = 0;
};
struct Event {
  int64_t op = 0, step = 0, begin = 0, end = 0;
};
} // namespace

static std::vector<TracedOp> opsOf(const artifact::Plan &plan, uint32_t rank) {
  std::vector<TracedOp> ops;
  for (const artifact::Program *program : *plan.programs())
    if (belongs(program->group(), groupOf(plan, rank)))
      for (uint32_t i = 0; program->steps() && i < program->steps()->size(); ++i)
        ops.push_back({program, program->steps()->Get(i)});
  return ops;
}

static std::string writePart(const artifact::Plan &plan, uint32_t rank, const OpTrace &trace,
                             const ClockOffset &clock) {
  std::map<const artifact::Step *, int64_t> index;
  for (const TracedOp &op : opsOf(plan, rank))
    index.emplace(op.step, static_cast<int64_t>(index.size()));
  const Header header{static_cast<int64_t>(trace.dropped), clock.isKnown(), clock.least(), clock.most()};
  std::string bytes(sizeof header + trace.timings.size() * sizeof(Event), '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  char *to = bytes.data() + sizeof header;
  for (const OpTiming &timing : trace.timings) {
    const Event event{index[timing.op], static_cast<int64_t>(timing.step), timing.begin, timing.end};
    std::memcpy(to, &event, sizeof event);
    to += sizeof event;
  }
  return bytes;
}

/// What a communicating op has to do with others; nothing for others, and for exchanges in which not everyone needs all.
static std::optional<TraceLink> linkOf(const artifact::Plan &plan, const TracedOp &op, uint32_t rank) {
  std::optional<TraceLink> link;
  visitCommunication(*op.step, Overloaded{[&](const artifact::Collective &c) {
                                            if (c.kind() != artifact::CollectiveKind::Broadcast &&
                                                c.kind() != artifact::CollectiveKind::Permute)
                                              link = {TraceLink::Exchange, 0, meshGroup(plan, c.axes(), rank)};
                                          },
                                          [&](const artifact::Send &send) {
                                            link = {TraceLink::Send, send.channel(), receiversOf(plan, send, rank)};
                                          },
                                          [&](const artifact::Receive &receive) {
                                            link = {TraceLink::Receive, receive.channel(),
                                                    sendersOf(plan, receive, rank)};
                                          }});
  return link;
}

static std::string nameOf(const artifact::Step &step) {
  return step.name() ? step.name()->str() : std::string(nameOf(step.action_type()));
}

/// The n-th exchange of a group is the same one on all its members: they have one order.
static WorkerTrace describe(const artifact::Plan &plan, uint32_t rank) {
  WorkerTrace trace;
  for (const TracedOp &op : opsOf(plan, rank)) {
    trace.names.push_back({nameOf(*op.step), op.program->name()->str(),
                           op.step->location() ? op.step->location()->str() : std::string()});
    trace.links.push_back(linkOf(plan, op, rank));
    if (std::optional<TraceLink> &link = trace.links.back(); link && link->kind == TraceLink::Exchange)
      for (uint32_t peer : link->peers) // groups that begin at one rank differ in others
        link->key = link->key * 1'000'003 + peer + 1;
  }
  return trace;
}

static absl::StatusOr<WorkerTrace> readPart(const artifact::Plan &plan, uint32_t rank, std::string_view bytes) {
  WorkerTrace trace = describe(plan, rank);
  const std::vector<TracedOp> ops = opsOf(plan, rank);
  Header header;
  if (bytes.size() < sizeof header || (bytes.size() - sizeof header) % sizeof(Event) != 0)
    return absl::DataLossError(str("--trace: the part of rank ", rank, " is not whole"));
  std::memcpy(&header, bytes.data(), sizeof header);
  trace.dropped = static_cast<uint64_t>(header.dropped);
  if (header.isClockKnown)
    trace.clock.add(0, header.most, header.most - header.least);
  for (size_t at = sizeof header; at < bytes.size(); at += sizeof(Event)) {
    Event event;
    std::memcpy(&event, bytes.data() + at, sizeof event);
    if (event.op < 0 || event.op >= static_cast<int64_t>(ops.size()))
      return absl::DataLossError(str("--trace: the part of rank ", rank, " has an op that the plan does not have"));
    const auto op = static_cast<uint32_t>(event.op);
    trace.events.push_back({event.begin, event.end, event.step, op, ops[op].step->queue()});
  }
  std::stable_sort(trace.events.begin(), trace.events.end(),
                   [](const TraceEvent &a, const TraceEvent &b) { return a.begin < b.begin; });
  return trace;
}

static std::string labelOf(const WorkerTrace &trace, TimeNs offset) {
  std::string label;
  if (trace.dropped > 0)
    label = str("full: ", trace.dropped, " later events left out");
  if (offset != 0) {
    char text[64];
    std::snprintf(text, sizeof text, "clock moved by %.3f ms", static_cast<double>(offset) * 1e-6);
    label += str(label.empty() ? "" : ", ", text);
  }
  return label;
}

/// The trace of all workers, which begins where the first one began.
static absl::Status writeMerged(std::vector<WorkerTrace> &workers, OutputFile &file) {
  const std::vector<TraceFlow> flows = matchTransfers(workers);
  std::vector<TimeNs> offsets = alignClocks(workers, flows);
  // What is the same for all says nothing: rank 0 keeps its clock.
  for (size_t rank = offsets.size(); rank-- > 0;)
    offsets[rank] -= offsets[0];
  shift(workers, offsets);
  TimeNs origin = std::numeric_limits<TimeNs>::max();
  for (const WorkerTrace &worker : workers)
    if (!worker.events.empty())
      origin = std::min(origin, worker.events.front().begin);
  std::vector<std::string> parts;
  for (size_t rank = 0; rank < workers.size(); ++rank)
    parts.push_back(formatTrace(workers[rank].events, static_cast<int>(rank), workers[rank].names, origin,
                                labelOf(workers[rank], offsets[rank])));
  parts.push_back(formatFlows(workers, flows, origin));
  return writeTrace(file, parts);
}

absl::Status dgc::rt::writeTraces(const Artifact &artifact, const OpTrace &trace, const WorkerContext &context,
                                  OutputFile *file) {
  const artifact::Plan &plan = artifact.plan();
  const int rank = context.transport.rank();
  const Task task("gathering the trace", 0, Task::Things);
  const ClockOffset clock = context.clockOffset ? context.clockOffset() : ClockOffset();
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> parts,
                       gatherLong(context.gather, rank, writePart(plan, static_cast<uint32_t>(rank), trace, clock)));
  if (rank != 0)
    return absl::OkStatus();
  std::vector<WorkerTrace> workers;
  for (std::string &part : parts) {
    DGC_ASSIGN_OR_RETURN(WorkerTrace worker, readPart(plan, static_cast<uint32_t>(workers.size()), part));
    workers.push_back(std::move(worker));
    part = {};
  }
  return writeMerged(workers, *file);
}
