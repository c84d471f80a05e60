// The operations of communication between GPUs: what NCCL queues, and what workers do in the memory of each other.
#include "runtime/base/Status.h"
#include "runtime/device/cuda/Communication.h"

#include <algorithm>
#include <cstring>

namespace dgc::rt::cuda {

/// Work on the stream of communication, after the computation of its inputs. Its users wait for an event. The host only
/// queues.
class QueuedOp final : public PreparedCollective {
public:
  QueuedOp(Communication &owner, NcclLink &link, std::function<absl::Status(NcclLink &)> call, Driver::Event done)
      : owner(owner), link(link), call(std::move(call)), done(done) {}
  absl::Status run() override {
    DGC_RETURN_IF_ERROR(start());
    return finish();
  }
  absl::Status start() override { return owner.note(queue()); }
  absl::Status finish() override {
    if (std::erase(owner.underWay, this) == 0)
      return absl::OkStatus(); // joined before
    return owner.note(owner.driver.wait(owner.compute, done));
  }

private:
  absl::Status queue() {
    DGC_RETURN_IF_ERROR(owner.driver.record(owner.forked, owner.compute));
    DGC_RETURN_IF_ERROR(owner.driver.wait(owner.stream, owner.forked));
    DGC_RETURN_IF_ERROR(call(link));
    DGC_RETURN_IF_ERROR(owner.driver.record(done, owner.stream));
    owner.underWay.push_back(this);
    return absl::OkStatus();
  }

  Communication &owner;
  NcclLink &link;
  std::function<absl::Status(NcclLink &)> call;
  Driver::Event done;
};

/// Work on the memory of peers. The host waits for the computation of the inputs, enters a barrier of the group, waits for
/// the work, and enters the barrier again.
class PeerCollective final : public PreparedCollective {
public:
  PeerCollective(Communication &owner, std::unique_ptr<PreparedCollective> barrier, std::function<absl::Status()> work)
      : owner(owner), barrier(std::move(barrier)), work(std::move(work)) {}
  absl::Status run() override {
    DGC_RETURN_IF_ERROR(start());
    return finish();
  }
  absl::Status start() override {
    DGC_RETURN_IF_ERROR(owner.waitForInputs());
    return owner.note(barrier->start());
  }
  absl::Status finish() override {
    DGC_RETURN_IF_ERROR(owner.note(barrier->finish()));
    DGC_RETURN_IF_ERROR(owner.note(work()));
    DGC_RETURN_IF_ERROR(owner.await(owner.stream));
    return owner.note(barrier->run());
  }

private:
  Communication &owner;
  std::unique_ptr<PreparedCollective> barrier;
  std::function<absl::Status()> work;
};

namespace {
/// The two ends of a transfer: where the data is goes through the host, then the receiver copies it.
class PeerTransfer final : public PreparedCollective {
public:
  explicit PeerTransfer(std::function<absl::Status(PeerTransfer &)> all) : all(std::move(all)) {}
  absl::Status run() override { return all(*this); }

