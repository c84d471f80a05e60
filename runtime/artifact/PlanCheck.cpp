// The load-time proof of the order of communication.
#include "runtime/artifact/PlanCheck.h"

#include "runtime/artifact/Check.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/base/Status.h"

#include <map>
#include <string>
#include <vector>

using namespace dgc::rt;
namespace a = dgc::artifact;

static absl::Status bad(std::string message) {
  return absl::InvalidArgumentError(message);
}

template <typename T> static uint32_t count(const flatbuffers::Vector<T> *v) {
  return v ? v->size() : 0;
}

/// [offset, offset + elements * size) is an aligned range of the shared arena.
static absl::Status checkRange(const a::Plan &plan, std::string_view what,
                               uint64_t offset, uint64_t elements,
                               a::DType dtype) {
  uint64_t bytes;
  if (__builtin_mul_overflow(elements, sizeOf(toDType(dtype)), &bytes) ||
      offset > plan.shared_bytes() || bytes > plan.shared_bytes() - offset)
    return bad(str(what, " lies outside of the shared arena of ",
                   plan.shared_bytes(), " bytes"));
  if (offset % sizeOf(toDType(dtype)))
    return bad(str(what, " is not aligned to its element type"));
  return absl::OkStatus();
}

/// How many times larger src (a) is than dst (b), as fractions of the group.
static bool countsFit(const a::Collective &c, uint64_t members) {
  uint64_t scaled;
  switch (c.kind()) {
  case a::CollectiveKind::AllReduce:
  case a::CollectiveKind::Broadcast:
  case a::CollectiveKind::Permute:
    return c.src_count() == c.dst_count();
  case a::CollectiveKind::AllToAll:
    return c.src_count() == c.dst_count() && c.src_count() % members == 0;
  case a::CollectiveKind::ReduceScatter:
    return !__builtin_mul_overflow(c.dst_count(), members, &scaled) &&
           c.src_count() == scaled;
  case a::CollectiveKind::AllGather:
    return !__builtin_mul_overflow(c.src_count(), members, &scaled) &&
           c.dst_count() == scaled;
  }
  return false;
}

static absl::Status checkCollective(const a::Plan &plan,
                                    const a::Collective &c) {
  if (c.kind() > a::CollectiveKind::MAX || c.reduction() > a::Reduction::MAX ||
      c.dtype() > a::DType::MAX)
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
  DGC_RETURN_IF_ERROR(
      checkRange(plan, "src", c.src(), c.src_count(), c.dtype()));
  DGC_RETURN_IF_ERROR(
      checkRange(plan, "dst", c.dst(), c.dst_count(), c.dtype()));
  if (!countsFit(c, members))
    return bad(str("counts ", c.src_count(), " and ", c.dst_count(),
                   " do not fit a group of ", members));
  if (c.kind() != a::CollectiveKind::Permute)
    return absl::OkStatus();
  if (count(c.permutation()) != members)
    return bad(str("the permutation has ", count(c.permutation()),
                   " entries for ", members, " members"));
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

namespace {
/// Point-to-point traffic of one program. Every worker runs the same steps, so
/// a send to `peer` is one from each rank to it.
class Transfers {
public:
  void send(const a::Send &op, uint64_t bytes) {
    sends[{op.channel(), op.peer()}].push_back(bytes);
  }
  void receive(const a::Receive &op, uint64_t bytes) {
    receives[{op.channel(), op.peer()}].push_back(bytes);
  }
  /// The sends of `from` to `to` meet the receives of `to` from `from`.
  absl::Status check(uint32_t worldSize) const {
    std::map<Key, bool> channels;
    for (const auto &[key, bytes] : sends)
      channels[key];
    for (const auto &[key, bytes] : receives)
      channels[key];
    for (const auto &[key, unused] : channels)
      for (uint32_t rank = 0; rank < worldSize; ++rank) {
        auto [channel, peer] = key;
        if (rank == peer)
          return bad(str("rank ", rank, " exchanges with itself on channel ",
                         channel));
        if (find(sends, {channel, peer}) != find(receives, {channel, rank}))
          return bad(str("on channel ", channel, " the sends of rank ", rank,
                         " to rank ", peer,
                         " do not match the receives there"));
      }
    return absl::OkStatus();
  }

private:
  using Key = std::pair<uint32_t, uint32_t>; // channel, peer
  using Traffic = std::map<Key, std::vector<uint64_t>>;
  static std::vector<uint64_t> find(const Traffic &traffic, Key key) {
    auto it = traffic.find(key);
    return it == traffic.end() ? std::vector<uint64_t>() : it->second;
  }
  Traffic sends, receives;
};
} // namespace

static absl::Status checkProgram(const a::Plan &plan,
                                 const a::Program &program) {
  uint32_t next = 0;
  Transfers transfers;
  auto bytesOf = [&](uint32_t index) {
    const a::Buffer *b = program.buffers()->Get(index);
    return *checkedBytes(b->shape(), b->dtype());
  };
  for (uint32_t i = 0; i < count(program.steps()); ++i) {
    const a::Step &step = *program.steps()->Get(i);
    if (const a::Send *send = step.action_as_Send())
      transfers.send(*send, bytesOf(send->buffer()));
    if (const a::Receive *receive = step.action_as_Receive())
      transfers.receive(*receive, bytesOf(receive->buffer()));
    const a::Collective *collective = step.action_as_Collective();
    if (!collective)
      continue;
    std::string where =
        str("step ", i, ", ", a::EnumNameCollectiveKind(collective->kind()));
    if (collective->id() != next)
      return bad(str(where, ": its id is ", collective->id(), " where ", next,
                     " is next: the order of communication is not total"));
    ++next;
    if (absl::Status s = checkCollective(plan, *collective); !s.ok())
      return annotate(s, where);
  }
  return transfers.check(plan.world_size());
}

absl::Status dgc::rt::checkCommunication(const a::Plan &plan) {
  for (uint32_t i = 0; i < count(plan.programs()); ++i)
    if (absl::Status s = checkProgram(plan, *plan.programs()->Get(i)); !s.ok())
      return annotate(
          s, str("program '", plan.programs()->Get(i)->name()->c_str(), "'"));
  return absl::OkStatus();
}
