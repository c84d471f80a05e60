// Joins a job, tells it of errors, leaves it.
#include "runtime/base/Disk.h"
#include "runtime/base/MemoryUse.h"
#include "runtime/base/Status.h"
#include "runtime/cluster/JoinedCluster.h"

#include "absl/strings/str_cat.h"

#include <cstdlib>

#include <unistd.h>

namespace dgc::rt {
namespace {

TimeNs nanoseconds(double seconds) { return static_cast<TimeNs>(seconds * 1e9); }

/// How long an error in connecting to others waits for the word that one of them was lost.
constexpr auto kLossNoticed = std::chrono::milliseconds(1000);

} // namespace

absl::Status JoinedCluster::host(const Address &meeting) {
  Address listen = meeting;
  if (!options.listen.empty()) {
    DGC_ASSIGN_OR_RETURN(listen, parseAddress(options.listen, "--listen", meeting.port));
    DGC_RETURN_IF_ERROR(checkAddress(listen, "--listen"));
  }
  CoordinatorCore::Options o;
  o.worldSize = options.worldSize;
  o.planDigest = options.planDigest;
  o.joinTimeout = nanoseconds(options.joinTimeoutSeconds);
  o.silence = nanoseconds(options.silenceSeconds);
  o.stallTimeout = nanoseconds(options.stallTimeoutSeconds);
  o.stragglers.factor = options.stragglerFactor;
  o.restarts = options.restarts;
  o.elastic = options.elastic;
  DGC_ASSIGN_OR_RETURN(Socket listening, listenAt(listen.host, listen.port, options.worldSize + 128));
  auto started = Coordinator::start(o, std::move(listening), options.credentials, network, clock);
  if (!started.ok())
    return started.status();
  coordinator = std::move(*started);
  return absl::OkStatus();
}

absl::Status JoinedCluster::start() {
  DGC_ASSIGN_OR_RETURN(Address meeting, parseAddress(options.coordinator, "--coordinator"));
  DGC_RETURN_IF_ERROR(checkAddress(meeting, "--coordinator"));
  meetingHost = meeting.host;
  absl::Status hosted;
  if (options.rank == 0 && !options.launched) {
    hosted = host(meeting);
    if (!hosted.ok() && !absl::IsAlreadyExists(hosted))
      return withExitCode(hosted, ExitCode::Cluster);
    // The address may be taken by another rank 0 of this job: joining there
    // tells all of them.
  }

  options.transport.timeoutSeconds = kUnlimitedSeconds; // the coordinator looks after that
  if (options.rank != ClusterOptions::kNoRankYet)
    DGC_RETURN_IF_ERROR(makeSegment());
  MemberCore::Options o;
  o.join = joinMessage();
  o.coordinator = meeting.text();
  o.launched = options.launched;
  o.joinTimeout = nanoseconds(hosted.ok() ? options.joinTimeoutSeconds : 3.0);
  o.silence = nanoseconds(options.silenceSeconds);
  o.notice = options.notice;
  o.gate = steps.get();
  o.describeOp = options.describeOp;
  o.heartbeat = [this] {
    const WaitRecord &waits = *ownWaits.load();
    HeartbeatMessage message{ownProgress.load()->get(), waits.awaited(), waits.moved()};
    if (options.figures) {
      message.exposed = options.figures->exposed();
      message.memory = options.figures->deviceBytes() ? options.figures->deviceBytes() : memoryUse().now();
      message.resident = residentBytes();
    }
    return message;
  };
  o.reports = options.reports;
  o.straggler = options.straggler;
  o.exactPosition = [this](int rank) -> std::optional<Position> {
    if (rank != 0 || !rank0Header)
      return std::nullopt;
    return rank0Header->progress.get();
  };
  core.emplace(std::move(o), clock);
  ticker = std::thread([this] { tickLoop(); });
  if (options.handleSignals && !options.launched)
    signals = std::make_unique<SignalWatcher>(
        [this](int signal) {
          std::scoped_lock<std::mutex> lock(mutex);
          if (options.stopsAtSteps && core->roster()) // while workers join again, too
            core->request({StepEvent::Stop, signal});
          else
            core->fail(interruptionError(signal));
          pump();
        },
        options.stopsAtSteps ? SignalWatcher::AlsoUser1 : SignalWatcher::Ending);
  DGC_ASSIGN_OR_RETURN(const ControlSecurity security, securityOf(options.credentials));
  {
    std::scoped_lock<std::mutex> lock(mutex);
    connection = network.connect(meeting, security, *this);
  }
  if (!hosted.ok()) {
    std::unique_lock<std::mutex> lock(mutex);
    const absl::Status joined = await(lock, [&] { return core->state() == MemberCore::State::Running; });
    if (joined.ok() || absl::IsDeadlineExceeded(joined))
      return withExitCode(hosted, ExitCode::Cluster);
    return joined;
  }
  return enter();
}

absl::Status JoinedCluster::makeSegment() {
  if (options.sharedBytes) {
    DGC_ASSIGN_OR_RETURN(options.transport.sharedBytes, options.sharedBytes(options.worldSize));
  }
  auto made = SharedSegment::create(options.rank, options.worldSize, options.transport);
  if (!made.ok())
    return withExitCode(made.status(), ExitCode::Machine);
  segment = std::move(*made);
  return absl::OkStatus();
}

JoinMessage JoinedCluster::joinMessage() const {
  JoinMessage join;
  join.rank = options.rank == ClusterOptions::kNoRankYet ? JoinMessage::kAnyRank : static_cast<uint32_t>(options.rank);
  join.worldSize = options.worldSize;
  join.planDigest = options.planDigest;
  join.producer = options.producer;
  join.hostId = sharedMemoryHostId();
  join.hostName = hostName();
  join.pid = getpid();
  if (segment)
    join.segment = segment->announcement();
  return join;
}

absl::Status JoinedCluster::enter() {
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex);
    // The core has its own, finer deadlines for this.
    absl::Status status = await(lock, [&] {
      hasEndedWithout = core->state() == MemberCore::State::Left;
      return hasEndedWithout || core->state() == MemberCore::State::Running;
    });
    if (hasEndedWithout)
      return absl::OkStatus();
    const bool isJoined = status.ok();
    lock.unlock();
    if (isJoined) {
      lostAt = clock.now() - core->roster()->sinceLoss;
      status = connectTransport();
      if (status.ok())
        return status;
    }
    lock.lock();
    if (isJoined && core->roster()->survives) // a worker that is lost by now cannot be connected to
      changed.wait_for(lock, kLossNoticed, [&] { return flag->raised(); });
    if (core->state() != MemberCore::State::Regrouping) {
      lock.unlock();
      return isJoined ? fail(status) : status;
    }
    lock.unlock();
    DGC_RETURN_IF_ERROR(rejoin());
  }
}

