// Which groups of workers communicate, and by what: decided alike by all of them from what each one tells.
#pragma once

#include "runtime/artifact/dgcx_generated.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/device/cuda/LaunchMode.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace dgc::rt::cuda {

/// How the GPUs of a group reach each other.
enum class TransportKind : uint8_t {
  Host,  // through pinned memory and the transport of the workers
  Nccl,  // each has a GPU of its own
  Peers, // they map each other's memory: one GPU, or GPUs of one host
};

/// $DGC_CUDA_COMMUNICATION: auto, nccl, peers or host. $DGC_CUDA_COLLECTIVES: auto, outside or graph.
struct CommunicationPreferences {
  uint8_t transport = 0, collectives = 0; // in the order above
};
absl::StatusOr<CommunicationPreferences> preferencesFromEnvironment();

/// What a worker tells all others; bytes.
struct WorkerRecord {
  GpuId gpu{};
  std::array<char, 40> host{}; // the same on all workers of a host, and on no other
  uint64_t process = 0;        // the same for all threads of a process, and for no other on the host
  uint64_t mirror = 0;         // address of its mirror of the shared arena
  SharedMemoryHandle memory{}; // of that, for other processes
  uint8_t isShared = 0;        // whether there is one
  CommunicationPreferences preferences;
  uint8_t unused = 0;
  int32_t nccl = 0; // its version; 0: none
  LaunchPreferences launch;
};
/// Without what is of memory and of NCCL.
WorkerRecord recordOf(const Driver &driver);

struct TransportChoice {
  TransportKind transport = TransportKind::Host;
  std::string why; // for people
};
/// `members`: what the workers of a group told, two at least. Peers is a proposal: whether memory can be opened is seen
/// when it is.
TransportChoice chooseTransport(std::span<const WorkerRecord> members);

/// "host-staged", "NCCL", "GPU memory".
std::string nameOf(TransportKind transport);

using RankGroup = std::vector<uint32_t>; // in member order
/// Of the workers with GPUs: the groups that have collectives, by the axes that they span ("data", "data,model"), and
/// those that send to or receive from another one, as one group. Groups of one worker are left out.
struct RankGroups {
  RankGroup devices; // all with a GPU
  std::map<std::string, std::vector<RankGroup>> collectives;
  RankGroup transfers;

  /// Each once, in the same order on all workers.
  std::vector<RankGroup> all() const;
};
RankGroups groupsOf(const artifact::Plan &plan);

} // namespace dgc::rt::cuda
