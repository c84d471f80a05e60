// A worker's side of the membership as a state machine, the counterpart of
// CoordinatorCore.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/base/ClockOffset.h"
#include "runtime/cluster/Messages.h"

#include <deque>
#include <functional>

namespace dgc::rt {

/// Driven by the connection, its messages and the clock; the caller sends what
/// takeOutgoing() returns after every call.
class MemberCore {
public:
  struct Options {
    JoinMessage join;
    std::string coordinator; ///< for messages
    bool launched = false;   ///< the coordinator is the launcher, not rank 0
    TimeNs joinTimeout = 120_s;
    TimeNs silence = 10_s; ///< see CoordinatorCore::Options
    TimeNs heartbeatPeriod = 200_ms;
    TimeNs noticePeriod = 5_s;
    std::function<HeartbeatMessage()> heartbeat; ///< of this worker; `sent` and `watches` are set here
    /// Gets what the coordinator knows of the workers, by rank, with each heartbeat. Null: that is not asked for.
    std::function<void(const std::vector<WorkerReport> &)> reports;
    std::function<void(const StragglerMessage &)> straggler; ///< beside `notice`; may be empty
    /// The exact position of another rank, if it can be had.
    std::function<std::optional<Position>(int rank)> exactPosition;
    std::function<void(std::string_view)> notice;
    StepGate *gate = nullptr;                           ///< of this worker
    std::function<std::string(uint32_t op)> describeOp; ///< for messages; may be empty
  };
  /// More are believed of no coordinator.
  static constexpr uint32_t kMostWorkers = 1 << 16;
  /// Regrouping: a worker was lost, and this one is to end what it does and join again.
  enum class State { Connecting, Joining, Running, Leaving, Regrouping, Left, Failed };

  MemberCore(Options options, Clock &clock);

  void connected();
  void received(const ToWorker &message);
  void closed();
  /// The coordinator does not accept this worker, or this one the coordinator; `why` is said of the coordinator.
  void refused(std::string_view why);
  /// The connection could not be made so far, for this reason.
  void attemptFailed(std::string_view why);
  /// This worker's own error. Ignored when the job has one already.
  void fail(JobError error);
  /// An error that may be that of another worker, as of a connection that it had: the coordinator decides what becomes of
  /// the job.
  void report(JobError error);
  /// While Regrouping: joins the next epoch.
  void rejoin(JoinMessage join, StepGate *gate);
  void gather(std::string data);
  /// Asks for an agreement of all workers.
  void request(StepEvent event);
  void leave();
  void tick();

  std::vector<FromWorker> takeOutgoing();
  TimeNs nextDeadline() const;
  State state() const { return current; }
  /// The first error of the job, once Failed.
  const JobError &error() const { return firstError; }
  const std::optional<RosterMessage> &roster() const { return members; }
  /// Why this worker is Regrouping.
  const JobError &loss() const { return regrouping.lost; }
  /// What this worker is from rejoin() on.
  const RegroupMessage &assigned() const { return regrouping; }
  /// From the clock of this worker to that of the coordinator.
  const ClockOffset &clockOffset() const { return offset; }
  /// The result of the oldest gather() that is complete, once.
  std::optional<std::vector<std::string>> takeGathered();

private:
  void lost(const std::string &how);
  /// Whether something that a message has for each worker has `size` of them; else the job ends.
  bool isOfAll(size_t size, const char *what);
  void end(JobError error);
  bool over() const { return current == State::Left || current == State::Failed; }

  Options options;
  Clock &clock;
  State current = State::Connecting;
  JobError firstError;
  RegroupMessage regrouping; ///< the last one
  std::optional<RosterMessage> members;
  bool ran = false; ///< all workers were there once
  std::deque<std::vector<std::string>> gathered;
  uint32_t round = 0;
  Position rank0;
  ClockOffset offset;
  std::string lastAttempt; ///< " (why the last attempt to connect failed)", or nothing
  TimeNs start, lastTick, lastHeard, nextHeartbeat, nextNotice;
  std::vector<FromWorker> outgoing;
};

} // namespace dgc::rt
