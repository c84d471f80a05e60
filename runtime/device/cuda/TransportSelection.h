// The groups of workers that communicate, and the transport of each. All workers decide alike, from the records that
// they exchange.
#pragma once

#include "runtime/artifact/dgcx_generated.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/device/cuda/LaunchMode.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace dgc::rt::cuda {

/// How the GPUs of a group exchange data.
enum class TransportKind : uint8_t {
  Host,  // staged through pinned host memory and the transport of the workers
  Nccl,  // NCCL; each worker has a GPU of its own
  Peers, // mapped memory of each other: one GPU, or GPUs of one host
};

/// The user's preferences: $DGC_CUDA_COMMUNICATION (auto, nccl, peers, host) and $DGC_CUDA_COLLECTIVES (auto, outside,
/// graph), each as an index into its list.
struct CommunicationPreferences {
  uint8_t transport = 0, collectives = 0;
};
absl::StatusOr<CommunicationPreferences> preferencesFromEnvironment();

/// What a worker sends to all others, as bytes.
struct WorkerRecord {
  GpuId gpu{};
  std::array<char, 40> host{}; // the same on all workers of a host, and on no other
  uint64_t process = 0;        // the same for all threads of a process, and for no other on the host
  uint64_t mirror = 0;         // address of its mirror of the shared arena
  SharedMemoryHandle memory{}; // a handle of the mirror, for other processes
  uint8_t isShared = 0;        // 1: `memory` is valid
  CommunicationPreferences preferences;
  uint8_t unused = 0;
  int32_t nccl = 0; // the version of NCCL; 0: not available
  LaunchPreferences launch;
};
/// The record of this worker, without the fields of memory, preferences and NCCL.
WorkerRecord recordOf(const Driver &driver);

/// The transport of a group.
struct TransportChoice {
  TransportKind transport = TransportKind::Host;
  std::string why; // for messages
};
/// Chooses the transport of a group from the records of its members, two at least. Peers is provisional: it needs that
/// each member can open the memory of the others.
TransportChoice chooseTransport(std::span<const WorkerRecord> members);

/// "host-staged", "NCCL", "GPU memory".
std::string nameOf(TransportKind transport);

using RankGroup = std::vector<uint32_t>; // in member order
/// The groups of workers with GPUs that communicate. Groups of collectives are listed by the axes that they span ("data",
/// "data,model"); all workers that send or receive are one group. Groups of one worker are left out.
struct RankGroups {
  RankGroup devices; // all with a GPU
  std::map<std::string, std::vector<RankGroup>> collectives;
  RankGroup transfers;

  /// All groups without duplicates, in the same order on all workers.
  std::vector<RankGroup> all() const;
};
RankGroups groupsOf(const artifact::Plan &plan);

} // namespace dgc::rt::cuda
