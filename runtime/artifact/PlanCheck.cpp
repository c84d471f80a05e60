// The load-time proof of the order of communication.
#include "runtime/artifact/PlanCheck.h"

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

static absl::Status bad(std::string message) { return absl::InvalidArgumentError(message); }

template <typename T> static uint32_t count(const flatbuffers::Vector<T> *v) { return v ? v->size() : 0; }

/// [offset, offset + elements * size) is an aligned range of the shared arena.
static absl::Status checkRange(const a::Plan &plan, std::string_view what, uint64_t offset, uint64_t elements,
                               a::DType dtype) {
  uint64_t bytes;
  if (__builtin_mul_overflow(elements, sizeOf(toDType(dtype)), &bytes) || offset > plan.shared_bytes() ||
      bytes > plan.shared_bytes() - offset)
    return bad(str(what, " lies outside of the shared arena of ", plan.shared_bytes(), " bytes"));
  if (offset % sizeOf(toDType(dtype)))
    return bad(str(what, " is not aligned to its element type"));
  return absl::OkStatus();
}

/// Whether src and dst are as large as the kind needs in a group of `members`.
template <typename Range> static bool countsFit(a::CollectiveKind kind, const Range &c, uint64_t members) {
  uint64_t scaled;
  switch (kind) {
  case a::CollectiveKind::AllReduce:
  case a::CollectiveKind::Broadcast:
  case a::CollectiveKind::Permute:
    return c.src_count() == c.dst_count();
  case a::CollectiveKind::AllToAll:
    return c.src_count() == c.dst_count() && c.src_count() % members == 0;
  case a::CollectiveKind::ReduceScatter:
    return !__builtin_mul_overflow(c.dst_count(), members, &scaled) && c.src_count() == scaled;
  case a::CollectiveKind::AllGather:
    return !__builtin_mul_overflow(c.src_count(), members, &scaled) && c.dst_count() == scaled;
  }
  return false;
}

static absl::Status checkCollective(const a::Plan &plan, const a::Collective &c) {
  if (c.kind() > a::CollectiveKind::MAX || c.reduction() > a::Reduction::MAX || c.dtype() > a::DType::MAX)
    return bad("unknown kind, reduction or element type");
  if (count(c.axes()) == 0)
    return bad("no mesh axes are named");
  std::vector<bool> used(count(plan.mesh()));
  uint64_t members = 1;
  for (uint32_t axis : *c.axes()) {
    if (axis >= used.size() || used[axis])
      return bad(str("mesh axis ", axis, " does not exist or is named twice"));
    used[axis] = true;
    members *= plan.mesh()->Get(axis)->size();
  }
  auto checkBoth = [&](const auto &range) -> absl::Status {
    DGC_RETURN_IF_ERROR(checkRange(plan, "src", range.src(), range.src_count(), c.dtype()));
    DGC_RETURN_IF_ERROR(checkRange(plan, "dst", range.dst(), range.dst_count(), c.dtype()));
    if (!countsFit(c.kind(), range, members))
      return bad(str("counts ", range.src_count(), " and ", range.dst_count(), " do not fit a group of ", members));
    return absl::OkStatus();
  };
  DGC_RETURN_IF_ERROR(checkBoth(c));
  if (count(c.more()) && c.kind() > a::CollectiveKind::AllGather)
    return bad("only an all-reduce, a reduce-scatter and an all-gather have several ranges");
  for (uint32_t i = 0; i < count(c.more()); ++i)
    DGC_RETURN_IF_ERROR(checkBoth(*c.more()->Get(i)));
  if (c.padding() > std::min(c.src_count(), c.dst_count()))
    return bad(str("padding of ", c.padding(), " elements in ranges of ", c.src_count(), " and ", c.dst_count()));
  if (c.kind() != a::CollectiveKind::Permute)
    return absl::OkStatus();
  if (count(c.permutation()) != members)
    return bad(str("the permutation has ", count(c.permutation()), " entries for ", members, " members"));
  std::vector<bool> target(members);
  for (uint32_t to : *c.permutation()) {
    if (to == UINT32_MAX) // sends to nobody
      continue;
    if (to >= members || target[to])
      return bad(str("member ", to, " does not exist or is sent to twice"));
    target[to] = true;
  }
  return absl::OkStatus();
}

/// What each step says by itself, and that collectives are numbered in the order of the steps.
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
    if (absl::Status s = checkCollective(plan, *collective); !s.ok())
      return annotate(s, where);
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
    a::Action kind = programs[0]->steps()->Get(i)->action_type();
    if (kind == a::Action::Send || kind == a::Action::Receive)
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
