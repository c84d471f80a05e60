// The transport between processes of one host: every rank's segment is an
// anonymous file (memfd) that all ranks map. It has no name, so nothing can be
// left over, whatever kills the processes.
#pragma once

#include "runtime/collective/Mapped.h"
#include "runtime/net/LocalSocket.h"

namespace dgc::rt {

/// Two processes with the same identity can map each other's segments: same
/// boot of the same machine, same namespaces of processes and networks, same user.
std::string sharedMemoryHostId();

/// This rank's segment, from before the others are known until the transport is
/// made.
class SharedSegment {
public:
  /// Makes the segment and takes its memory. ResourceExhausted if there is not
  /// enough.
  static absl::StatusOr<std::unique_ptr<SharedSegment>> create(int rank, int worldSize,
                                                               const TransportOptions &options);
  ~SharedSegment();

  /// What the others need to open this segment; opaque bytes, below 100.
  const std::string &announcement() const { return announced; }

  ProgressWord &progress();
  WaitRecord &waits();
  std::span<std::byte> arena() { return {memory + layout.arenaAt(), layout.arenaBytes}; }

  /// Maps the segments of all ranks, given what each announced, in rank order
  /// (this rank's own included). The segment lives on in the transport.
  absl::StatusOr<std::unique_ptr<Transport>> connect(std::span<const std::string> announcements, Abort &abort) &&;

private:
  SharedSegment() = default;

  int rank = 0;
  TransportOptions options;
  SegmentLayout layout;
  int fd = -1;
  std::byte *memory = nullptr;
  CountedMemory counted;
  std::unique_ptr<LocalServer> server; ///< gives `fd` to the others
  std::string announced;
};

/// Maps just the header of an announced segment, read-only, so that a process
/// that is no rank (the coordinator) can read its progress, even after the
/// rank's death.
absl::StatusOr<std::shared_ptr<const SegmentHeader>> mapSegmentHeader(const std::string &announcement);

} // namespace dgc::rt
