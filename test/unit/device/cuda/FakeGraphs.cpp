// Capture and replay on fake GPUs, with the order that streams have among each other.
#include "test/unit/device/cuda/FakeDriver.h"

using namespace dgc::rt;
using namespace dgc::rt::cuda;

namespace dgc::testing {

absl::Status FakeDriver::beginCapture(Stream stream) {
  if (absl::Status s = enter("beginCapture"); !s.ok())
    return s;
  capturing = streams.at(stream)->capturing = true;
  captured = {};
  captured.origin = stream;
  capturedEvents.clear();
  return absl::OkStatus();
}

/// All that was captured comes before the end of the stream that the capture began on.
void FakeDriver::checkJoined(const CapturedGraph &graph) {
  std::map<void *, Clock> clocks, recorded;
  for (const Node &node : graph.nodes) {
    Clock &clock = clocks[node.stream];
    if (node.kind == Node::Do)
      ++clock[node.stream];
    else if (node.kind == Node::Record)
      recorded[node.event] = clock;
    else
      merge(clock, recorded[node.event]);
  }
  Clock &end = clocks[graph.origin];
  for (auto &[stream, clock] : clocks)
    if (end[stream] < clock[stream])
      wrong("work is captured on a stream that is not joined again");
}

absl::StatusOr<Driver::Graph> FakeDriver::endCapture(Stream stream) {
  capturing = false;
  for (auto &[handle, state] : streams)
    state->capturing = false;
  if (failed)
    return absl::InternalError("the capture is not valid (CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)");
  if (stream != captured.origin)
    wrong("a capture ends on another stream than it began on");
  checkJoined(captured);
  auto graph = std::make_unique<CapturedGraph>(std::move(captured));
  captured = {};
  void *handle = graph.get();
  graphs[handle] = std::move(graph);
  ++log->graphs;
  return handle;
}

static bool holds(const auto &graph, const std::string &name) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const auto &node) { return node.work.name == name; });
}

bool FakeDriver::isInGraphs(const std::string &name) const {
  return std::any_of(graphs.begin(), graphs.end(), [&](const auto &each) { return holds(*each.second, name); });
}

absl::Status FakeDriver::launchGraph(Graph handle, Stream stream) {
  if (absl::Status s = enter("launchGraph"); !s.ok())
    return s;
  log->calls.emplace_back("graph");
  ++log->replays;
  CapturedGraph &graph = *graphs.at(handle);
  if (duration)
    log->time += duration(holds(graph, "nccl") ? "graph with nccl" : "graph");
  std::map<void *, Clock> recorded;
  for (const Node &node : graph.nodes) {
    void *on = stream;
    StreamState *state = streams.at(stream).get();
    if (node.stream != graph.origin) {
      std::unique_ptr<StreamState> &branch = graph.branches[node.stream];
      if (!branch)
        branch = std::make_unique<StreamState>();
      on = state = branch.get();
    }
    if (node.kind == Node::Record)
      recorded[node.event] = state->clock;
    else if (node.kind == Node::Wait && !ignoresWaits)
      merge(state->clock, recorded[node.event]);
    if (node.kind != Node::Do)
      continue;
    Work work = node.work;
    checkRaces(work, on, *state);
    queue.push_back(std::move(work));
  }
  return absl::OkStatus();
}

void FakeDriver::destroyGraph(Graph graph) {
  if (!graphs.erase(graph))
    wrong("a graph is given back that there is not");
}

} // namespace dgc::testing