absl::Status JoinedCluster::rejoin() {
  {
    std::scoped_lock<std::mutex> lock(mutex);
    ownProgress = &joining;
    ownWaits = &joiningWaits;
    rank0Header.reset();
  }
  link.reset();
  for (;;) {
    RegroupMessage assigned;
    {
      std::scoped_lock<std::mutex> lock(mutex);
      assigned = core->assigned();
      const bool isToWait = assigned.rank == JoinMessage::kAnyRank;
      options.rank = isToWait ? ClusterOptions::kNoRankYet : static_cast<int>(assigned.rank);
      options.worldSize = static_cast<int>(assigned.worldSize);
    }
    segment.reset();
    if (options.rank != ClusterOptions::kNoRankYet)
      DGC_RETURN_IF_ERROR(makeSegment());
    std::scoped_lock<std::mutex> lock(mutex);
    if (core->state() != MemberCore::State::Regrouping)
      return ended;
    if (core->assigned().epoch != assigned.epoch) // another epoch has begun meanwhile
      continue;
    flag = std::make_unique<Abort>();
    steps = std::make_unique<StepGate>();
    core->rejoin(joinMessage(), steps.get());
    pump();
    return absl::OkStatus();
  }
}

absl::Status JoinedCluster::regroup() {
  DGC_RETURN_IF_ERROR(rejoin());
  return enter();
}

bool JoinedCluster::survives(const absl::Status &error) {
  std::unique_lock<std::mutex> lock(mutex);
  if (!core->roster() || !core->roster()->survives)
    return false;
  if (core->state() == MemberCore::State::Running && exitCodeOf(error) == ExitCode::Network) {
    core->report(errorOf(error));
    pump();
    (void)await(lock, [] { return false; }); // until the coordinator has decided
  }
  return core->state() == MemberCore::State::Regrouping;
}

std::optional<Cluster::Loss> JoinedCluster::loss() const {
  const RosterMessage &roster = *core->roster();
  if (roster.epoch == 0)
    return std::nullopt;
  return Loss{std::string(jobStatus(roster.lost, options.describeOp).message()), lostAt, roster.epoch};
}

JobError JoinedCluster::errorOf(const absl::Status &status) const {
  JobError e;
  e.code = status.code();
  e.exitCode = exitCodeOf(status);
  e.rank = options.rank;
  e.message = std::string(status.message());
  return e;
}

void JoinedCluster::pump() {
  if (connection)
    for (FromWorker &m : core->takeOutgoing())
      connection->send(std::move(m));
  if (core->state() == MemberCore::State::Regrouping)
    flag->raise(jobStatus(core->loss(), options.describeOp));
  if (core->state() == MemberCore::State::Failed && !isEnding) {
    isEnding = true;
    ended = jobStatus(core->error(), options.describeOp);
    flag->raise(ended); // unless it is raised with a loss that the job was to survive
    watchdog.arm(ended);
  }
  changed.notify_all();
}

