// The coordinator as a state machine: who is in the job, who is missing, what
// the first error was. No threads, no sockets and no time of its own.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/cluster/Messages.h"
#include "runtime/cluster/StragglerWatch.h"

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <utility>

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
/// joining, a worker that does not fit fails the whole job, because nobody is
/// helped by the rest waiting; once it runs, strangers are turned away alone.
/// A worker is who has proved to be of the job, or, in one without credentials,
/// knows the plan; what anybody else says never fails the job.
///
/// Where it may, a job survives the loss of a worker: from Running it goes to Joining again, as its next epoch. The others
/// are asked to join anew on the connections that they have, and somebody else starts a worker in place of the lost one
/// (takeLost). Losses while workers join begin no epoch of their own. An error of a worker itself ends the job as ever.
/// An elastic job does not wait for others in place of the lost: each loss, and each worker more, begins an epoch with those
/// that there are. Ranks stay in order, and newcomers get the last ones; so rank 0 stays rank 0 while it lives. Where there
/// is no plan for so many, some wait until there is one for more.
///
/// While it runs, workers that wait for each other and do not advance are seen
/// by their heartbeats: each says whom it waits for. A worker that waits for
/// none computes, however long that takes, and excuses those that wait for it.
class CoordinatorCore {
public:
  struct Options {
    int worldSize = 1;
    std::string planDigest;     ///< empty: that of the first to join
    bool authenticated = false; ///< the peer has proved to be of the job
    TimeNs joinTimeout = 120_s;
    /// A worker that says nothing this long is lost. TCP sends again what a pause of the network has lost, after waits
    /// that double: news come up to twice as late as the pause was long.
    TimeNs silence = 10_s;
    TimeNs stallTimeout = 60_s; ///< workers that wait for each other this long without advancing end the job
    StragglerWatch::Options stragglers;
    TimeNs noticePeriod = 5_s; ///< how often the missing ranks are listed
    /// For a connection to say who it is; a worker on a busy machine may take seconds.
    TimeNs strangerTime = 10_s;
    /// The launcher reports how processes end. Then a lost connection waits
    /// this long for the report, which says more.
    TimeNs exitReportGrace = 0;
    int restarts = 0; ///< how many losses the job survives, each lost worker being replaced
    /// The job goes on with fewer workers, down to `least`, and takes more, up to `most`; whatever `restarts` is.
    struct Sizes {
      int least = 1, most = 1;
      std::vector<int> between = {}; ///< the numbers that there are plans for; empty: all
    };
    std::optional<Sizes> elastic;
    /// Called at a worker's death for its exact position, if it can be had.
    std::function<std::optional<Position>(int rank)> exactPosition;
    /// Called when a worker has joined.
    std::function<void(const JoinMessage &)> joined;
  };
  enum class State { Joining, Running, Done, Failed };
  /// So many losses one after the other without a step beyond that of the first end the job.
  static constexpr int kMostFruitless = 10;

  CoordinatorCore(Options options, Clock &clock);

  void opened(ConnectionId id);
  void received(ConnectionId id, const FromWorker &message);
  void closed(ConnectionId id);
  /// A process was not let in: `what` says which and why. Ends nothing.
  void refused(const std::string &what);
  /// A worker's process has ended; `signal` is 0 if it exited with `code`. Where the job is elastic and ranks change, `pid`
  /// says which.
  void processEnded(int rank, int code, int signal, uint64_t pid = 0);
  /// The first error of the job, from outside: Ctrl-C.
  void fail(JobError error);
  /// Lets all workers agree on a step before which they do this. One after the other; a job is stopped once.
  void request(StepEvent event);
  /// Looks at the clock. To be called at nextDeadline() or earlier.
  void tick();

