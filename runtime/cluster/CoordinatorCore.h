// The coordinator as a state machine: who is in the job, who is missing, what
// the first error was. No threads, no sockets and no time of its own.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/cluster/Messages.h"

#include <functional>
#include <map>
#include <set>

namespace dgc::rt {

using ConnectionId = uint64_t;

/// What the coordinator wants to be sent. No message: close the connection
/// after what was sent before.
struct Outgoing {
  ConnectionId to = 0;
  std::optional<ToWorker> message;
};

/// Driven by connections, messages, the ends of processes and the clock; the
/// caller sends what takeOutgoing() returns after every call.
///
/// A job goes Joining -> Running -> Done, or to Failed from either. While it is
/// joining, anything that does not fit fails the whole job, because nobody is
/// helped by the rest waiting; once it runs, strangers are turned away alone.
class CoordinatorCore {
public:
  struct Options {
    int worldSize = 1;
    std::string planDigest; ///< empty: that of the first to join
    std::string token;      ///< every join must carry it
    TimeNs joinTimeout = 120_s;
    TimeNs silence = 3_s;      ///< a worker that says nothing this long is lost
    TimeNs noticePeriod = 5_s; ///< how often the missing ranks are listed
    TimeNs strangerTime = 2_s; ///< for a connection to say who it is
    /// The launcher reports how processes end. Then a lost connection waits
    /// this long for the report, which says more.
    TimeNs exitReportGrace = 0;
    /// Called at a worker's death for its exact position, if it can be had.
    std::function<std::optional<Position>(int rank)> exactPosition;
    /// Called when a worker has joined.
    std::function<void(const JoinMessage &)> joined;
  };
  enum class State { Joining, Running, Done, Failed };

  CoordinatorCore(Options options, Clock &clock);

  void opened(ConnectionId id);
  void received(ConnectionId id, const FromWorker &message);
  void closed(ConnectionId id);
  /// A worker's process has ended; `signal` is 0 if it exited with `code`.
  void processEnded(int rank, int code, int signal);
  /// The first error of the job, from outside: Ctrl-C.
  void fail(JobError error);
  /// Looks at the clock. To be called at nextDeadline() or earlier.
  void tick();

  std::vector<Outgoing> takeOutgoing();
  TimeNs nextDeadline() const;
  State state() const { return current; }
  /// The first error, once Failed.
  const JobError &error() const { return firstError; }
  std::vector<uint32_t> missing() const;
  size_t connections() const { return connected.size(); }
  /// How many workers are still to be told that the job failed before it ran: those that have not connected, while
  /// they may still come.
  size_t awaited() const;

private:
  struct Member {
    bool joined = false, left = false;
    std::optional<ConnectionId> connection;
    JoinMessage join;
    Position position;
    TimeNs lastHeard = 0;
    std::optional<TimeNs> lostAt; ///< connection gone, report still awaited
    std::optional<std::string> gathered;
  };

  void join(ConnectionId id, const JoinMessage &m);
  void gather(int rank, const GatherMessage &m);
  void leave(int rank);
  void memberLost(int rank, const std::string &how, ExitCode code);
  void turnAway(ConnectionId id, JobError error);
  /// What is wrong with `m`, or nothing.
  std::optional<std::string> misfit(const JoinMessage &m) const;
  std::string describe(const JoinMessage &m) const;
  void send(ConnectionId id, ToWorker message);
  void sendAll(const ToWorker &message);
  std::optional<int> rankOf(ConnectionId id) const;
  bool over() const { return current == State::Done || current == State::Failed; }

  Options options;
  Clock &clock;
  State current = State::Joining;
  JobError firstError;
  TimeNs start, nextNotice, lastTick;
  std::vector<Member> members;
  std::map<ConnectionId, TimeNs> strangers; ///< connected, not joined; since
  std::set<ConnectionId> connected;
  uint32_t round = 0;  ///< of gather
  size_t everOpened = 0;
  bool ran = false;
  std::vector<Outgoing> outgoing;
};

} // namespace dgc::rt