void JoinedCluster::tickLoop() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!ending) {
    core->tick();
    pump();
    clock.waitUntil(changed, lock, core->nextDeadline());
  }
}

void JoinedCluster::connected() {
  std::scoped_lock<std::mutex> lock(mutex);
  core->connected();
  pump();
}

void JoinedCluster::received(ToWorker message) {
  std::scoped_lock<std::mutex> lock(mutex);
  heardAbort = heardAbort || std::holds_alternative<AbortMessage>(message);
  core->received(message);
  pump();
}

void JoinedCluster::closed() {
  std::scoped_lock<std::mutex> lock(mutex);
  heardAbort = true; // nothing more will be heard
  core->closed();
  pump();
}

void JoinedCluster::refused(std::string why) {
  std::scoped_lock<std::mutex> lock(mutex);
  heardAbort = true;
  core->refused(why);
  pump();
}

void JoinedCluster::failed(std::string why) {
  std::scoped_lock<std::mutex> lock(mutex);
  core->attemptFailed(why);
}

/// There is no limit of time here: another worker may compute for long before it comes to the same. Workers that will
/// not come are found by the coordinator, and a lost coordinator by the core.
template <class Done> absl::Status JoinedCluster::await(std::unique_lock<std::mutex> &lock, Done done) {
  while (!done()) {
    if (isEnding || core->state() == MemberCore::State::Regrouping)
      return isEnding ? ended : flag->status();
    clock.waitUntil(changed, lock, clock.now() + 10_s);
  }
  return absl::OkStatus();
}

void JoinedCluster::failWith(JobError error) {
  std::scoped_lock<std::mutex> lock(mutex);
  core->fail(std::move(error));
  pump();
}

absl::Status JoinedCluster::fail(absl::Status status) {
  // What the abort made fail is not an error of its own, whatever its text.
  if (!flag->raised())
    failWith(errorOf(status));
  // The coordinator's answer shows that it knows.
  std::unique_lock<std::mutex> lock(mutex);
  if (core->state() == MemberCore::State::Failed)
    changed.wait_for(lock, std::chrono::milliseconds(300), [&] { return heardAbort; });
  return isEnding ? ended : flag->status();
}

absl::StatusOr<std::vector<std::string>> JoinedCluster::gather(const std::string &bytes) {
  std::unique_lock<std::mutex> lock(mutex);
  core->gather(bytes);
  pump();
  std::optional<std::vector<std::string>> result;
  DGC_RETURN_IF_ERROR(await(lock, [&] {
    result = core->takeGathered();
    return result.has_value();
  }));
  return *std::move(result);
}

void JoinedCluster::request(StepEvent event) {
  std::scoped_lock<std::mutex> lock(mutex);
  core->request(event);
  pump();
}

ClockOffset JoinedCluster::clockOffset() {
  std::scoped_lock<std::mutex> lock(mutex);
  return core->clockOffset();
}

absl::Status JoinedCluster::leave() {
  std::unique_lock<std::mutex> lock(mutex);
  core->leave();
  pump();
  return await(lock, [&] { return core->state() == MemberCore::State::Left; });
}

JoinedCluster::~JoinedCluster() {
  signals.reset();
  if (connection)
    connection->flush(0.3);
  {
    std::scoped_lock<std::mutex> lock(mutex);
    ending = true;
    changed.notify_all();
  }
  if (ticker.joinable())
    ticker.join();
  std::unique_ptr<Connection> last;
  {
    std::scoped_lock<std::mutex> lock(mutex);
    last = std::move(connection);
  }
  last.reset(); // its last events still find the core
  // The others must hear of the end before the coordinator goes.
  if (coordinator)
    coordinator->settle(0.3);
  coordinator.reset();
}

bool ClusterOptions::isLaunched() { return getenv("DGC_LAUNCHED") != nullptr; }

absl::StatusOr<std::unique_ptr<Cluster>> Cluster::join(ClusterOptions options) {
  if (options.rank != ClusterOptions::kNoRankYet && options.worldSize < 2)
    return withExitCode(absl::InvalidArgumentError("a cluster has two workers at least"), ExitCode::Usage);
  if (options.rank != ClusterOptions::kNoRankYet && (options.rank < 0 || options.rank >= options.worldSize))
    return withExitCode(
        absl::InvalidArgumentError(absl::StrCat("rank ", options.rank, " does not exist among ", options.worldSize,
                                                " workers; ranks are 0 to ", options.worldSize - 1)),
        ExitCode::Usage);
  auto cluster = std::make_unique<JoinedCluster>(std::move(options));
  DGC_RETURN_IF_ERROR(cluster->start());
  return cluster;
}

} // namespace dgc::rt
