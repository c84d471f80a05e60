#include "runtime/device/cuda/Communication.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/collective/Wait.h"

#include <algorithm>
#include <cstring>

namespace dgc::rt::cuda {

/// Work on the stream of communication, behind what computes its inputs; what needs it waits for an event behind it.
/// The host only queues.
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

/// Work on the memory of others. The host waits for what computes the inputs, meets the other members, waits for the
/// work and meets them again.
class MeetingOp final : public PreparedCollective {
public:
  MeetingOp(Communication &owner, std::unique_ptr<PreparedCollective> meeting, std::function<absl::Status()> work)
      : owner(owner), meeting(std::move(meeting)), work(std::move(work)) {}
  absl::Status run() override {
    DGC_RETURN_IF_ERROR(start());
    return finish();
  }
  absl::Status start() override {
    DGC_RETURN_IF_ERROR(owner.waitForInputs());
    return owner.note(meeting->start());
  }
  absl::Status finish() override {
    DGC_RETURN_IF_ERROR(owner.note(meeting->finish()));
    DGC_RETURN_IF_ERROR(owner.note(work()));
    DGC_RETURN_IF_ERROR(owner.await(owner.stream));
    return owner.note(meeting->run());
  }

private:
  Communication &owner;
  std::unique_ptr<PreparedCollective> meeting;
  std::function<absl::Status()> work;
};

namespace {
/// The two ends of a transfer: where the data is goes through the host, then the receiver copies it.
class PeerTransfer final : public PreparedCollective {
public:
  explicit PeerTransfer(std::function<absl::Status(PeerTransfer &)> all) : all(std::move(all)) {}
  absl::Status run() override { return all(*this); }

  std::unique_ptr<PreparedCollective> message, meeting;
  uint64_t offset = 0; // of the data in the sender's arena

private:
  std::function<absl::Status(PeerTransfer &)> all;
};
} // namespace

/// All that was computed before is done then, and `stream` is behind it.
absl::Status Communication::waitForInputs() {
  DGC_RETURN_IF_ERROR(note(driver.record(forked, compute)));
  DGC_RETURN_IF_ERROR(note(driver.wait(stream, forked)));
  return await(stream);
}

/// Remembers that something went wrong.
absl::Status Communication::note(absl::Status status) {
  failed |= !status.ok();
  return status;
}

//===-- Beginning -------------------------------------------------------===//

/// What each rank of a group gives, in member order: the host's transport broadcasts pieces in the shared arena, which
/// nothing else uses yet.
absl::StatusOr<std::vector<std::byte>> Communication::exchange(std::span<const std::byte> mine,
                                                               const RankGroup &group) {
  std::span<std::byte> arena = transport.sharedArena();
  const size_t piece = std::min(mine.size(), arena.size());
  std::vector<std::byte> all(mine.size() * group.size());
  for (uint32_t member = 0; member < group.size(); ++member)
    for (size_t done = 0; done < mine.size(); done += piece) {
      const size_t bytes = std::min(piece, mine.size() - done);
      CollectiveDesc desc;
      desc.origin = "how GPUs communicate";
      desc.kind = CollectiveKind::Broadcast;
      desc.dtype = DType::U8;
      desc.group = group;
      desc.root = member;
      desc.srcCount = desc.dstCount = bytes;
      DGC_ASSIGN_OR_RETURN(std::unique_ptr<PreparedCollective> broadcast, transport.prepare(desc));
      if (group[member] == rank())
        std::memcpy(arena.data(), mine.data() + done, bytes);
      DGC_RETURN_IF_ERROR(broadcast->run());
      std::memcpy(all.data() + member * mine.size() + done, arena.data(), bytes);
    }
  std::memset(arena.data(), 0, piece); // as it was
  return all;
}

absl::StatusOr<std::unique_ptr<Communication>> Communication::create(const RankGroups &groups, Driver &driver,
                                                                     Driver::Stream compute, Transport &transport,
                                                                     Address mirror, const MakeNccl &makeNccl) {
  std::unique_ptr<Communication> all(new Communication(driver, compute, transport, mirror));
  DGC_RETURN_IF_ERROR(all->note(all->open(groups, makeNccl)));
  return all;
}

absl::Status Communication::open(const RankGroups &groups, const MakeNccl &makeNccl) {
  std::vector<RankGroup> list = groups.all();
  transfers = groups.transfers;
  if (list.empty() || transport.sharedArena().empty())
    return absl::OkStatus();
  DGC_ASSIGN_OR_RETURN(stream, driver.createStream());
  DGC_ASSIGN_OR_RETURN(forked, driver.createEvent());
  events.push_back(forked);
  WorkerRecord record = recordOf(driver);
  record.mirror = mirror;
  if (absl::StatusOr<SharedMemoryHandle> shared = driver.share(mirror); shared.ok()) {
    record.memory = *shared;
    record.isShared = 1;
  } else if (!absl::IsUnimplemented(shared.status())) {
    return shared.status();
  }
  DGC_ASSIGN_OR_RETURN(record.wishes, wishesOfUser());
  if (absl::StatusOr<NcclFunctions> opened = makeNccl(); opened.ok()) {
    nccl = *opened;
    record.nccl = nccl->number;
  }
  DGC_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, exchange(std::as_bytes(std::span(&record, 1)), groups.devices));
  std::vector<WorkerRecord> records(static_cast<size_t>(transport.worldSize())); // by rank
  for (size_t i = 0; i < groups.devices.size(); ++i)
    std::memcpy(&records[groups.devices[i]], bytes.data() + i * sizeof record, sizeof record);
  inGraphs = records[groups.devices[0]].wishes.inGraphs; // all alike
  for (const RankGroup &group : list) {
    std::vector<WorkerRecord> members;
    for (uint32_t member : group)
      members.push_back(records[member]);
    choices[group] = chooseWay(members);
  }
  DGC_RETURN_IF_ERROR(openPeers(groups.devices, list, records));
  return openLinks(list);
}

