// NCCL: communication between GPUs, by the library or by what tests put in its place.
#pragma once

#include "runtime/collective/Validate.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/device/cuda/NcclApi.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dgc::rt::cuda {

/// The functions, as in NcclApi.h.
struct Nccl {
#define DGC_MEMBER(name, symbol, result, ...) std::function<result(__VA_ARGS__)> name;
  DGC_NCCL_FUNCTIONS(DGC_MEMBER)
#undef DGC_MEMBER
  std::string path;
  int number = 0; // of the version: 22809
};
using NcclFunctions = std::shared_ptr<const Nccl>;

/// "2.28.9".
std::string versionOfNccl(int number);

/// The library, from where findLibrary() finds it.
absl::StatusOr<NcclFunctions> openNccl();

/// The communicator of one group of ranks, as one of them has it. Nothing blocks: NCCL works in the background, and is
/// asked until it is done, the job is aborted or the time is over. After an error it is of no use but to be aborted.
class NcclLink {
public:
  /// All members call it, with the `id` that one of them has made, and more than one link in the same order.
  static absl::StatusOr<std::unique_ptr<NcclLink>> create(NcclFunctions nccl, std::vector<uint32_t> group, int self,
                                                          const NcclUniqueId &id, Abort &abort, double timeoutSeconds);
  /// Aborts what close() did not end.
  ~NcclLink();

  /// Whether NCCL can do it: it has no sums of 16-bit integers.
  static bool does(const CollectiveDesc &desc);
  /// Queues a collective on memory that begins at `arena`.
  absl::Status queue(const CollectiveDesc &desc, const CheckedCollective &checked, Address arena, Driver &driver,
                     Driver::Stream stream);
  absl::Status queueSend(Address data, uint64_t bytes, uint32_t toRank, Driver::Stream stream);
  absl::Status queueReceive(Address data, uint64_t bytes, uint32_t fromRank, Driver::Stream stream);

  /// The error since the last call; OK when there is none.
  absl::Status error();
  const std::vector<uint32_t> &ranks() const { return group; }

  /// Ends links of which nothing is queued any more.
  static absl::Status close(std::span<const std::unique_ptr<NcclLink>> links);
  /// Ends what they do, all at once, as one may wait for another. False: that took too long, and has not ended; the GPU must
  /// be left alone.
  static bool abort(std::span<const std::unique_ptr<NcclLink>> links);

private:
  NcclLink(NcclFunctions nccl, std::vector<uint32_t> group, Abort &abortJob, double timeoutSeconds)
      : nccl(std::move(nccl)), group(std::move(group)), abortJob(abortJob), timeoutSeconds(timeoutSeconds) {}
  absl::Status settle(const char *what);
  absl::Status check(NcclResult result, const char *what);
  absl::Status failure(NcclResult result, const char *what);
  absl::Status call(const CollectiveDesc &desc, const CheckedCollective &checked, Address arena, Driver::Stream stream);
  template <typename Calls> absl::Status grouped(const char *what, Calls calls);

  NcclFunctions nccl;
  std::vector<uint32_t> group;
  Abort &abortJob;
  double timeoutSeconds;
  NcclComm comm = nullptr;
};

} // namespace dgc::rt::cuda
