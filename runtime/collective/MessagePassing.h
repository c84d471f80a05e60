// Messages between the ranks of several hosts: what their collectives and transfers are made of.
#pragma once

#include "runtime/collective/SharedMemory.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace dgc::rt {

// Tags: what the message belongs to, and who sent it. Messages of one sender
// with one tag arrive in the order in which they were sent.
inline constexpr uint64_t kCollectiveTag = uint64_t{1} << 62;
inline constexpr uint64_t kPointToPointTag = uint64_t{2} << 62;
inline uint64_t channelTag(uint32_t channel, int from) {
  return kPointToPointTag | uint64_t{channel} << 24 | static_cast<uint32_t>(from);
}
inline uint64_t collectiveTag(int from) { return kCollectiveTag | static_cast<uint32_t>(from); }

/// One rank's end of the connections to all others. Used by one thread at a time.
class MessagePassing {
public:
  MessagePassing(int rank, int worldSize, std::unique_ptr<SharedSegment> segment, const TransportOptions &options,
                 Abort &abort)
      : rank(rank), worldSize(worldSize), options(options), abort(abort), segment(std::move(segment)) {}
  virtual ~MessagePassing() = default;

  /// The arena, and memory for what the peers send to be reduced.
  std::span<std::byte> arena() const { return segment->arena(); }
  std::byte *scratch(uint64_t bytes) {
    if (scratchMemory.size() < bytes) {
      scratchMemory.resize(bytes);
      scratchCounted = CountedMemory(MemoryKind::Communication, bytes);
    }
    return scratchMemory.data();
  }

  /// Makes room for so many messages between two calls of finish(). None is under way.
  virtual void reserve(size_t count) = 0;
  /// Begin a message; its memory belongs to this object until finish().
  virtual void send(int to, uint64_t tag, const void *data, uint64_t bytes) = 0;
  virtual void receive(int from, uint64_t tag, void *data, uint64_t bytes) = 0;
  /// Waits until all messages since the last call have arrived or been handed to the network. `title` is of the
  /// operation, for messages. Unavailable, with ExitCode::Network: the connection to a rank is lost.
  virtual absl::Status finish(const std::string &title) = 0;

  /// Held while an operation runs.
  std::mutex driving;

  const int rank, worldSize;
  const TransportOptions options;
  Abort &abort;
  std::unique_ptr<SharedSegment> segment;

protected:
  /// The error of an operation whose connection to `peer` ended. The control plane knows better why a peer is gone: its
  /// word is waited for briefly.
  absl::Status connectionLost(const std::string &title, int peer, const std::string &why);
  absl::Status wrongSize(const std::string &title, int peer, uint64_t expected) const;
  /// What finish() says of a wait that took longer than TransportOptions::timeoutSeconds.
  std::string late(const std::string &title, int peer) const;

private:
  std::vector<std::byte> scratchMemory;
  CountedMemory scratchCounted;
};

/// The transport over `core`, which is connected; `name` is that of Transport::name.
std::unique_ptr<Transport> createMessageTransport(std::string_view name, std::unique_ptr<MessagePassing> core);

} // namespace dgc::rt