  std::vector<Outgoing> takeOutgoing();
  TimeNs nextDeadline() const;
  State state() const { return current; }
  /// The first error, once Failed.
  const JobError &error() const { return firstError; }
  std::vector<uint32_t> missing() const;
  /// A worker that was lost. Its process, where that has not ended, is of no use any more.
  struct Lost {
    int rank = 0;     ///< until then
    uint64_t pid = 0; ///< 0: it had not joined
  };
  /// Those that were lost since the last call. The job waits for others in their places, unless it is elastic.
  std::vector<Lost> takeLost() { return std::exchange(lost, {}); }
  /// How many losses the job has survived.
  int restarts() const { return restarted; }
  size_t connections() const { return connected.size(); }
  /// How many workers do not know yet that the job failed before it ran: those that have not connected, while
  /// they may still come.
  size_t awaited() const;

private:
  struct Member {
    bool joined = false, left = false;
    bool isNew = false; ///< has come while the job ran, and not taken part in a step yet
    std::optional<ConnectionId> connection;
    JoinMessage join;
    HeartbeatMessage last;
    uint64_t heartbeats = 0, waits = 0; ///< as in WorkerReport
    TimeNs lastHeard = 0, advanced = 0; ///< `advanced`: when `last`, or its part in an exchange, last changed
    std::optional<TimeNs> lostAt;       ///< connection gone, report still awaited
    std::optional<std::string> gathered;
    std::optional<int64_t> proposal; ///< in the negotiation that is under way
  };

  void join(ConnectionId id, const JoinMessage &m);
  void misfits(ConnectionId id, const JoinMessage &m, std::string what);
  /// One more worker, which has no rank yet.
  void admit(ConnectionId id, const JoinMessage &m);
  /// What a worker says that waits for a rank.
  void receivedFromNewcomer(ConnectionId id, const FromWorker &message);
  void takeNewcomers();
  /// Lets members wait, or takes newcomers, so that there is a plan for as many as there are then.
  void arrange(const JobError &loss);
  /// The largest number of workers that the job goes on with of so many; 0: none.
  int sizeFor(size_t workers) const;
  /// Why there cannot be one more worker; nothing where there can.
  std::string whyFull() const;
  void heartbeat(int rank, const HeartbeatMessage &m);
  std::vector<WorkerReport> reports() const;
  void gather(int rank, const GatherMessage &m);
  /// The rank that a rank waits for, as far as is known; none while it computes.
  std::vector<RankWait> waitsOf(uint32_t rank) const;
  /// The waits of ranks that wait for each other and have not advanced for the stall timeout; none: the job advances.
  std::vector<RankWait> stalled(TimeNs now) const;
  void failStalled(std::vector<RankWait> waits);
  void leave(int rank);
  void proposed(int rank, const ProposalMessage &m);
  void negotiate();
  void memberLost(int rank, const std::string &how, ExitCode code);
  /// Whether the job goes on after this loss: of `rank`, or, with -1, of a connection between workers. If so, they come
  /// together again.
  bool survives(const JobError &loss, int rank);
  /// Why the job does not survive the loss of `rank`, or of a connection; nothing where it does.
  std::string whyLost(int rank);
  bool maySurvive() const { return options.restarts > 0 || options.elastic; }
  bool makesProgress();
  void beginEpoch(const JobError &loss);
  void drop(int rank);
  bool isSuccessor(const JoinMessage &m) const;
  void turnAway(ConnectionId id, JobError error);
  /// Tells the workers of somebody who was turned away alone.
  void note(std::string what);
  /// What is wrong with `m`, or nothing; and with the plan and program that it has.
  std::optional<std::string> misfit(const JoinMessage &m) const;
  std::optional<std::string> misfitOfPlan(const JoinMessage &m) const;
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
  std::optional<StragglerWatch> stragglers; ///< while the job runs
  std::map<ConnectionId, TimeNs> strangers; ///< connected, not joined; since
  std::set<ConnectionId> connected;
  uint32_t round = 0;                  ///< of gather
  std::deque<StepEvent> requests;      ///< the first one is negotiated, if any is
  std::optional<uint32_t> negotiation; ///< its number
  uint32_t negotiations = 0;
  std::optional<StepEvent> stopping; ///< the stop that was requested
  uint32_t epoch = 0;
  int restarted = 0, fruitless = 0;
  uint64_t stepOfLoss = UINT64_MAX; ///< the furthest at which a worker was lost
  JobError lastLoss;
  TimeNs lostAt = 0;
  std::vector<Lost> lost;                        ///< since takeLost()
  std::map<ConnectionId, JoinMessage> newcomers; ///< that wait for a rank: for the first workers, or for more
  std::string lastMisfit;                        ///< of a worker that was turned away alone
  int notes = 0;
  size_t everOpened = 0;
  bool ran = false;
  std::vector<Outgoing> outgoing;
};

} // namespace dgc::rt
