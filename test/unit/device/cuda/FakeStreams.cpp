// Streams and events of fake GPUs, and when what is queued there is done.
#include "test/unit/device/cuda/FakeDriver.h"

#include <algorithm>

using namespace dgc::rt;
using namespace dgc::rt::cuda;

namespace dgc::testing {

absl::StatusOr<Driver::Stream> FakeDriver::createStream() {
  if (absl::Status s = enter("createStream"); !s.ok())
    return s;
  auto state = std::make_unique<StreamState>();
  void *stream = state.get();
  streams[stream] = std::move(state);
  return stream;
}

void FakeDriver::destroyStream(Stream stream) {
  if (!streams.erase(stream))
    wrong("a stream is given back that there is not");
}

/// Does the queued work that is before `until`, but for what is not ready and what comes behind that.
void FakeDriver::finish(const Clock &until) {
  auto covers = [](const Clock &clock, const Work &work) {
    auto known = clock.find(work.stream);
    return known != clock.end() && work.number <= known->second;
  };
  std::vector<Work> all = std::move(queue);
  queue.clear();
  for (Work &work : all) {
    bool waits = std::any_of(queue.begin(), queue.end(), [&](const Work &other) { return covers(work.before, other); });
    if (covers(until, work) && !waits && (!work.isReady || work.isReady()))
      work.run();
    else
      queue.push_back(std::move(work));
  }
  for (auto &entry : memory)
    checkGuards(entry.first);
}

bool FakeDriver::isPending(const Clock &until) const {
  return std::any_of(queue.begin(), queue.end(), [&](const Work &work) {
    auto known = until.find(work.stream);
    return known != until.end() && work.number <= known->second;
  });
}

/// The host knows that this is done.
void FakeDriver::waited(const Clock &clock) {
  merge(hostClock, clock);
  auto lock = lockPeers();
  if (peers)
    std::erase_if(peers->foreign, [&](const FakePeers::Foreign &each) {
      return each.by == this && each.number <= hostClock[each.stream];
    });
  std::erase_if(past, [&](const PastAccess &other) { return other.number <= hostClock[other.stream]; });
}

absl::Status FakeDriver::synchronize(Stream stream) {
  if (failed) // allowed, to wait for what runs
    return absl::InternalError("unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED)");
  if (absl::Status s = enter("synchronize"); !s.ok())
    return s;
  if (forgets())
    return absl::OkStatus();
  return waitFor(streams.at(stream)->clock);
}

/// The host waits for what is before `clock`.
absl::Status FakeDriver::waitFor(const Clock &clock) {
  finish(clock);
  if (isPending(clock))
    wrong("the host waits for work that waits for other workers, and could not be stopped");
  waited(clock);
  return absl::OkStatus();
}

/// Asking while it is not over cannot fail: how often that is depends on when others come.
absl::StatusOr<bool> FakeDriver::isOver(const Clock &clock, const char *what) {
  finish(clock);
  if (!failed && isPending(clock))
    return false;
  if (absl::Status s = enter(what); !s.ok())
    return s;
  waited(clock);
  return true;
}

absl::StatusOr<bool> FakeDriver::isDone(Stream stream) {
  if (failed) // allowed, as synchronize() is
    return absl::InternalError("unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED)");
  return isOver(streams.at(stream)->clock, "isDone");
}

absl::StatusOr<Driver::Event> FakeDriver::createEvent(bool timed) {
  if (absl::Status s = enter("createEvent"); !s.ok())
    return s;
  auto state = std::make_unique<EventState>();
  state->timed = timed;
  void *event = state.get();
  events[event] = std::move(state);
  return event;
}

void FakeDriver::destroyEvent(Event event) {
  if (!events.erase(event))
    wrong("an event is given back that there is not");
}

absl::Status FakeDriver::record(Event event, Stream stream) {
  if (absl::Status s = enter("record", true); !s.ok())
    return s;
  capturedEvents.erase(event);
  if (capturing && streams.at(stream)->capturing) {
    if (events.at(event)->timed)
      wrong("a timed event is recorded while work is captured, where it has no time");
    captured.nodes.push_back({Node::Record, stream, event, {}});
    capturedEvents.insert(event);
    return absl::OkStatus();
  }
  events.at(event)->clock = streams.at(stream)->clock;
  events.at(event)->time = streams.at(stream)->time;
  return absl::OkStatus();
}

absl::Status FakeDriver::wait(Stream stream, Event event) {
  if (absl::Status s = enter("wait", true); !s.ok())
    return s;
  StreamState &state = *streams.at(stream);
  if (capturing && capturedEvents.contains(event)) {
    state.capturing = true; // from now on
    captured.nodes.push_back({Node::Wait, stream, event, {}});
    return absl::OkStatus();
  }
  if (capturedEvents.contains(event) || state.capturing)
    wrong("a wait between what is captured and what is not");
  if (!ignoresWaits)
    merge(streams.at(stream)->clock, events.at(event)->clock);
  return absl::OkStatus();
}

absl::Status FakeDriver::await(Event event) {
  if (absl::Status s = enter("await"); !s.ok())
    return s;
  log->calls.emplace_back("await");
  if (forgets())
    return absl::OkStatus();
  return waitFor(events.at(event)->clock);
}

absl::StatusOr<bool> FakeDriver::isReached(Event event) { return isOver(events.at(event)->clock, "isReached"); }

absl::StatusOr<int64_t> FakeDriver::elapsed(Event from, Event to) {
  if (absl::Status s = enter("elapsed"); !s.ok())
    return s;
  for (Event event : {from, to}) {
    const EventState &state = *events.at(event);
    if (!state.timed || state.time < 0)
      wrong("the time of an event is asked for that has none");
    for (const auto &[stream, number] : state.clock)
      if (number > hostClock[stream])
        wrong("the time of an event is asked for that the host has not waited for");
  }
  return events.at(to)->time - events.at(from)->time;
}

} // namespace dgc::testing
