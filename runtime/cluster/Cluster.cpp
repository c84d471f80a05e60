// A worker's membership: MemberCore with a connection, a clock, a transport and
// the signals of the process around it.
#include "runtime/cluster/Cluster.h"
#include "runtime/base/Disk.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/MemoryUse.h"
#include "runtime/base/Status.h"
#include "runtime/cluster/Address.h"
#include "runtime/cluster/Coordinator.h"
#include "runtime/cluster/MemberCore.h"
#include "runtime/cluster/Network.h"
#include "runtime/cluster/Signals.h"
#include "runtime/cluster/Watchdog.h"
#include "runtime/collective/SharedMemory.h"
#include "runtime/collective/Tcp.h"
#include "runtime/collective/Ucx.h"
#include "runtime/net/Socket.h"

#include "absl/strings/str_cat.h"

#include <cstdlib>

#include <unistd.h>

namespace dgc::rt {
namespace {

TimeNs nanoseconds(double seconds) { return static_cast<TimeNs>(seconds * 1e9); }

class JoinedCluster final : public Cluster, ConnectionEvents {
public:
  explicit JoinedCluster(ClusterOptions o)
      : options(std::move(o)), network(options.network ? *options.network : grpcNetwork()),
        clock(options.clock ? *options.clock : realClock()), watchdog(options.abortGraceSeconds) {}
  ~JoinedCluster() override;

  absl::Status start();

  int rank() const override { return options.rank; }
  int worldSize() const override { return options.worldSize; }
  Transport &transport() override { return *link; }
  Abort &abort() override { return flag; }
  absl::Status fail(absl::Status status) override;
  absl::StatusOr<std::vector<std::string>> gather(const std::string &bytes) override;
  StepGate &gate() override { return steps; }
  void request(StepEvent event) override;
  ClockOffset clockOffset() override;
  absl::Status leave() override;

private:
  absl::Status host(const Address &meeting);
  /// Refuses an address that others reach where nobody has to prove who it is.
  absl::Status checkAddress(const Address &address, const std::string &flag) const {
    return checkExposure(address, flag, options.insecure || options.credentials.areGiven());
  }
  absl::Status connectTransport();
  absl::Status connectTcp(bool oneHost);
  absl::Status connectUcx();
  /// From now on heartbeats say where the transport is.
  void useLink();
  void failWith(JobError error);
  /// The job's error as this worker says it.
  absl::Status error();

  // ConnectionEvents, on threads of the network.
  void connected() override;
  void received(ToWorker message) override;
  void closed() override;
  void refused(std::string why) override;
  void failed(std::string why) override;

  /// Sends what the core wants sent and passes on its error; `mutex` is held.
  void pump();
  void tickLoop();
  /// Waits until `done()`, with `mutex` held, or the job has failed.
  template <class Done> absl::Status await(std::unique_lock<std::mutex> &lock, Done done);

  ClusterOptions options;
  Network &network;
  Clock &clock;
  Abort flag;
  Watchdog watchdog;
  StepGate steps;

  std::mutex mutex;
  std::condition_variable changed;
  std::optional<MemberCore> core;
  bool ending = false, heardAbort = false;
  /// Where this worker is: in its segment once the transport has that.
  ProgressWord joining;
  WaitRecord joiningWaits;
  std::atomic<ProgressWord *> ownProgress{&joining};
  std::atomic<const WaitRecord *> ownWaits{&joiningWaits};
  std::shared_ptr<const SegmentHeader> rank0Header;

  std::string meetingHost;
  std::unique_ptr<SharedSegment> segment;
  std::unique_ptr<Transport> link;
  std::unique_ptr<Coordinator> coordinator; ///< on rank 0, unless launched
  std::unique_ptr<Connection> connection;
  std::thread ticker;
  std::unique_ptr<SignalWatcher> signals;
};

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
  auto made = SharedSegment::create(options.rank, options.worldSize, options.transport);
  if (!made.ok())
    return withExitCode(made.status(), ExitCode::Machine);
  segment = std::move(*made);

