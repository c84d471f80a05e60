#include "runtime/device/cuda/TransportSelection.h"

#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/Nccl.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <set>

namespace fb = dgc::artifact;

namespace dgc::rt::cuda {

//===-- What each one tells ---------------------------------------------===//

static absl::StatusOr<uint8_t> parseVariable(const char *variable, const std::vector<std::string> &values) {
  const char *given = std::getenv(variable);
  if (!given || !*given)
    return 0;
  auto found = std::find(values.begin(), values.end(), given);
  if (found != values.end())
    return static_cast<uint8_t>(found - values.begin());
  std::string list;
  for (const std::string &value : values)
    list += str(list.empty() ? "" : ", ", value);
  return withExitCode(absl::InvalidArgumentError(str(variable, " is '", given, "'; it may be one of ", list)),
                      ExitCode::Usage);
}

absl::StatusOr<CommunicationPreferences> preferencesFromEnvironment() {
  CommunicationPreferences preferences;
  DGC_ASSIGN_OR_RETURN(preferences.transport,
                       parseVariable("DGC_CUDA_COMMUNICATION", {"auto", "nccl", "peers", "host"}));
  DGC_ASSIGN_OR_RETURN(preferences.collectives, parseVariable("DGC_CUDA_COLLECTIVES", {"auto", "outside", "graph"}));
  return preferences;
}

uint64_t Driver::process() const {
  static const uint64_t number = [] {
    std::random_device source;
    return uint64_t{source()} << 32 | source();
  }();
  return number;
}

WorkerRecord recordOf(const Driver &driver) {
  WorkerRecord record;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::copy_n(boot.begin(), std::min(boot.size(), record.host.size()), record.host.begin());
  record.process = driver.process();
  record.gpu = driver.gpu().id;
  return record;
}

//===-- The choice ------------------------------------------------------===//

std::string nameOf(TransportKind transport) {
  return transport == TransportKind::Nccl ? "NCCL" : transport == TransportKind::Peers ? "GPU memory" : "host-staged";
}

TransportChoice chooseTransport(std::span<const WorkerRecord> members) {
  const WorkerRecord &first = members.front();
  auto all = [&](auto holds) { return std::all_of(members.begin(), members.end(), holds); };
  auto isAskedFor = [&](uint8_t transport) {
    return !all([&](const WorkerRecord &m) { return m.preferences.transport != transport; });
  };
  if (isAskedFor(3))
    return {TransportKind::Host, "DGC_CUDA_COMMUNICATION says so"};
  std::set<GpuId> gpus;
  for (const WorkerRecord &member : members)
    gpus.insert(member.gpu);
  const bool ownGpus = gpus.size() == members.size();
  std::string why;
  if (!ownGpus)
    why = "workers share a GPU, which NCCL refuses";
  else if (!all([](const WorkerRecord &m) { return m.nccl > 0; }))
    why = "NCCL was not found";
  else if (!all([&](const WorkerRecord &m) { return m.nccl == first.nccl; }))
    why = "the workers have different versions of NCCL";
  else if (isAskedFor(2))
    why = "DGC_CUDA_COMMUNICATION says so";
  else
    return {TransportKind::Nccl,
            str("each worker has a GPU of its own, and there is NCCL ", versionOfNccl(first.nccl))};
  if (isAskedFor(1))
    return {TransportKind::Host, str("DGC_CUDA_COMMUNICATION says nccl, but ", why)};
  if (!all([&](const WorkerRecord &m) { return m.host == first.host; }))
    return {TransportKind::Host, str(why, ", and they are on different hosts")};
  if (!all([&](const WorkerRecord &m) { return m.process == first.process || m.isShared; }))
    return {TransportKind::Host, str(why, ", and the driver shares no memory between processes")};
  return {TransportKind::Peers, why};
}

//===-- Groups ----------------------------------------------------------===//

RankGroups groupsOf(const fb::Plan &plan) {
  RankGroups groups;
  auto isDevice = [&](uint32_t rank) { return !isOnHost(plan, groupOf(plan, rank)); };
  for (uint32_t rank = 0; rank < plan.world_size(); ++rank)
    if (isDevice(rank))
      groups.devices.push_back(rank);
  std::map<std::string, std::set<RankGroup>> found;
  std::set<uint32_t> transfers;
  for (const fb::Program *program : *plan.programs()) {
    std::map<std::string, const flatbuffers::Vector<uint32_t> *> axes;
    std::vector<const fb::Send *> sends;
    for (uint32_t i = 0; program->steps() && i < program->steps()->size(); ++i) {
      const fb::Step &step = *program->steps()->Get(i);
      if (const fb::Send *send = step.action_as_Send())
        sends.push_back(send);
      const fb::Collective *collective = step.action_as_Collective();
      std::string name;
      for (uint32_t a = 0; collective && collective->axes() && a < collective->axes()->size(); ++a)
        name += str(name.empty() ? "" : ",", plan.mesh()->Get(collective->axes()->Get(a))->name()->str());
      if (!name.empty())
        axes[name] = collective->axes();
    }
    for (uint32_t rank : groups.devices) {
      if (!belongs(program->group(), groupOf(plan, rank)))
        continue;
      for (const auto &[name, list] : axes)
        if (RankGroup group = meshGroup(plan, list, rank); group.size() > 1)
          found[name].insert(std::move(group));
      for (const fb::Send *send : sends)
        for (uint32_t to : receiversOf(plan, *send, rank))
          if (isDevice(to))
            transfers.insert({rank, to});
    }
  }
  for (auto &[name, set] : found)
    groups.collectives[name].assign(set.begin(), set.end());
  groups.transfers.assign(transfers.begin(), transfers.end());
  return groups;
}

std::vector<RankGroup> RankGroups::all() const {
  std::set<RankGroup> set;
  for (const auto &[name, groups] : collectives)
    set.insert(groups.begin(), groups.end());
  if (!transfers.empty())
    set.insert(transfers);
  return {set.begin(), set.end()};
}

} // namespace dgc::rt::cuda