  std::unique_ptr<PreparedCollective> message, barrier;
  uint64_t offset = 0; // of the data in the sender's arena

private:
  std::function<absl::Status(PeerTransfer &)> all;
};
} // namespace

//===-- Preparing -------------------------------------------------------===//

NcclLink *Communication::linkOf(const RankGroup &group) {
  auto link = std::find_if(links.begin(), links.end(), [&](const auto &each) { return each->ranks() == group; });
  return link == links.end() ? nullptr : link->get();
}

absl::StatusOr<DeviceCommunication> Communication::queued(NcclLink &link,
                                                          std::function<absl::Status(NcclLink &)> call) {
  DGC_ASSIGN_OR_RETURN(Driver::Event done, driver.createEvent());
  events.push_back(done);
  DeviceCommunication communication;
  communication.op = std::make_unique<QueuedOp>(*this, link, std::move(call), done);
  communication.isRecorded = true;
  return communication;
}

absl::StatusOr<DeviceCommunication> Communication::prepare(const CollectiveDesc &desc) {
  if (usesPeers(desc.group)) {
    DGC_ASSIGN_OR_RETURN(CheckedCollective checked, checkCollective(desc, transport.rank(), transport.worldSize(),
                                                                    transport.sharedArena().size()));
    std::vector<Address> arenas;
    for (uint32_t member : desc.group)
      arenas.push_back(memories.at(member));
    DGC_ASSIGN_OR_RETURN(std::function<absl::Status()> work, peers->prepare(desc, checked, arenas));
    return DeviceCommunication{
        std::make_unique<PeerCollective>(*this, transport.prepareBarrier(desc.group), std::move(work)), false};
  }
  NcclLink *link = linkOf(desc.group);
  if (!link || !NcclLink::does(desc))
    return DeviceCommunication();
  DGC_ASSIGN_OR_RETURN(CheckedCollective checked,
                       checkCollective(desc, transport.rank(), transport.worldSize(), transport.sharedArena().size()));
  return queued(*link, [this, desc, checked](NcclLink &link) {
    return annotate(link.queue(desc, checked, mirror, driver, stream), checked.title);
  });
}

absl::StatusOr<DeviceCommunication> Communication::prepareSend(uint32_t channel, uint32_t to, Address data,
                                                               uint64_t bytes) {
  if (isAmongDevices(to) && usesPeers(transfers) && bytes >= sizeof(uint64_t)) {
    // The message with the offset of the data uses the bytes of the data in the host's arena.
    std::span<std::byte> message = transport.sharedArena().subspan(data - mirror, sizeof(uint64_t));
    auto transfer = std::make_unique<PeerTransfer>([this, message](PeerTransfer &self) -> absl::Status {
      DGC_RETURN_IF_ERROR(waitForInputs());
      std::memcpy(message.data(), &self.offset, sizeof self.offset);
      DGC_RETURN_IF_ERROR(note(self.message->run()));
      return note(self.barrier->run());
    });
    transfer->offset = data - mirror;
    DGC_ASSIGN_OR_RETURN(transfer->message, transport.prepareSend(channel, static_cast<int>(to), message));
    transfer->barrier = transport.prepareBarrier({rank(), to});
    return DeviceCommunication{std::move(transfer), false};
  }
  NcclLink *link = isAmongDevices(to) ? linkOf(transfers) : nullptr;
  if (!link)
    return DeviceCommunication();
  return queued(*link, [=, this](NcclLink &link) {
    return annotate(link.queueSend(data, bytes, to, stream), str("the send to rank ", to));
  });
}

absl::StatusOr<DeviceCommunication> Communication::prepareReceive(uint32_t channel, uint32_t from, Address data,
                                                                  uint64_t bytes) {
  if (isAmongDevices(from) && usesPeers(transfers) && bytes >= sizeof(uint64_t)) {
    const Address memory = memories.at(from);
    auto transfer = std::make_unique<PeerTransfer>([=, this](PeerTransfer &self) -> absl::Status {
      DGC_RETURN_IF_ERROR(waitForInputs());
      DGC_RETURN_IF_ERROR(note(self.message->run()));
      const uint64_t all = transport.sharedArena().size();
      if (self.offset > all || bytes > all - self.offset)
        return note(absl::InvalidArgumentError(str("rank ", from, " sends what is not in its shared arena")));
      DGC_RETURN_IF_ERROR(note(driver.copy(data, memory + self.offset, bytes, stream)));
      DGC_RETURN_IF_ERROR(await(stream));
      return note(self.barrier->run());
    });
    DGC_ASSIGN_OR_RETURN(transfer->message,
                         transport.prepareReceive(channel, static_cast<int>(from),
                                                  std::as_writable_bytes(std::span(&transfer->offset, 1))));
    transfer->barrier = transport.prepareBarrier({from, rank()});
    return DeviceCommunication{std::move(transfer), false};
  }
  NcclLink *link = isAmongDevices(from) ? linkOf(transfers) : nullptr;
  if (!link)
    return DeviceCommunication();
  return queued(*link, [=, this](NcclLink &link) {
    return annotate(link.queueReceive(data, bytes, from, stream), str("the receive from rank ", from));
  });
}

absl::Status Communication::join() {
  for (QueuedOp *op : std::vector(underWay))
    DGC_RETURN_IF_ERROR(op->finish());
  return absl::OkStatus();
}

} // namespace dgc::rt::cuda
