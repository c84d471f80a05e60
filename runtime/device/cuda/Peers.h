// Communication of GPUs that see each other's memory: one GPU that workers share, or GPUs of one host. As among the
// threads of a CPU, the host's transport tells when all are there, and each worker does its part of the work in place.
#pragma once

#include "runtime/collective/Validate.h"
#include "runtime/device/cuda/Driver.h"

#include <functional>
#include <map>
#include <vector>

namespace dgc::rt::cuda {

/// The kernels that reduce, as PTX: compiled when dgc was built, where that could be done.
const char *peerReducePtx();

/// The same kernels on this CPU, for comparisons; the last one has no name. `table` has the addresses of sources and
/// results.
struct PeerKernel {
  const char *name; // "dgc_reduce_f32_sum"
  void (*run)(const uint64_t *table, uint64_t srcs, uint64_t dsts, uint64_t count, uint64_t packets);
  uint64_t elementSize;
};
extern const PeerKernel peerKernels[];

/// What members do with the memory of each other.
class Peers {
public:
  /// `await` waits for a stream; `stream` is that of communication.
  Peers(Driver &driver, Driver::Stream stream, std::function<absl::Status(Driver::Stream)> await)
      : driver(driver), stream(stream), await(std::move(await)) {}
  ~Peers();

  /// Work that a member of a collective does between two meetings, to be queued; `arenas` are those of the members.
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
