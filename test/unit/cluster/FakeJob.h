// A whole job in one thread: the coordinator's and the members' state machines,
// a clock that only tests advance, and links that a test can cut or freeze.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/cluster/CoordinatorCore.h"
#include "runtime/cluster/MemberCore.h"

#include <cstdlib>
#include <map>
#include <memory>

namespace dgc::rt::test {

/// How many random jobs are simulated; a campaign says that: DGC_SIMULATION_SEEDS=1000000.
inline uint32_t simulationSeeds() {
  const char *given = std::getenv("DGC_SIMULATION_SEEDS");
  return given ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10)) : 300;
}

class FakeJob {
public:
  explicit FakeJob(int worldSize, TimeNs exitReportGrace = 0) {
    options.worldSize = worldSize;
    options.exitReportGrace = exitReportGrace;
    options.exactPosition = [this](int rank) -> std::optional<Position> {
      auto it = exact.find(rank);
      return it == exact.end() ? std::nullopt : std::optional(it->second);
    };
  }

  struct Worker {
    std::unique_ptr<MemberCore> core;
    std::vector<std::string> notices;
    std::vector<WorkerReport> reports; ///< rank 0
    Position position;
    int awaited = WaitRecord::kNoRank;
    uint64_t moved = 0;
    StepGate gate;
    bool linked = false; ///< connected to the coordinator
    bool frozen = false; ///< neither runs nor hears
    ConnectionId id = 0;
  };

  void startCoordinator() { coordinator = std::make_unique<CoordinatorCore>(options, clock); }

  /// A worker that fits; change what should not before connect().
  JoinMessage joinOf(int rank) const {
    JoinMessage m;
    m.rank = rank;
    m.worldSize = options.worldSize;
    m.planDigest = std::string(32, 'p');
    m.producer = "dgc 1";
    m.hostId = m.hostName = "host" + std::to_string(rank);
    m.pid = 1000 + rank;
    return m;
  }

  /// Returns its index, which is its rank if workers are added in rank order.
  int add(JoinMessage join, bool launched = false) {
    int index = static_cast<int>(workers.size());
    workers.push_back(std::make_unique<Worker>());
    Worker &w = *workers.back();
    MemberCore::Options o;
    o.join = std::move(join);
    o.coordinator = "10.0.0.1:29400";
    o.launched = launched;
    o.heartbeat = [&w] { return HeartbeatMessage{w.position, w.awaited, w.moved}; };
    o.exactPosition = [this](int rank) -> std::optional<Position> {
      auto it = exact.find(rank);
      return it == exact.end() ? std::nullopt : std::optional(it->second);
    };
    o.gate = &w.gate;
    if (o.join.rank == 0)
      o.reports = [&w](const std::vector<WorkerReport> &reports) { w.reports = reports; };
    o.notice = [&w](std::string_view line) { w.notices.emplace_back(line); };
    w.core = std::make_unique<MemberCore>(std::move(o), clock);
    return index;
  }

  void connect(int index) {
    Worker &w = *workers[index];
    w.linked = true;
    w.id = ++lastId;
    coordinator->opened(w.id);
    w.core->connected();
    deliver();
  }

  /// Adds and connects ranks 0 to worldSize - 1.
  void startAll() {
    startCoordinator();
    for (int r = 0; r < options.worldSize; ++r)
      connect(add(joinOf(r)));
  }

  /// kill -9: the kernel closes the connection.
  void kill(int index) {
    Worker &w = *workers[index];
    w.frozen = true;
    w.linked = false;
    coordinator->closed(w.id);
    deliver();
  }

  void killCoordinator() {
    coordinator.reset();
    for (auto &w : workers)
      if (w->linked) {
        w->linked = false;
        w->core->closed();
      }
  }

  /// Lets time pass in small steps, each machine looking at its clock.
  void pass(TimeNs duration, TimeNs step = 50_ms) {
    for (TimeNs end = clock.now() + duration; clock.now() < end;) {
      clock.advance(std::min(step, end - clock.now()));
      if (coordinator && !coordinatorFrozen)
        coordinator->tick();
      for (auto &w : workers)
        if (!w->frozen)
          w->core->tick();
      deliver();
    }
  }

  /// Moves messages until there are none.
  void deliver() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto &w : workers) {
        if (!w->linked || w->frozen)
          continue;
        for (FromWorker &m : w->core->takeOutgoing())
          if (coordinator) {
            toCoordinator.emplace_back(w->id, std::move(m));
            moved = true;
          }
      }
      if (!coordinator || coordinatorFrozen)
        return;
      for (auto &[id, m] : std::exchange(toCoordinator, {}))
        coordinator->received(id, m);
      for (Outgoing &out : coordinator->takeOutgoing()) {
        moved = true;
        for (auto &w : workers) {
          if (w->id != out.to || !w->linked || w->frozen)
            continue;
          if (out.message) {
            w->core->received(*out.message);
          } else {
            w->linked = false;
            coordinator->closed(out.to);
            w->core->closed();
          }
        }
        if (!out.message)
          closedByCoordinator.push_back(out.to);
      }
    }
  }

  MemberCore::State state(int index) { return workers[index]->core->state(); }
  /// The error as that worker prints it, "" if it has none.
  std::string error(int index) {
    if (state(index) != MemberCore::State::Failed)
      return "";
    return std::string(jobStatus(workers[index]->core->error(), nullptr).message());
  }
  ExitCode exitCode(int index) { return workers[index]->core->error().exitCode; }

  FakeClock clock;
  CoordinatorCore::Options options;
  std::unique_ptr<CoordinatorCore> coordinator;
  bool coordinatorFrozen = false;
  std::vector<std::unique_ptr<Worker>> workers;
  std::map<int, Position> exact; ///< what shared memory says, by rank
  std::vector<ConnectionId> closedByCoordinator;

private:
  ConnectionId lastId = 0;
  std::vector<std::pair<ConnectionId, FromWorker>> toCoordinator;
};

} // namespace dgc::rt::test
