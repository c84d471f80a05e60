#include "runtime/device/cuda/Describe.h"

#include "runtime/artifact/Groups.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/Driver.h"

#include <set>

namespace fb = dgc::artifact;

namespace dgc::rt::cuda {

/// The axes that some collective spans, by name: "data", "data,model".
static std::set<std::string> groupsOf(const fb::Plan &plan, bool &transfers) {
  std::set<std::string> groups;
  for (const fb::Program *program : *plan.programs())
    for (uint32_t i = 0; program->steps() && i < program->steps()->size(); ++i) {
      const fb::Step &step = *program->steps()->Get(i);
      transfers |= step.action_type() == fb::Action::Send;
      const fb::Collective *collective = step.action_as_Collective();
      std::string axes;
      for (uint32_t a = 0; collective && collective->axes() && a < collective->axes()->size(); ++a)
        axes += str(axes.empty() ? "" : ",", plan.mesh()->Get(collective->axes()->Get(a))->name()->str());
      if (!axes.empty())
        groups.insert(axes);
    }
  return groups;
}

std::vector<std::string> describeWorkers(const fb::Plan &plan, int gpus) {
  std::vector<std::string> lines;
  const int workers = static_cast<int>(plan.world_size());
  if (gpus > 0) {
    std::string where;
    for (int rank = 0; rank < workers && rank < 16; ++rank)
      if (isOnGpu(plan, groupOf(plan, static_cast<uint32_t>(rank))))
        where += str(rank ? ", " : "", rank, " on GPU ", gpuOf(rank, gpus));
    if (workers > 16)
      where += str(", .. (worker modulo ", gpus, ")");
    lines.push_back(str("workers: ", where));
  }
  if (workers == 1)
    return lines;
  const std::string how =
      "host-staged: through pinned memory and the transport of the workers, as this dgc has nothing "
      "that goes from GPU to GPU";
  bool transfers = false;
  for (const std::string &axes : groupsOf(plan, transfers))
    lines.push_back(str("communication over ", axes, ": ", how));
  if (transfers)
    lines.push_back(str("send and receive: ", how));
  return lines;
}

} // namespace dgc::rt::cuda
