// The transport between hosts: UCX's tagged messages, over TCP unless UCX_TLS
// says otherwise.
#pragma once

#include "runtime/collective/SharedMemory.h"

namespace dgc::rt {

/// This rank's end, from before the others are known until the transport is
/// made. The arena is that of `segment`.
class UcxEndpoint {
public:
  /// `device` is the network interface that is used ("lo", "eth0"); empty: any.
  /// UCX_NET_DEVICES and UCX_TLS, when set, are followed instead.
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

/// The network interface over which this machine reaches `host`, a name or a
/// number; empty if there is none or it cannot be told.
std::string interfaceTowards(const std::string &host);

} // namespace dgc::rt
