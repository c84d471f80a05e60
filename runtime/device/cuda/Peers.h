// Communication of GPUs that map each other's memory: one GPU that workers share, or GPUs of one host. The host's
// transport provides the barriers, and each worker reduces or copies its part in place, as threads of a CPU do.
#pragma once

#include "runtime/collective/Validate.h"
#include "runtime/device/cuda/Driver.h"

#include <functional>
#include <map>
#include <vector>

namespace dgc::rt::cuda {

/// The reduction kernels as PTX, compiled when dgc was built; null if the host compiler could not.
const char *peerReducePtx();

/// The same kernels on the CPU, for comparisons; the last one has no name. `table` has the addresses of sources and
/// results.
struct PeerKernel {
  const char *name; // "dgc_reduce_f32_sum"
  void (*run)(const uint64_t *table, uint64_t srcs, uint64_t dsts, uint64_t count, uint64_t packets);
  uint64_t elementSize;
};
extern const PeerKernel peerKernels[];

/// Prepares the work of one member on the memory of the others.
class Peers {
public:
  /// `await` waits for a stream; `stream` is that of communication.
  Peers(Driver &driver, Driver::Stream stream, std::function<absl::Status(Driver::Stream)> await)
      : driver(driver), stream(stream), await(std::move(await)) {}
  ~Peers();

  /// Returns the function that queues the work of this member between two barriers. `arenas` are those of the members.
  absl::StatusOr<std::function<absl::Status()>> prepare(const CollectiveDesc &desc, const CheckedCollective &checked,
                                                        const std::vector<Address> &arenas);

private:
  absl::StatusOr<std::function<absl::Status()>> prepareReduce(const CollectiveDesc &desc, const CheckedCollective &c,
                                                              const std::vector<Address> &arenas);
  absl::StatusOr<Address> placeTable(const std::vector<Address> &table);
  absl::StatusOr<Driver::Function> kernelFor(DType dtype, Reduction reduction);

  Driver &driver;
  Driver::Stream stream;
  std::function<absl::Status(Driver::Stream)> await;
  Driver::Module module = nullptr;
  std::map<std::string, Driver::Function> kernels;
  std::vector<Address> tables;
  std::byte *staging = nullptr;
};

} // namespace dgc::rt::cuda
