// The transport of a parameter server: to the other ranks of its job, and, while the server runs a program for a worker that is not
// one of these, to what that worker has sent.
#pragma once

#include "runtime/collective/Transport.h"

namespace dgc::rt {

/// While it serves, receives take what was given to serve(), one after the other, and sends go there; else both are those of
/// `base`.
class ServerTransport : public Transport {
public:
  explicit ServerTransport(Transport &base) : base(base) {}

  /// From now on receives take the bytes of `received`, and sends are appended to `sent`, or, where that is null, dropped.
  void serve(std::string_view received, std::string *sent) {
    isServing = true;
    this->received = received;
    this->sent = sent;
  }
  void endServing() { isServing = false; }

  int rank() const override { return base.rank(); }
  int worldSize() const override { return base.worldSize(); }
  std::string_view name() const override { return base.name(); }
  std::span<std::byte> sharedArena() override { return base.sharedArena(); }
  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepare(const CollectiveDesc &desc) override {
    return base.prepare(desc);
  }
  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepareSend(uint32_t channel, int to,
                                                                  std::span<const std::byte> memory) override;
  absl::StatusOr<std::unique_ptr<PreparedCollective>> prepareReceive(uint32_t channel, int from,
                                                                     std::span<std::byte> memory) override;
  ProgressWord &progress() override { return base.progress(); }
  const WaitRecord &waits() override { return base.waits(); }
  absl::Status barrier() override { return base.barrier(); }
  std::unique_ptr<PreparedCollective> prepareBarrier(const std::vector<uint32_t> &group) override {
    return base.prepareBarrier(group);
  }
  Abort &interruption() override { return base.interruption(); }
  double timeoutSeconds() const override { return base.timeoutSeconds(); }

private:
  struct SendOp;
  struct ReceiveOp;
  Transport &base;
  bool isServing = false;
  std::string_view received; // what no receive has taken yet
  std::string *sent = nullptr;
};

} // namespace dgc::rt