/// Opens the memory of those of a group that it is not open of. False: that cannot be.
absl::StatusOr<bool> Communication::openMemory(const RankGroup &group, const std::vector<WorkerRecord> &records) {
  memories[rank()] = mirror;
  for (uint32_t member : group) {
    if (memories.contains(member))
      continue;
    const WorkerRecord &record = records[member];
    const bool inThisProcess = record.process == records[rank()].process;
    DGC_ASSIGN_OR_RETURN(bool reached, driver.reaches(record.gpu, inThisProcess));
    if (!reached)
      return false;
    if (inThisProcess) {
      memories[member] = record.mirror;
      continue;
    }
    absl::StatusOr<Address> memory = driver.openShared(record.memory);
    if (absl::IsUnimplemented(memory.status()))
      return false;
    DGC_RETURN_IF_ERROR(memory.status());
    opened.push_back(*memory);
    memories[member] = *memory;
  }
  return true;
}

/// Tries what was proposed, and tells the others: a group has this way when all of its members can.
absl::Status Communication::openPeers(const RankGroup &devices, const std::vector<RankGroup> &groups,
                                      const std::vector<WorkerRecord> &records) {
  if (std::none_of(groups.begin(), groups.end(), [&](const RankGroup &group) { return usesPeers(group); }))
    return absl::OkStatus();
  std::vector<std::byte> refused(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    const RankGroup &group = groups[i];
    if (!usesPeers(group) || std::find(group.begin(), group.end(), rank()) == group.end())
      continue;
    DGC_ASSIGN_OR_RETURN(bool reached, openMemory(group, records));
    refused[i] = std::byte(!reached || !peerReducePtx());
  }
  DGC_ASSIGN_OR_RETURN(std::vector<std::byte> all, exchange(refused, devices));
  for (size_t at = 0; at < all.size(); ++at)
    if (Choice &choice = choices[groups[at % groups.size()]]; all[at] != std::byte{0} && choice.way == Way::Peers)
      choice = {Way::Host, str(choice.why, ", and the memory of a GPU cannot be opened by another worker")};
  peers = std::make_unique<Peers>(driver, stream, [this](Driver::Stream each) { return await(each); });
  return absl::OkStatus();
}

/// The communicators of NCCL, all workers in the same order.
absl::Status Communication::openLinks(const std::vector<RankGroup> &groups) {
  for (const RankGroup &group : groups) {
    auto self = std::find(group.begin(), group.end(), rank());
    if (self == group.end() || choices[group].way != Way::Nccl)
      continue;
    NcclUniqueId id{};
    if (self == group.begin())
      if (NcclResult error = nccl->uniqueId(&id))
        return withExitCode(absl::InternalError(str("ncclGetUniqueId: ", nccl->errorText(error))), ExitCode::Machine);
    DGC_ASSIGN_OR_RETURN(std::vector<std::byte> ids, exchange(std::as_bytes(std::span(&id, 1)), group));
    std::memcpy(&id, ids.data(), sizeof id);
    auto link = NcclLink::create(nccl, group, static_cast<int>(self - group.begin()), id, transport.interruption(),
                                 transport.timeoutSeconds());
    if (!link.ok())
      return annotate(link.status(),
                      "NCCL between the GPUs of workers cannot be used (DGC_CUDA_COMMUNICATION=host does without)");
    links.push_back(*std::move(link));
  }
  return absl::OkStatus();
}

