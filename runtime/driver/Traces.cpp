// Formats and joins the traces of the workers.
#include "runtime/driver/Traces.h"

#include "runtime/artifact/Actions.h"
#include "runtime/artifact/Groups.h"
#include "runtime/base/Status.h"
#include "runtime/driver/Gather.h"
#include "runtime/telemetry/Trace.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>

using namespace dgc;
using namespace dgc::rt;

absl::Status dgc::rt::writeTraces(const Artifact &artifact, const Executor &executor, const OpTrace &trace,
                                  const WorkerContext &context, OutputFile *file) {
  const int rank = context.transport.rank();
  TraceBuffer buffer(trace.timings.size());
  std::vector<TraceName> names;
  std::map<const artifact::Step *, uint32_t> index;
  for (const auto &runner : executor.programs()) {
    const artifact::Program *program = programOf(artifact.plan(), runner->name(), static_cast<uint32_t>(rank));
    for (uint32_t i = 0; program->steps() && i < program->steps()->size(); ++i) {
      const artifact::Step *step = program->steps()->Get(i);
      index[step] = static_cast<uint32_t>(names.size());
      names.push_back({step->name() ? step->name()->str() : std::string(nameOf(step->action_type())),
                       std::string(runner->name()), step->location() ? step->location()->str() : ""});
    }
  }
  for (const OpTiming &timing : trace.timings)
    buffer.add({timing.begin, timing.end, static_cast<int64_t>(timing.step), index[timing.op], timing.op->queue()});
  // The trace begins where the first worker began.
  auto earlier = [](const OpTiming &a, const OpTiming &b) { return a.begin < b.begin; };
  auto earliest = std::min_element(trace.timings.begin(), trace.timings.end(), earlier);
  std::string first = earliest == trace.timings.end() ? "" : std::to_string(earliest->begin);
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> begins, context.gather(first));
  TimeNs origin = std::numeric_limits<TimeNs>::max();
  for (const std::string &text : begins)
    if (!text.empty())
      origin = std::min<TimeNs>(origin, std::strtoll(text.c_str(), nullptr, 10));
  std::string json = formatTrace(buffer, rank, names, origin);
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> parts, gatherLong(context.gather, rank, json));
  return rank == 0 ? writeTrace(*file, parts) : absl::OkStatus();
}
