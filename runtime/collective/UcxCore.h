// Messages between ranks by UCX.
#pragma once

#include "runtime/collective/MessagePassing.h"
#include "runtime/collective/Wait.h"

#include <ucp/api/ucp.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace dgc::rt {

/// One message under way. Lives in a vector that was sized beforehand.
struct Message {
  int peer = -1;
  void *request = nullptr; ///< null: complete
  ucs_status_t status = UCS_OK;
  uint64_t expected = 0, got = 0; ///< bytes; receives only
  bool receiving = false;
};

class UcxCore final : public MessagePassing {
public:
  UcxCore(int rank, int worldSize, std::unique_ptr<SharedSegment> ownSegment, const TransportOptions &options,
          Abort &abort)
      : MessagePassing(rank, worldSize, std::move(ownSegment), options, abort),
        waiter(abort, options.timeoutSeconds, &segment->waits()) {
    waiter.setSpinning(worldSize);
  }
  ~UcxCore() override;

  absl::Status open(const std::string &device);
  absl::Status connect(std::span<const std::string> addresses);

  void reserve(size_t count) override { messages.resize(std::max(messages.size(), count)); }
  void send(int to, uint64_t tag, const void *data, uint64_t bytes) override;
  void receive(int from, uint64_t tag, void *data, uint64_t bytes) override;
  absl::Status finish(const std::string &title) override;
  /// Starts the thread that moves what is left to do between operations.
  void driveInBackground();

  std::string ownAddress;

private:
  Message &next(int peer, bool receiving);
  /// The first message from `at` on that is late, as a rule a receive: sends complete by themselves.
  int awaited(size_t at) const;
  absl::Status checked(const std::string &title, const Message &m);

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