//===-- The end ---------------------------------------------------------===//

Communication::~Communication() {
  if (!close())
    return;
  if (stream)
    (void)driver.synchronize(stream);
  peers.reset();
  for (Address memory : opened)
    driver.closeShared(memory);
  for (Driver::Event event : events)
    driver.destroyEvent(event);
  if (stream)
    driver.destroyStream(stream);
}

bool Communication::close() {
  if (links.empty())
    return true;
  auto isIdle = [&](Driver::Stream each) {
    absl::StatusOr<bool> done = driver.isDone(each);
    return done.ok() && *done;
  };
  bool ended = false;
  if (!failed && !transport.interruption().raised() && isIdle(compute) && isIdle(stream))
    ended = NcclLink::close(links).ok();
  ended = NcclLink::abort(links) || ended; // of what close() has left
  links.clear();
  return ended;
}

//===-- Operations ------------------------------------------------------===//

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
  communication.isRecorded = inGraphs;
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
        std::make_unique<MeetingOp>(*this, transport.prepareMeeting(desc.group), std::move(work)), false};
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
    // The message that says where the data is lies where a copy of the data in the host's arena would.
    std::span<std::byte> message = transport.sharedArena().subspan(data - mirror, sizeof(uint64_t));
    auto transfer = std::make_unique<PeerTransfer>([this, message](PeerTransfer &self) -> absl::Status {
      DGC_RETURN_IF_ERROR(waitForInputs());
      std::memcpy(message.data(), &self.offset, sizeof self.offset);
      DGC_RETURN_IF_ERROR(note(self.message->run()));
      return note(self.meeting->run());
    });
    transfer->offset = data - mirror;
    DGC_ASSIGN_OR_RETURN(transfer->message, transport.prepareSend(channel, static_cast<int>(to), message));
    transfer->meeting = transport.prepareMeeting({rank(), to});
    return DeviceCommunication{std::move(transfer), false};
  }
  NcclLink *link = isAmongDevices(to) ? linkOf(transfers) : nullptr;
  if (!link)
    return DeviceCommunication();
  return queued(*link, [=, this](NcclLink &link) { return link.queueSend(data, bytes, to, stream); });
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
      return note(self.meeting->run());
    });
    DGC_ASSIGN_OR_RETURN(transfer->message,
                         transport.prepareReceive(channel, static_cast<int>(from),
                                                  std::as_writable_bytes(std::span(&transfer->offset, 1))));
    transfer->meeting = transport.prepareMeeting({from, rank()});
    return DeviceCommunication{std::move(transfer), false};
  }
  NcclLink *link = isAmongDevices(from) ? linkOf(transfers) : nullptr;
  if (!link)
    return DeviceCommunication();
  return queued(*link, [=, this](NcclLink &link) { return link.queueReceive(data, bytes, from, stream); });
}

absl::Status Communication::join() {
  for (QueuedOp *op : std::vector(underWay))
    DGC_RETURN_IF_ERROR(op->finish());
  return absl::OkStatus();
}

absl::Status Communication::await(Driver::Stream awaited) {
  return links.empty() ? note(driver.synchronize(awaited)) : poll([&] { return driver.isDone(awaited); });
}

absl::Status Communication::awaitEvent(Driver::Event event) {
  return links.empty() ? note(driver.await(event)) : poll([&] { return driver.isReached(event); });
}

absl::Status Communication::poll(const std::function<absl::StatusOr<bool>()> &isDone) {
  absl::Status seen = absl::OkStatus();
  Waiter waiter(transport.interruption(), transport.timeoutSeconds());
  absl::Status waited = waiter.until(
      [&] {
        absl::StatusOr<bool> done = isDone();
        seen = done.status();
        for (size_t i = 0; seen.ok() && !*done && i < links.size(); ++i)
          seen = links[i]->error();
        return !seen.ok() || *done;
      },
      [&] {
        return str("the GPU of rank ", rank(), " has worked for more than ", transport.timeoutSeconds(),
                   " s; it may wait for other workers in NCCL");
      });
  return note(waited.ok() ? seen : waited);
}

} // namespace dgc::rt::cuda
