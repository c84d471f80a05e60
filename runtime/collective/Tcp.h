// The transport between hosts over TCP. Ranks find each other by the control plane and prove to each other that they
// did (runtime/net/Handshake.h); once all are connected no port is open any more.
#pragma once

#include "runtime/collective/SharedMemory.h"

namespace dgc::rt {

/// This rank's end, from before the others are known until the transport is made. The arena is that of `segment`.
class TcpEndpoint {
public:
  /// Listens at HOST of this machine, a name or digits, and PORT; 0: one of the kernel's choice.
  static absl::StatusOr<std::unique_ptr<TcpEndpoint>> create(int rank, int worldSize,
                                                             std::unique_ptr<SharedSegment> segment,
                                                             const TransportOptions &options, Abort &abort,
                                                             const std::string &host, int port = 0);
  virtual ~TcpEndpoint() = default;

  /// What the others need to reach this rank, below 200 bytes. Holds a secret: it travels over the control plane only.
  virtual const std::string &announcement() const = 0;

  /// Connects to all, given everybody's announcement in rank order. Returns when this rank has all its connections;
  /// when all ranks do, each may use the transport. DeadlineExceeded, with ExitCode::Network, after `seconds`: the
  /// message names the rank that cannot be reached and its address.
  virtual absl::StatusOr<std::unique_ptr<Transport>> connect(std::span<const std::string> announcements,
                                                             double seconds) && = 0;
};

} // namespace dgc::rt
