// Messages between ranks by UCX: what the collectives and transfers of Ucx.cpp are made of.
#pragma once

#include "runtime/collective/SharedMemory.h"
#include "runtime/collective/Wait.h"

#include <ucp/api/ucp.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
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

/// One message under way. Lives in a vector that was sized beforehand.
struct Message {
  int peer = -1;
  void *request = nullptr; ///< null: complete
  ucs_status_t status = UCS_OK;
  uint64_t expected = 0, got = 0; ///< bytes; receives only
  bool receiving = false;
};

class UcxCore {
public:
  UcxCore(int rank, int worldSize, std::unique_ptr<SharedSegment> segment, const TransportOptions &options,
          Abort &abort)
      : rank(rank), worldSize(worldSize), options(options), abort(abort), segment(std::move(segment)),
        waiter(abort, options.timeoutSeconds) {
    waiter.setSpinning(worldSize);
  }
  ~UcxCore();

  absl::Status open(const std::string &device);
  absl::Status connect(std::span<const std::string> addresses);

  /// The arena, and memory for what the peers send to be reduced.
  std::span<std::byte> arena() { return segment->arena(); }
  std::byte *scratch(uint64_t bytes) {
    if (scratchMemory.size() < bytes) {
      scratchMemory.resize(bytes);
      scratchCounted = CountedMemory(MemoryKind::Communication, bytes);
    }
    return scratchMemory.data();
  }

  /// Room for so many messages between two calls of finish(). None is under way.
  void reserve(size_t count) { messages.resize(std::max(messages.size(), count)); }
  void send(int to, uint64_t tag, const void *data, uint64_t bytes);
  void receive(int from, uint64_t tag, void *data, uint64_t bytes);
  /// Waits until all messages since the last call have arrived.
  absl::Status finish(const std::string &title);
  /// Starts the thread that moves what is left to do between operations.
  void driveInBackground();

  /// Held while an operation runs.
  std::mutex driving;

  const int rank, worldSize;
  const TransportOptions options;
  Abort &abort;
  std::unique_ptr<SharedSegment> segment;
  std::string ownAddress;
  std::vector<std::byte> scratchMemory;
  CountedMemory scratchCounted;

private:
  Message &next(int peer, bool receiving);
  absl::Status checked(const std::string &title, const Message &m) const;

  Waiter waiter;
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  std::vector<ucp_ep_h> endpoints; ///< by rank
  std::vector<Message> messages;   ///< the first `used` are under way
  size_t used = 0;
  std::thread background;
  std::atomic<bool> stopping{false};
};

} // namespace dgc::rt