  MemberCore::Options o;
  o.join.rank = options.rank;
  o.join.worldSize = options.worldSize;
  o.join.planDigest = options.planDigest;
  o.join.producer = options.producer;
  o.join.hostId = sharedMemoryHostId();
  o.join.hostName = hostName();
  o.join.pid = getpid();
  o.join.segment = segment->announcement();
  o.coordinator = meeting.text();
  o.launched = options.launched;
  o.joinTimeout = nanoseconds(hosted.ok() ? options.joinTimeoutSeconds : 3.0);
  o.silence = nanoseconds(options.silenceSeconds);
  o.notice = options.notice;
  o.gate = &steps;
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
          if (options.stopsAtSteps && core->state() == MemberCore::State::Running)
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
  std::unique_lock<std::mutex> lock(mutex);
  // The core has its own, finer deadlines for this.
  absl::Status joined = await(lock, [&] { return core->state() == MemberCore::State::Running; });
  if (!hosted.ok() && (joined.ok() || absl::IsDeadlineExceeded(joined)))
    return withExitCode(hosted, ExitCode::Cluster);
  DGC_RETURN_IF_ERROR(joined);
  lock.unlock();
  absl::Status connected = connectTransport();
  return connected.ok() ? connected : fail(connected);
}

absl::Status JoinedCluster::connectTransport() {
  const RosterMessage &roster = *core->roster(); // does not change any more
  std::vector<std::string> announcements;
  bool oneHost = true;
  for (const RosterMessage::Member &m : roster.members) {
    announcements.push_back(m.segment);
    oneHost = oneHost && m.hostId == roster.members[0].hostId;
  }
  if (roster.members[0].hostId == sharedMemoryHostId()) {
    auto header = mapSegmentHeader(roster.members[0].segment);
    std::scoped_lock<std::mutex> lock(mutex);
    if (header.ok())
      rank0Header = *header;
  }
  bool shared = options.transportName == "shared-memory" || (options.transportName == "auto" && oneHost);
  if (shared && !oneHost)
    return absl::FailedPreconditionError("the shared-memory transport was asked for, but the workers are on "
                                         "several hosts");
  if (shared) {
    DGC_ASSIGN_OR_RETURN(link, std::move(*segment).connect(announcements, flag));
    useLink();
    // All workers wait here until each has mapped all segments.
    return gather("").status();
  }
  const bool isUcx = options.transportName == "ucx";
  using Encryption = ClusterOptions::Encryption;
  if (isUcx && options.dataEncryption == Encryption::On)
    return usageError("--data-encryption=on: what UCX carries is not encrypted; use --transport=tcp");
  options.transport.encrypted =
      !isUcx && (options.dataEncryption == Encryption::On ||
                 (options.dataEncryption == Encryption::Auto && !oneHost && options.credentials.areGiven()));
  if (!oneHost && !options.transport.encrypted && options.rank == 0 && options.credentials.areGiven() && options.notice)
    options.notice("what workers say to each other is encrypted, the tensors between machines are not");
  if (options.transportName == "tcp" || options.transportName == "auto")
    return connectTcp(oneHost);
  if (isUcx)
    return connectUcx();
  return withExitCode(absl::InvalidArgumentError(absl::StrCat("no transport '", options.transportName,
                                                              "'; there are auto, shared-memory, tcp and ucx")),
                      ExitCode::Usage);
}

absl::Status JoinedCluster::connectTcp(bool oneHost) {
  Address own{sourceAddressTowards(meetingHost), 0};
  if (!options.dataAddress.empty()) {
    DGC_ASSIGN_OR_RETURN(own, parseAddress(options.dataAddress, "--data-address", 0));
    DGC_RETURN_IF_ERROR(checkAddress(own, "--data-address"));
  }
  if (own.host.empty() || (!oneHost && isLoopback(own.host)))
    return withExitCode(absl::FailedPreconditionError(
                            absl::StrCat("the other machines cannot reach this one at '", own.host,
                                         "', the address that it has towards the coordinator ", options.coordinator,
                                         "; say with --data-address which of its addresses they can reach")),
                        ExitCode::Usage);
  absl::StatusOr<std::unique_ptr<TcpEndpoint>> endpoint = TcpEndpoint::create(
      options.rank, options.worldSize, std::move(segment), options.transport, flag, own.host, own.port);
  if (!endpoint.ok())
    return withExitCode(endpoint.status(), options.dataAddress.empty() ? ExitCode::Machine : ExitCode::Usage);
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> announcements, gather((*endpoint)->announcement()));
  DGC_ASSIGN_OR_RETURN(link, std::move(**endpoint).connect(announcements, options.joinTimeoutSeconds));
  useLink();
  return gather("").status();
}

