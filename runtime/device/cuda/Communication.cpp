#include "runtime/device/cuda/Communication.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/collective/Wait.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace dgc::rt::cuda {

/// Waits for the work on `compute`, and orders `stream` after it.
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
/// nothing else is at work on, and which is as before in the end.
absl::StatusOr<std::vector<std::byte>> Communication::exchange(std::span<const std::byte> mine,
                                                               const RankGroup &group) {
  std::span<std::byte> arena = transport.sharedArena();
  const size_t piece = std::min(mine.size(), arena.size());
  std::vector<std::byte> all(mine.size() * group.size());
  const std::vector<std::byte> before(arena.begin(), arena.begin() + static_cast<std::ptrdiff_t>(piece));
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
  std::copy(before.begin(), before.end(), arena.begin());
  return all;
}

absl::StatusOr<std::unique_ptr<Communication>> Communication::create(const RankGroups &groups, Driver &driver,
                                                                     Driver::Stream compute, Transport &transport,
                                                                     Address mirror, const MakeNccl &makeNccl,
                                                                     const LaunchPreferences &launch) {
  std::unique_ptr<Communication> all(new Communication(driver, compute, transport, mirror));
  DGC_RETURN_IF_ERROR(all->note(all->open(groups, makeNccl, launch)));
  return all;
}

absl::Status Communication::open(const RankGroups &groups, const MakeNccl &makeNccl, LaunchPreferences launch) {
  std::vector<RankGroup> list = groups.all();
  transfers = groups.transfers;
  devices = groups.devices;
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
  DGC_ASSIGN_OR_RETURN(record.preferences, preferencesFromEnvironment());
  launch.asked = record.preferences.collectives;
  record.launch = launch;
  if (absl::StatusOr<NcclFunctions> opened = makeNccl(); opened.ok()) {
    nccl = *opened;
    record.nccl = nccl->number;
  }
  DGC_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, exchange(std::as_bytes(std::span(&record, 1)), groups.devices));
  std::vector<WorkerRecord> records(static_cast<size_t>(transport.worldSize())); // by rank
  for (size_t i = 0; i < groups.devices.size(); ++i)
    std::memcpy(&records[groups.devices[i]], bytes.data() + i * sizeof record, sizeof record);
  for (const RankGroup &group : list) {
    std::vector<WorkerRecord> members;
    for (uint32_t member : group)
      members.push_back(records[member]);
    choices[group] = chooseTransport(members);
  }
  chooseLaunchModeOf(records);
  DGC_RETURN_IF_ERROR(openPeers(groups.devices, list, records));
  return openLinks(list);
}

/// Takes the preferences of the first worker, so that all workers choose the same mode.
void Communication::chooseLaunchModeOf(const std::vector<WorkerRecord> &records) {
  if (std::none_of(choices.begin(), choices.end(),
                   [](const auto &each) { return each.second.transport == TransportKind::Nccl; }))
    return;
  const WorkerRecord &first = records[devices[0]];
  std::set<std::array<char, 40>> hosts;
  for (uint32_t device : devices)
    hosts.insert(records[device].host);
  here_.nccl = first.nccl;
  here_.workers = static_cast<uint32_t>(devices.size());
  here_.hosts = static_cast<uint32_t>(hosts.size());
  launch_ = chooseLaunchMode(first.launch, here_);
}

absl::StatusOr<LaunchTimes> Communication::slowest(const LaunchTimes &mine) {
  absl::StatusOr<std::vector<std::byte>> bytes = exchange(std::as_bytes(std::span(&mine, 1)), devices);
  DGC_RETURN_IF_ERROR(note(bytes.status()));
  LaunchTimes all{1, 1};
  for (size_t i = 0; i < devices.size(); ++i) {
    LaunchTimes each;
    std::memcpy(&each, bytes->data() + i * sizeof each, sizeof each);
    if (!each.areKnown())
      return LaunchTimes();
    all.outside = std::max(all.outside, each.outside);
    all.graph = std::max(all.graph, each.graph);
  }
  return all;
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

/// Opens the memory of peers, and exchanges the results: a group uses this transport when all of its members can.
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
    if (TransportChoice &choice = choices[groups[at % groups.size()]];
        all[at] != std::byte{0} && choice.transport == TransportKind::Peers)
      choice = {TransportKind::Host, str(choice.why, ", and the memory of a GPU cannot be opened by another worker")};
  peers = std::make_unique<Peers>(driver, stream, [this](Driver::Stream each) { return await(each); });
  return absl::OkStatus();
}

/// The communicators of NCCL, all workers in the same order.
absl::Status Communication::openLinks(const std::vector<RankGroup> &groups) {
  for (const RankGroup &group : groups) {
    auto self = std::find(group.begin(), group.end(), rank());
    if (self == group.end() || choices[group].transport != TransportKind::Nccl)
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

//===-- Waiting ---------------------------------------------------------===//

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
