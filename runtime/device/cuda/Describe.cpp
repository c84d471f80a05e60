#include "runtime/device/cuda/Describe.h"

#include "runtime/artifact/Groups.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/device/cuda/TransportSelection.h"

#include <algorithm>

namespace fb = dgc::artifact;

namespace dgc::rt::cuda {

std::vector<std::string> describeWorkers(const fb::Plan &plan, int gpus, int nccl, LaunchPreferences launch,
                                         std::string warning) {
  std::vector<std::string> lines;
  const int workers = static_cast<int>(plan.world_size());
  if (gpus > 0) {
    std::string where;
    for (int rank = 0; rank < workers && rank < 16; ++rank)
      if (!isOnHost(plan, groupOf(plan, static_cast<uint32_t>(rank))))
        where += str(rank ? ", " : "", rank, " on GPU ", gpuOf(rank, gpus));
    if (workers > 16)
      where += str(", .. (worker modulo ", gpus, ")");
    lines.push_back(str("workers: ", where));
  }
  if (workers == 1)
    return lines;
  // As if all were on this machine, and the driver let them open each other's memory.
  absl::StatusOr<CommunicationPreferences> preferences = preferencesFromEnvironment();
  if (!preferences.ok()) {
    lines.push_back(std::string(preferences.status().message()));
    return lines;
  }
  bool usesNccl = false;
  auto describe = [&](const std::vector<RankGroup> &groups) {
    std::vector<std::string> all;
    for (const RankGroup &group : groups) {
      std::vector<WorkerRecord> members(group.size());
      for (size_t i = 0; i < group.size(); ++i) {
        members[i].gpu[0] = static_cast<char>(gpuOf(static_cast<int>(group[i]), std::max(gpus, 1)));
        members[i].isShared = 1;
        members[i].nccl = nccl;
        members[i].preferences = *preferences;
      }
      TransportChoice choice = chooseTransport(members);
      usesNccl |= choice.transport == TransportKind::Nccl;
      std::string text = str(nameOf(choice.transport), ", as ", choice.why);
      if (all.empty() || all.back() != text)
        all.push_back(text);
    }
    std::string text;
    for (const std::string &each : all)
      text += str(text.empty() ? "" : "; or ", each);
    return text;
  };
  RankGroups groups = groupsOf(plan);
  for (const auto &[axes, list] : groups.collectives)
    lines.push_back(str("communication over ", axes, ": ", describe(list)));
  if (!groups.transfers.empty())
    lines.push_back(str("send and receive: ", describe({groups.transfers})));
  if (!usesNccl)
    return lines;
  launch.asked = preferences->collectives;
  LaunchChoice choice = chooseLaunchMode(launch, {{}, static_cast<uint32_t>(groups.devices.size()), 1, nccl});
  lines.push_back(
      str("collectives: ", choice.mode == LaunchMode::Graph ? "in the graph" : "outside", ", as ", choice.why));
  if (!choice.warning.empty())
    warning = choice.warning;
  if (!warning.empty() && !launch.asked)
    lines.back() += str("; what was measured before is ignored: ", warning);
  return lines;
}

} // namespace dgc::rt::cuda
