// The data plane: collectives and point-to-point transfers between the workers
// of a job.
//
// One interface, several transports: "in-process" (ranks as threads),
// "shared-memory" (processes of one host), "tcp" (hosts) and "ucx" (hosts with a network of RDMA). The same calls
// give the same bits on all of them: reductions add in member order, and 16-bit
// floats are accumulated in f32 and rounded once.
#pragma once

#include "runtime/base/Collective.h"
#include "runtime/base/DType.h"
#include "runtime/collective/Abort.h"
#include "runtime/collective/Progress.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// One collective as one member sees it. With n members and m the position of
/// this rank among them:
///   AllReduce      dst[i] = sum over members of src[i] dstCount = srcCount
///   ReduceScatter  dst[i] = sum over members of src[m * dstCount + i] srcCount
///   = n * dstCount AllGather      dst[j * srcCount + i] = src[i] of member j
///   dstCount = n * srcCount AllToAll       dst[j * k + i] = src[m * k + i] of
///   member j            srcCount = dstCount = n * k Broadcast      dst[i] =
///   src[i] of member `root`                       dstCount = srcCount Permute
///   dst[i] = src[i] of the member whose permutation entry is m, zeros if there
///   is none
/// and the same for each range of `more`.
/// src and dst may be the same range for AllReduce and Broadcast. No other
/// overlap is accepted.
struct CollectiveDesc {
  static constexpr uint32_t kNoRank = UINT32_MAX;

  uint32_t id = 0;    ///< position in the order of communication; for messages
  std::string origin; ///< what caused it; for messages
  CollectiveKind kind = CollectiveKind::AllReduce;
  Reduction reduction = Reduction::Sum;
  DType dtype = DType::F32;
  std::vector<uint32_t> group;    ///< ranks, in member order; holds this rank; the
                                  ///< same on every member
  uint64_t src = 0, srcCount = 0; ///< byte offset in the shared arena; elements
  uint64_t dst = 0, dstCount = 0; ///< the same offsets on every member
  struct Range {
    uint64_t src = 0, srcCount = 0, dst = 0, dstCount = 0;
  };
  std::vector<Range> more;           ///< AllReduce, ReduceScatter, AllGather: the same is done to these, at once
  uint32_t root = 0;                 ///< Broadcast: member
  std::vector<uint32_t> permutation; ///< Permute: per member the member that it
                                     ///< sends to, or kNoRank
};

/// An operation with everything decided: `run` allocates nothing and holds no
/// lock.
///
/// Every member runs its operations in the same order. `run` returns when this
/// member may read its dst and overwrite its src. It fails with the status of
/// the Abort once that is raised, and with DeadlineExceeded, naming the
/// operation and who was waited for, after Options.timeout. After any failure
/// the contents of dst are undefined and the transport is of no further use.
class PreparedCollective {
public:
  virtual ~PreparedCollective() = default;
  virtual absl::Status run() = 0;

  /// The same in two parts. start() does not wait; finish() returns when run() would. From start() to finish() no
  /// other code may use src and dst. Every member has the same starts, finishes and runs in the same order.
  virtual absl::Status start() { return absl::OkStatus(); }
  virtual absl::Status finish() { return run(); }
};

/// Bytes of one member's data that a transport between hosts has in flight to be reduced at a time.
inline constexpr uint64_t stagedChunkBytes = 1 << 20;

/// What a transport between hosts takes for one reduction: from every member a chunk, or all where that is less.
uint64_t stagingBytes(CollectiveKind kind, size_t elementSize, std::span<const CollectiveDesc::Range> ranges,
                      uint32_t members);

/// TransportOptions::timeoutSeconds of workers that a coordinator watches: it ends waits that do not end, and knows
/// which workers still compute.
inline constexpr double kUnlimitedSeconds = 1e9;
/// How long the host waits for a GPU, whose waits for other GPUs cannot be observed.
inline constexpr double kDeviceTimeoutSeconds = 300;

/// The options of all transports.
struct TransportOptions {
  uint64_t sharedBytes = 0;    ///< Plan.shared_bytes; the same on every rank
  uint32_t channels = 256;     ///< channels of send and receive are below this
  double timeoutSeconds = 300; ///< of one wait
  bool encrypted = false;      ///< of tcp: TLS between ranks; the same on every rank
};

/// One per rank. Used by one thread at a time.
class Transport {
public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int worldSize() const = 0;
  /// "in-process", "shared-memory", "tcp" or "ucx".
  virtual std::string_view name() const = 0;

  /// This rank's memory that collectives work on:
  /// TransportOptions::sharedBytes, zeroed, aligned to 64 bytes. Lives as long
  /// as the transport.
  virtual std::span<std::byte> sharedArena() = 0;

  /// InvalidArgument says which part of the description is wrong.
  virtual absl::StatusOr<std::unique_ptr<PreparedCollective>> prepare(const CollectiveDesc &desc) = 0;

  /// Point to point. The n-th send on (channel, to) meets the n-th receive on
  /// (channel, from); both sides must have the same number of bytes. The memory
  /// of a send is in sharedArena(). A send returns when its memory may be
  /// overwritten, which may need the receiver to have called receive.
  virtual absl::StatusOr<std::unique_ptr<PreparedCollective>> prepareSend(uint32_t channel, int to,
                                                                          std::span<const std::byte> memory) = 0;
  virtual absl::StatusOr<std::unique_ptr<PreparedCollective>> prepareReceive(uint32_t channel, int from,
                                                                             std::span<std::byte> memory) = 0;

  /// Where this rank is; the executor writes it. Other ranks read it when this
  /// one is late or dead.
  virtual ProgressWord &progress() = 0;
  /// Whom this rank waits for; the transport writes it.
  virtual const WaitRecord &waits() = 0;

  /// Returns once all ranks have called it.
  virtual absl::Status barrier() = 0;

  /// A barrier of these ranks, this one among them. Between two ranks it has its place in the order of their
  /// collectives.
  virtual std::unique_ptr<PreparedCollective> prepareBarrier(const std::vector<uint32_t> &group) = 0;

  /// What ends every wait of this rank, for those that wait for something else than this transport, such as a device;
  /// and how long one such wait may take, at most kDeviceTimeoutSeconds.
  virtual Abort &interruption() = 0;
  virtual double timeoutSeconds() const = 0;
};

/// Transports of `worldSize` ranks in this process, for one thread each. Used
/// for one worker as well. All of them share `abort`, which outlives them.
absl::StatusOr<std::vector<std::unique_ptr<Transport>>>
createInProcessTransports(int worldSize, const TransportOptions &options, Abort &abort);

} // namespace dgc::rt
