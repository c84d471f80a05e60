// Communication between the GPUs of workers without staging through the host, where a transport is available: NCCL, or
// peer access to each other's memory. The executor does the rest through the host.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/cuda/Nccl.h"
#include "runtime/device/cuda/Peers.h"
#include "runtime/device/cuda/TransportSelection.h"

#include <algorithm>
#include <functional>
#include <map>

namespace dgc::rt::cuda {

/// Opens NCCL, when workers could use it.
using MakeNccl = std::function<absl::StatusOr<NcclFunctions>()>;

/// The communication of one worker. All of it is queued on one stream of its own, in the order of the plan.
class Communication {
public:
  /// Collective: all workers with GPUs call it, with the same `groups`. `compute` is the stream with all other work,
  /// `mirror` the mirror of the shared arena; in `launch` the preference of $DGC_CUDA_COLLECTIVES is filled in here.
  static absl::StatusOr<std::unique_ptr<Communication>> create(const RankGroups &groups, Driver &driver,
                                                               Driver::Stream compute, Transport &transport,
                                                               Address mirror, const MakeNccl &makeNccl,
                                                               const LaunchPreferences &launch = {});
  ~Communication();

  absl::StatusOr<DeviceCommunication> prepare(const CollectiveDesc &desc);
  absl::StatusOr<DeviceCommunication> prepareSend(uint32_t channel, uint32_t to, Address data, uint64_t bytes);
  absl::StatusOr<DeviceCommunication> prepareReceive(uint32_t channel, uint32_t from, Address data, uint64_t bytes);

  /// Waits until `stream` is idle. Fails on an error, when the job is aborted, and after the timeout.
  absl::Status await(Driver::Stream awaited);
  /// Waits likewise until `event` is reached.
  absl::Status awaitEvent(Driver::Event event);
  /// Makes `compute` wait for all communication that is queued. Called at the end of each graph.
  absl::Status join();
  /// Ends communication, after all graphs are destroyed. False: the GPU hangs, and no further call may be made to it.
  bool close();

  /// The launch mode of NCCL's collectives in the first steps.
  const LaunchChoice &launch() const { return launch_; }
  /// The longest times that a worker with a GPU has measured; without times when one has none. Collective: all workers
  /// with GPUs call it, while no program runs.
  absl::StatusOr<LaunchTimes> slowest(const LaunchTimes &mine);
  /// The configuration that these times are valid for.
  const MeasuredLaunch &here() const { return here_; }

  /// How a group communicates, and why.
  const TransportChoice &choiceOf(const RankGroup &group) const { return choices.at(group); }

private:
  friend class QueuedOp;
  friend class PeerCollective;
  Communication(Driver &driver, Driver::Stream compute, Transport &transport, Address mirror)
      : driver(driver), transport(transport), compute(compute), mirror(mirror) {}
  absl::Status open(const RankGroups &groups, const MakeNccl &makeNccl, LaunchPreferences launch);
  absl::Status openPeers(const RankGroup &devices, const std::vector<RankGroup> &groups,
                         const std::vector<WorkerRecord> &records);
  absl::StatusOr<bool> openMemory(const RankGroup &group, const std::vector<WorkerRecord> &records);
  void chooseLaunchModeOf(const std::vector<WorkerRecord> &records);
  absl::Status waitForInputs();
  absl::Status openLinks(const std::vector<RankGroup> &groups);
  absl::StatusOr<std::vector<std::byte>> exchange(std::span<const std::byte> mine, const RankGroup &group);
  absl::StatusOr<DeviceCommunication> queued(NcclLink &link, std::function<absl::Status(NcclLink &)> call);
  absl::Status note(absl::Status status);
  absl::Status poll(const std::function<absl::StatusOr<bool>()> &isDone);
  NcclLink *linkOf(const RankGroup &group);
  bool isAmongDevices(uint32_t other) const {
    return std::find(transfers.begin(), transfers.end(), other) != transfers.end();
  }
  bool usesPeers(const RankGroup &group) const {
    auto choice = choices.find(group);
    return choice != choices.end() && choice->second.transport == TransportKind::Peers;
  }
  uint32_t rank() const { return static_cast<uint32_t>(transport.rank()); }

  Driver &driver;
  Transport &transport;
  Driver::Stream compute, stream = nullptr;
  Driver::Event forked = nullptr;
  Address mirror;
  bool failed = false;
  LaunchChoice launch_;
  MeasuredLaunch here_;
  RankGroup devices, transfers;
  std::map<RankGroup, TransportChoice> choices;
  NcclFunctions nccl;
  std::vector<std::unique_ptr<NcclLink>> links;
  std::unique_ptr<Peers> peers;
  std::map<uint32_t, Address> memories; // of the workers that are reached, their mirrors; of this one as well
  std::vector<Address> opened;          // of these
  std::vector<Driver::Event> events;
  std::vector<class QueuedOp *> underWay;
};

} // namespace dgc::rt::cuda
