// Matches transfers, and finds offsets of clocks that they allow for.
#include "runtime/telemetry/TraceMerge.h"

#include "runtime/base/Status.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <tuple>

using namespace dgc::rt;

namespace {
/// Channel, sender, receiver.
using Line = std::tuple<uint64_t, uint32_t, uint32_t>;

/// What the differences of offsets are at least: an offset is what is added to the times of a worker, the last one that of the
/// common clock, 0.
class Differences {
public:
  explicit Differences(size_t workers) : count(workers + 1), bounds(count * count, kNone) {}

  /// offset(b) - offset(a) >= least
  void require(size_t a, size_t b, TimeNs least) {
    TimeNs &bound = bounds[a * count + b];
    bound = std::max(bound, least);
  }
  TimeNs least(size_t a, size_t b) const { return bounds[a * count + b]; }

  /// Draws all conclusions. False where they contradict each other.
  bool close() {
    for (size_t via = 0; via < count; ++via)
      for (size_t a = 0; a < count; ++a)
        if (least(a, via) != kNone)
          for (size_t b = 0; b < count; ++b)
            if (least(via, b) != kNone)
              require(a, b, least(a, via) + least(via, b));
    for (size_t a = 0; a < count; ++a)
      if (least(a, a) > 0)
        return false;
    return true;
  }

  /// After close(): the offsets one after the other, each as near to what is wanted as those before it allow for.
  std::vector<TimeNs> choose(std::vector<TimeNs> wanted) const {
    wanted.push_back(0);
    std::vector<size_t> chosen = {count - 1};
    for (size_t next = 0; next + 1 < count; ++next) {
      TimeNs low = std::numeric_limits<TimeNs>::min(), high = std::numeric_limits<TimeNs>::max();
      for (size_t each : chosen) {
        if (least(each, next) != kNone)
          low = std::max(low, wanted[each] + least(each, next));
        if (least(next, each) != kNone)
          high = std::min(high, wanted[each] - least(next, each));
      }
      wanted[next] = std::clamp(wanted[next], low, std::max(low, high));
      chosen.push_back(next);
    }
    wanted.pop_back();
    return wanted;
  }

  static constexpr TimeNs kNone = std::numeric_limits<TimeNs>::min();

private:
  size_t count;
  std::vector<TimeNs> bounds;
};
} // namespace

/// Calls `use(place, link)` for the events that have to do with others, in their order.
template <typename F> static void forEachLink(const WorkerTrace &worker, F use) {
  for (size_t at = 0; at < worker.events.size(); ++at)
    if (const uint32_t name = worker.events[at].name; name < worker.links.size() && worker.links[name])
      use(at, *worker.links[name]);
}

std::vector<TraceFlow> dgc::rt::matchTransfers(std::span<const WorkerTrace> workers) {
  std::map<Line, std::vector<size_t>> sends, receives;
  for (uint32_t rank = 0; rank < workers.size(); ++rank)
    forEachLink(workers[rank], [&](size_t at, const TraceLink &link) {
      for (uint32_t peer : link.peers)
        if (link.kind == TraceLink::Send)
          sends[{link.key, rank, peer}].push_back(at);
        else if (link.kind == TraceLink::Receive)
          receives[{link.key, peer, rank}].push_back(at);
    });
  std::vector<TraceFlow> flows;
  for (const auto &[line, sent] : sends)
    if (const auto received = receives.find(line); received != receives.end())
      for (size_t n = 0; n < std::min(sent.size(), received->second.size()); ++n)
        flows.push_back({std::get<1>(line), std::get<2>(line), sent[n], received->second[n]});
  return flows;
}

/// Nobody is done with an exchange before all have come to it: by the first member, which bounds each other one from both sides.
static void requireExchanges(std::span<const WorkerTrace> workers, Differences &differences) {
  std::map<std::pair<uint64_t, uint32_t>, std::vector<std::pair<uint32_t, std::vector<size_t>>>> exchanges;
  for (uint32_t rank = 0; rank < workers.size(); ++rank)
    forEachLink(workers[rank], [&](size_t at, const TraceLink &link) {
      if (link.kind != TraceLink::Exchange || link.peers.empty())
        return;
      auto &members = exchanges[{link.key, link.peers[0]}];
      if (members.empty() || members.back().first != rank)
        members.push_back({rank, {}});
      members.back().second.push_back(at);
    });
  for (const auto &[key, members] : exchanges) {
    const auto &[first, own] = members[0];
    for (size_t other = 1; other < members.size(); ++other) {
      const auto &[rank, places] = members[other];
      for (size_t n = 0; n < std::min(own.size(), places.size()); ++n) {
        const TraceEvent &a = workers[first].events[own[n]], &b = workers[rank].events[places[n]];
        differences.require(first, rank, a.begin - b.end);
        differences.require(rank, first, b.begin - a.end);
      }
    }
  }
}

std::vector<TimeNs> dgc::rt::alignClocks(std::span<const WorkerTrace> workers, std::span<const TraceFlow> flows) {
  Differences byTransfers(workers.size());
  for (const TraceFlow &flow : flows)
    byTransfers.require(flow.sender, flow.receiver,
                        workers[flow.sender].events[flow.send].begin - workers[flow.receiver].events[flow.receive].end);
  requireExchanges(workers, byTransfers);
  Differences all = byTransfers;
  std::vector<TimeNs> estimates;
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    const ClockOffset &clock = workers[rank].clock;
    estimates.push_back(clock.estimate());
    if (clock.isKnown()) {
      all.require(workers.size(), rank, clock.least());
      all.require(rank, workers.size(), -clock.most());
    }
  }
  if (all.close())
    return all.choose(estimates);
  return byTransfers.close() ? byTransfers.choose(estimates) : estimates;
}

void dgc::rt::shift(std::span<WorkerTrace> workers, std::span<const TimeNs> offsets) {
  for (size_t rank = 0; rank < workers.size(); ++rank)
    for (TraceEvent &event : workers[rank].events) {
      event.begin += offsets[rank];
      event.end += offsets[rank];
    }
}

std::string dgc::rt::formatFlows(std::span<const WorkerTrace> workers, std::span<const TraceFlow> flows,
                                 TimeNs origin) {
  std::string out;
  char text[192];
  auto add = [&](const char *phase, size_t id, uint32_t rank, uint32_t queue, TimeNs at) {
    std::snprintf(text, sizeof text,
                  R"({"ph":"%s,"id":%zu,"name":"transfer","cat":"transfer","pid":%u,"tid":%u,"ts":%.3f})", phase, id,
                  rank, queue, static_cast<double>(at - origin) * 1e-3);
    out += out.empty() ? "[\n" : ",\n";
    out += text;
  };
  for (size_t id = 0; id < flows.size(); ++id) {
    const TraceFlow &flow = flows[id];
    const TraceEvent &send = workers[flow.sender].events[flow.send];
    const TraceEvent &receive = workers[flow.receiver].events[flow.receive];
    // An arrow belongs to the events that it begins and ends inside of.
    const TimeNs end = std::max({receive.begin, receive.end - 1, send.begin});
    add(R"(s")", id, flow.sender, send.queue, send.begin);
    add(R"(f","bp":"e")", id, flow.receiver, receive.queue, end);
  }
  return out.empty() ? out : out + "\n]\n";
}
