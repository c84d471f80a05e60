#include "runtime/servers/ServerTransport.h"

#include "runtime/base/Status.h"

#include <cstring>

namespace dgc::rt {

struct ServerTransport::SendOp : PreparedCollective {
  SendOp(ServerTransport &owner, std::unique_ptr<PreparedCollective> toRank, std::span<const std::byte> memory)
      : owner(owner), toRank(std::move(toRank)), memory(memory) {}
  absl::Status run() override {
    if (!owner.isServing)
      return toRank->run();
    if (owner.sent)
      owner.sent->append(reinterpret_cast<const char *>(memory.data()), memory.size());
    return absl::OkStatus();
  }
  ServerTransport &owner;
  std::unique_ptr<PreparedCollective> toRank;
  std::span<const std::byte> memory;
};

struct ServerTransport::ReceiveOp : PreparedCollective {
  ReceiveOp(ServerTransport &owner, std::unique_ptr<PreparedCollective> fromRank, std::span<std::byte> memory)
      : owner(owner), fromRank(std::move(fromRank)), memory(memory) {}
  absl::Status run() override {
    if (!owner.isServing)
      return fromRank->run();
    if (owner.received.size() < memory.size())
      return absl::InternalError(
          str("a worker has sent ", owner.received.size(), " bytes, ", memory.size(), " are received"));
    std::memcpy(memory.data(), owner.received.data(), memory.size());
    owner.received.remove_prefix(memory.size());
    return absl::OkStatus();
  }
  ServerTransport &owner;
  std::unique_ptr<PreparedCollective> fromRank;
  std::span<std::byte> memory;
};

absl::StatusOr<std::unique_ptr<PreparedCollective>> ServerTransport::prepareSend(uint32_t channel, int to,
                                                                                 std::span<const std::byte> memory) {
  DGC_ASSIGN_OR_RETURN(auto prepared, base.prepareSend(channel, to, memory));
  return std::make_unique<SendOp>(*this, std::move(prepared), memory);
}

absl::StatusOr<std::unique_ptr<PreparedCollective>> ServerTransport::prepareReceive(uint32_t channel, int from,
                                                                                    std::span<std::byte> memory) {
  DGC_ASSIGN_OR_RETURN(auto prepared, base.prepareReceive(channel, from, memory));
  return std::make_unique<ReceiveOp>(*this, std::move(prepared), memory);
}

} // namespace dgc::rt
