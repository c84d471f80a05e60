// The transport between hosts that have a network of RDMA: UCX's tagged messages. Not over TCP: any process that reaches the
// port that UCX opens for that can end the process, and UCX has no means against it.
#pragma once

#include "runtime/collective/SharedMemory.h"

namespace dgc::rt {

/// Whether UCX opens a port for TCP with `tls` as the value of UCX_TLS. A job is not to run so: see above.
bool ucxAsksForTcp(std::string_view tls);

/// This rank's end, from before the others are known until the transport is
/// made. The arena is that of `segment`.
class UcxEndpoint {
public:
  /// `device` is the network interface that is used ("lo", "eth0"); empty: any. UCX_NET_DEVICES and UCX_TLS, when set,
  /// are followed instead; without UCX_TLS everything but TCP is used.
  static absl::StatusOr<std::unique_ptr<UcxEndpoint>> create(int rank, int worldSize,
                                                             std::unique_ptr<SharedSegment> segment,
                                                             const TransportOptions &options, Abort &abort,
                                                             const std::string &device);
  virtual ~UcxEndpoint() = default;

  /// What the others need to reach this rank; opaque bytes.
  virtual const std::string &address() const = 0;

  /// Connects to all, given everybody's address in rank order, and returns when
  /// all of them have done so.
  virtual absl::StatusOr<std::unique_ptr<Transport>> connect(std::span<const std::string> addresses) && = 0;
};

} // namespace dgc::rt
