// A worker's membership: MemberCore with a connection, a clock, a transport and
// the signals of the process around it.
#pragma once

#include "runtime/base/ExitCode.h"
#include "runtime/cluster/Cluster.h"
#include "runtime/cluster/Coordinator.h"
#include "runtime/cluster/MemberCore.h"
#include "runtime/cluster/Network.h"
#include "runtime/cluster/Signals.h"
#include "runtime/cluster/Watchdog.h"
#include "runtime/collective/SharedMemory.h"
#include "runtime/net/Address.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace dgc::rt {

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
  Abort &abort() override { return *flag; }
  absl::Status fail(absl::Status status) override;
  absl::StatusOr<std::vector<std::string>> gather(const std::string &bytes) override;
  StepGate &gate() override { return *steps; }
  void request(StepEvent event) override;
  ClockOffset clockOffset() override;
  absl::Status leave() override;
  bool survives(const absl::Status &error) override;
  absl::Status regroup() override;
  std::optional<Loss> loss() const override;
  bool isOver() const override { return hasEndedWithout; }

private:
  absl::Status host(const Address &meeting);
  /// Refuses an address that others reach where nobody has to prove who it is.
  absl::Status checkAddress(const Address &address, const std::string &flag) const {
    return checkExposure(address, flag, options.insecure || options.credentials.areGiven());
  }
  absl::Status makeSegment();
  JoinMessage joinMessage() const;
  /// Waits for the roster and connects to its workers; for the next one where the coordinator says that one was lost meanwhile.
  absl::Status enter();
  /// Leaves the epoch that is over, and joins the next one.
  absl::Status rejoin();
  absl::Status connectTransport();
  absl::Status connectTcp(bool oneHost);
  absl::Status connectUcx();
  JobError errorOf(const absl::Status &status) const;
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
  std::unique_ptr<Abort> flag = std::make_unique<Abort>(); ///< of this epoch, as the gate
  std::unique_ptr<StepGate> steps = std::make_unique<StepGate>();
  Watchdog watchdog;

  std::mutex mutex;
  std::condition_variable changed;
  std::optional<MemberCore> core;
  bool ending = false, heardAbort = false;
  bool isEnding = false; ///< with this error
  absl::Status ended;
  /// Where this worker is: in its segment once the transport has that.
  ProgressWord joining;
  WaitRecord joiningWaits;
  std::atomic<ProgressWord *> ownProgress{&joining};
  std::atomic<const WaitRecord *> ownWaits{&joiningWaits};
  std::shared_ptr<const SegmentHeader> rank0Header;
  bool hasEndedWithout = false; ///< the job, without a rank for this worker
  TimeNs lostAt = 0;            ///< by `clock`, of the loss before this epoch

  std::string meetingHost;
  std::unique_ptr<SharedSegment> segment;
  std::unique_ptr<Transport> link;
  std::unique_ptr<Coordinator> coordinator; ///< on rank 0, unless launched
  std::unique_ptr<Connection> connection;
  std::thread ticker;
  std::unique_ptr<SignalWatcher> signals;
};

} // namespace dgc::rt