absl::Status JoinedCluster::connectUcx() {
  if (const char *tls = getenv("UCX_TLS"); tls && ucxAsksForTcp(tls))
    return withExitCode(absl::FailedPreconditionError(absl::StrCat(
                            "UCX_TLS is '", tls,
                            "', which asks for TCP: anybody who reaches a port of UCX can end the process. Use "
                            "--transport=tcp, or name transports of RDMA in UCX_TLS")),
                        ExitCode::Usage);
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<UcxEndpoint> endpoint,
                       UcxEndpoint::create(options.rank, options.worldSize, std::move(segment), options.transport, flag,
                                           interfaceTowards(meetingHost)));
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> addresses, gather(endpoint->address()));
  DGC_ASSIGN_OR_RETURN(link, std::move(*endpoint).connect(addresses));
  useLink();
  return absl::OkStatus();
}

void JoinedCluster::useLink() {
  ownProgress = &link->progress();
  ownWaits = &link->waits();
}

void JoinedCluster::pump() {
  if (connection)
    for (FromWorker &m : core->takeOutgoing())
      connection->send(std::move(m));
  if (core->state() == MemberCore::State::Failed && !flag.raised()) {
    absl::Status s = jobStatus(core->error(), options.describeOp);
    flag.raise(s);
    watchdog.arm(s);
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
    if (core->state() == MemberCore::State::Failed)
      return flag.status();
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
  JobError e;
  e.code = status.code();
  e.exitCode = exitCodeOf(status);
  e.rank = options.rank;
  e.message = std::string(status.message());
  // What the abort made fail is not an error of its own, whatever its text.
  if (!flag.raised())
    failWith(e);
  watchdog.told();
  // The coordinator's answer shows that it knows.
  std::unique_lock<std::mutex> lock(mutex);
  if (core->state() == MemberCore::State::Failed)
    changed.wait_for(lock, std::chrono::milliseconds(300), [&] { return heardAbort; });
  return flag.status();
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
  absl::Status s = await(lock, [&] { return core->state() == MemberCore::State::Left; });
  if (!s.ok())
    watchdog.told();
  return s;
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

} // namespace

bool ClusterOptions::isLaunched() { return getenv("DGC_LAUNCHED") != nullptr; }

absl::StatusOr<std::unique_ptr<Cluster>> Cluster::join(ClusterOptions options) {
  if (options.worldSize < 2)
    return withExitCode(absl::InvalidArgumentError("a cluster has two workers at least"), ExitCode::Usage);
  if (options.rank < 0 || options.rank >= options.worldSize)
    return withExitCode(
        absl::InvalidArgumentError(absl::StrCat("rank ", options.rank, " does not exist among ", options.worldSize,
                                                " workers; ranks are 0 to ", options.worldSize - 1)),
        ExitCode::Usage);
  auto cluster = std::make_unique<JoinedCluster>(std::move(options));
  DGC_RETURN_IF_ERROR(cluster->start());
  return cluster;
}

} // namespace dgc::rt
