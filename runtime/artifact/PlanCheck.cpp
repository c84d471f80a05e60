// The load-time proof of the order of communication.
#include "runtime/artifact/PlanCheck.h"

#include "runtime/artifact/Actions.h"
#include "runtime/artifact/Check.h"
#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/PlanCommunication.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

using namespace dgc::rt;
namespace a = dgc::artifact;

static absl::Status bad(const std::string &message) { return absl::InvalidArgumentError(message); }

template <typename T> static uint32_t count(const flatbuffers::Vector<T> *v) { return v ? v->size() : 0; }

/// Collectives are numbered in the order of the steps, and all members of their groups exist.
static absl::Status checkSteps(const a::Plan &plan, const a::Program &program) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < count(program.steps()); ++i) {
    const a::Collective *collective = program.steps()->Get(i)->action_as_Collective();
    if (!collective)
      continue;
    std::string where = str("step ", i, ", ", a::EnumNameCollectiveKind(collective->kind()));
    if (collective->id() != next)
      return bad(str(where, ": its id is ", collective->id(), " where ", next,
                     " is next: the order of communication is not total"));
    ++next;
    // Where some groups have one worker, only the others can have collectives, each among its own.
    const int32_t groups = static_cast<int32_t>(count(plan.groups()));
    if (groups && !isFull(plan, groups - 1) &&
        (!isFull(plan, program.group()) || std::count(collective->axes()->begin(), collective->axes()->end(), 0)))
      return bad(str(where, ": not all of its members exist"));
  }
  return absl::OkStatus();
}

/// Whether all workers do the same collectives in the same order, and nothing else that waits. Then they come to an
/// end however many there are: at each operation everybody meets whom it waits for.
static bool isAlike(std::span<const a::Program *const> programs) {
  for (const a::Program *program : programs)
    if (program != programs[0])
      return false;
  for (uint32_t i = 0; !programs.empty() && i < count(programs[0]->steps()); ++i) {
    if (infoOf(programs[0]->steps()->Get(i)->action_type()).kind == ActionKind::Transfer)
      return false;
  }
  return true;
}

absl::Status dgc::rt::checkTogether(const a::Plan &plan, std::span<const a::Program *const> programs) {
  if (programs.size() != plan.world_size())
    return bad(str("there are programs for ", programs.size(), " of ", plan.world_size(), " workers"));
  absl::StatusOr<CommunicationPlan> communication = writeDownCommunication(plan, programs);
  if (!communication.ok())
    return isAlike(programs) ? absl::OkStatus() : communication.status();
  if (std::optional<std::string> error = findCommunicationError(*communication))
    return bad("its communication does not come to an end: " + *error);
  return absl::OkStatus();
}

absl::Status dgc::rt::checkCommunication(const a::Plan &plan) {
  for (uint32_t i = 0; i < count(plan.programs()); ++i) {
    const a::Program &program = *plan.programs()->Get(i);
    if (absl::Status s = checkSteps(plan, program); !s.ok())
      return annotate(s, str("program '", program.name()->c_str(), "'"));
  }
  for (uint32_t i = 0; i < count(plan.programs()); ++i) {
    const a::Program &program = *plan.programs()->Get(i);
    if (program.group() > 0) // looked at with that of the first group
      continue;
    std::vector<const a::Program *> programs;
    for (uint32_t rank = 0; rank < plan.world_size(); ++rank)
      programs.push_back(programOf(plan, program.name()->string_view(), rank));
    if (absl::Status s = checkTogether(plan, programs); !s.ok())
      return annotate(s, str("program '", program.name()->c_str(), "'"));
  }
  return absl::OkStatus();
}
