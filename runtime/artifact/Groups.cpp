// Groups of workers that run programs of their own.
#include "runtime/artifact/Groups.h"

#include "runtime/artifact/CommunicationOrder.h"
#include "runtime/artifact/DeviceTraits.h"
#include "runtime/base/Status.h"

#include <map>
#include <numeric>
#include <set>
#include <string>

using namespace dgc::rt;
namespace a = dgc::artifact;

template <typename T> static uint32_t count(const flatbuffers::Vector<T> *v) { return v ? v->size() : 0; }

static absl::Status bad(const std::string &message) { return absl::InvalidArgumentError(message); }

int32_t dgc::rt::groupOf(const a::Plan &plan, uint32_t rank) {
  for (uint32_t i = 0; i < count(plan.groups()); ++i) {
    const a::Group &group = *plan.groups()->Get(i);
    if (rank >= group.first_rank() && rank - group.first_rank() < group.rank_count())
      return static_cast<int32_t>(i);
  }
  return -1;
}

bool dgc::rt::isOnHost(const a::Plan &plan, int32_t group) {
  return group >= 0 && plan.groups()->Get(static_cast<uint32_t>(group))->on_host();
}

const a::Target &dgc::rt::targetOf(const a::Plan &plan, int32_t group) {
  return isOnHost(plan, group) ? *plan.host_target() : *plan.target();
}

const a::Program *dgc::rt::programOf(const a::Plan &plan, std::string_view name, uint32_t rank) {
  int32_t mine = groupOf(plan, rank);
  for (uint32_t i = 0; i < count(plan.programs()); ++i) {
    const a::Program *program = plan.programs()->Get(i);
    if (belongs(program->group(), mine) && program->name()->string_view() == name)
      return program;
  }
  return nullptr;
}

uint64_t dgc::rt::privateBytesOf(const a::Plan &plan, int32_t group) {
  return group < 0 ? plan.private_bytes() : plan.groups()->Get(static_cast<uint32_t>(group))->private_bytes();
}

uint64_t dgc::rt::sharedBytesOf(const a::Plan &plan, int32_t group) {
  return group < 0 ? plan.shared_bytes() : plan.groups()->Get(static_cast<uint32_t>(group))->shared_bytes();
}

std::vector<uint32_t> dgc::rt::receiversOf(const a::Plan &plan, const TransferEnd &send, uint32_t rank) {
  if (send.group < 0)
    return {send.peer};
  const a::Group &mine = *plan.groups()->Get(static_cast<uint32_t>(groupOf(plan, rank)));
  const a::Group &other = *plan.groups()->Get(static_cast<uint32_t>(send.group));
  std::vector<uint32_t> ranks =
      targetsOf(rank - mine.first_rank(), mine.rank_count(), other.rank_count(), send.gathered);
  for (uint32_t &each : ranks)
    each += other.first_rank();
  return ranks;
}

uint32_t dgc::rt::partsOf(const a::Plan &plan, const TransferEnd &end) {
  return end.gathered && end.group >= 0 ? plan.groups()->Get(static_cast<uint32_t>(end.group))->rank_count() : 1;
}

std::vector<uint32_t> dgc::rt::sendersOf(const a::Plan &plan, const TransferEnd &receive, uint32_t rank) {
  if (receive.group < 0)
    return {receive.peer};
  const a::Group &mine = *plan.groups()->Get(static_cast<uint32_t>(groupOf(plan, rank)));
  const a::Group &other = *plan.groups()->Get(static_cast<uint32_t>(receive.group));
  if (!receive.gathered)
    return {other.first_rank() + (rank - mine.first_rank()) % other.rank_count()};
  std::vector<uint32_t> ranks(other.rank_count());
  std::iota(ranks.begin(), ranks.end(), other.first_rank());
  return ranks;
}

bool dgc::rt::isFull(const a::Plan &plan, int32_t group) {
  uint64_t positions = 1;
  for (uint32_t i = 1; i < count(plan.mesh()); ++i)
    positions *= plan.mesh()->Get(i)->size();
  return group < 0 || plan.groups()->Get(static_cast<uint32_t>(group))->rank_count() == positions;
}

absl::Status dgc::rt::checkGroups(const a::Plan &plan) {
  const int32_t groups = static_cast<int32_t>(count(plan.groups()));
  uint64_t next = 0, product = 1;
  for (uint32_t i = 0; i < count(plan.mesh()); ++i)
    product *= plan.mesh()->Get(i)->size(); // checkMesh: it does not overflow
  for (int32_t i = 0; i < groups; ++i) {
    const a::Group &group = *plan.groups()->Get(static_cast<uint32_t>(i));
    if (group.first_rank() != next || group.rank_count() == 0)
      return bad(str("group ", i, " '", group.name()->str(), "' begins at rank ", group.first_rank(), " and has ",
                     group.rank_count(), " ranks; it must begin at ", next, " and have at least one"));
    next += group.rank_count();
    if (!isFull(plan, i) && group.rank_count() != 1)
      return bad(str("group '", group.name()->str(), "' has ", group.rank_count(),
                     " ranks; it must have one, or one at each position of the mesh behind its first axis"));
    if (i > 0 && isFull(plan, i) && !isFull(plan, i - 1))
      return bad(str("group '", group.name()->str(), "' must come before those of one rank"));
    if (group.private_bytes() > plan.private_bytes() || group.shared_bytes() > plan.shared_bytes())
      return bad(str("group '", group.name()->str(), "' needs more memory than the plan says is the most"));
  }
  for (int32_t i = 0; i < groups; ++i)
    if (isOnHost(plan, i) &&
        (!traitsOf(plan, -1).takesHostGroups || !plan.host_target() || !traitsOf(plan, i).runsHostGroups))
      return bad(str("group '", plan.groups()->Get(static_cast<uint32_t>(i))->name()->str(),
                     "' is on the host, and the plan is not one for GPUs with a CPU for such groups"));
  if (groups && next != plan.world_size())
    return bad(str("the groups have ", next, " ranks together, the plan ", plan.world_size()));
  if (groups && (groups > static_cast<int64_t>(count(plan.mesh()) ? plan.mesh()->Get(0)->size() : 1) ||
                 (isFull(plan, groups - 1) && next != product)))
    return bad(str("the ", groups, " groups are not one for each position along the first axis of the mesh"));
  auto belongsToOne = [&](int32_t group) { return groups ? group >= 0 && group < groups : group == -1; };
  for (uint32_t i = 0; i < count(plan.variables()); ++i)
    if (const a::Variable &v = *plan.variables()->Get(i); !belongsToOne(v.group()))
      return bad(str("variable '", v.name()->str(), "': there is no group ", v.group()));
  std::map<std::string, std::set<int32_t>> programs;
  for (uint32_t i = 0; i < count(plan.programs()); ++i) {
    const a::Program &program = *plan.programs()->Get(i);
    if (!belongsToOne(program.group()))
      return bad(str("program '", program.name()->str(), "': there is no group ", program.group()));
    if (!programs[program.name()->str()].insert(program.group()).second)
      return bad(str("program '", program.name()->str(), "': a second program of this name for the same workers"));
  }
  for (const auto &[name, where] : programs)
    if (groups && where.size() != static_cast<size_t>(groups))
      return bad(str("program '", name, "' is there for ", where.size(), " of ", groups, " groups"));
  return absl::OkStatus();
}
