#include "runtime/verify/Exchange.h"

#include "runtime/base/Status.h"
#include "runtime/collective/Copies.h"
#include "runtime/device/reference/Scalar.h"

#include <algorithm>
#include <cmath>

using namespace dgc;
using namespace dgc::verify;
using rt::str;

namespace {
struct Arithmetic {
  const Functions &functions;
  Counts &counts;
};
} // namespace

/// Whether the f64 values say that a < b; counts where they are too close for that.
static bool isLess(const Number &a, const Number &b, Counts &counts) {
  if (isNearTie(a, b))
    ++counts.nearTies;
  return !a.same(b) && a.f < b.f;
}

/// a and b as a reduction combines them.
static Number combine(rt::Reduction reduction, const Number &a, const Number &b, const Arithmetic &by) {
  const bool isExtremum = reduction == rt::Reduction::Max || reduction == rt::Reduction::Min;
  if (isExtremum && !by.functions.has(Law::Extremum))
    return by.functions.call(reduction == rt::Reduction::Max ? reference::Opcode::Maximum : reference::Opcode::Minimum,
                             a, b);
  switch (reduction) {
  case rt::Reduction::Sum:
    return add(a, b);
  case rt::Reduction::Product:
    return multiply(a, b);
  case rt::Reduction::Max:
    return isLess(a, b, by.counts) ? b : a;
  case rt::Reduction::Min:
    return isLess(b, a, by.counts) ? b : a;
  }
  std::abort();
}

/// The same of integers, whose type has no sign: `isUnsigned` says how they are compared.
static int64_t combine(rt::Reduction reduction, reference::Type type, bool isUnsigned, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  const bool isLess = isUnsigned ? reference::unsignedOf(type, a) < reference::unsignedOf(type, b) : a < b;
  switch (reduction) {
  case rt::Reduction::Sum:
    return reference::wrapped(type, x + y);
  case rt::Reduction::Product:
    return reference::wrapped(type, x * y);
  case rt::Reduction::Max:
    return isLess ? b : a;
  case rt::Reduction::Min:
    return isLess ? a : b;
  }
  std::abort();
}

static bool isUnsigned(rt::DType type) {
  return type == rt::DType::I1 || type == rt::DType::U8 || type == rt::DType::U16 || type == rt::DType::U32 ||
         type == rt::DType::U64;
}

/// The combination of the same range of all members.
static TensorRef reduced(std::span<const Member> members, uint64_t src, uint64_t count, const Arithmetic &by) {
  const rt::CollectiveDesc &desc = members[0].desc;
  const reference::Type type = reference::typeOf(desc.dtype);
  std::shared_ptr<Tensor> sum;
  for (const Member &member : members) {
    TensorRef part = member.arena->readWithGaps(src, type, count, member.writer.run);
    if (!sum) {
      sum = std::make_shared<Tensor>(*part);
      continue;
    }
    sum->degree =
        desc.reduction == rt::Reduction::Product ? sum->degree + part->degree : std::max(sum->degree, part->degree);
    for (size_t i = 0; i < count; ++i)
      if (sum->isFloat())
        sum->set(i, combine(desc.reduction, sum->number(i), part->number(i), by));
      else
        sum->i[i] = combine(desc.reduction, type, isUnsigned(desc.dtype), sum->i[i], part->i[i]);
  }
  return sum;
}

/// What a member gets of one range: parts that follow each other, in what is given and in what is written, as one.
static std::vector<rt::ReducedPart> receivedParts(const rt::CheckedCollective &checked, rt::CollectiveKind kind,
                                                  const rt::CollectiveDesc::Range &range, uint32_t receiver) {
  std::vector<rt::ReducedPart> parts;
  for (uint32_t member = 0; member < checked.members; ++member) {
    const rt::ReducedPart part = rt::reducedPart(kind, checked.elementSize, range, member, checked.members);
    if (!part.isFor(receiver) || part.count() == 0)
      continue;
    if (!parts.empty() && parts.back().elements.end == part.elements.begin &&
        parts.back().dst + parts.back().count() * checked.elementSize == part.dst)
      parts.back().elements.end = part.elements.end;
    else
      parts.push_back(part);
  }
  return parts;
}

static void reduce(std::span<Member> members, const rt::CheckedCollective &checked, const Arithmetic &by) {
  for (const rt::CollectiveDesc::Range &range : checked.ranges) {
    const TensorRef sum = reduced(members, range.src, range.srcCount, by);
    for (uint32_t i = 0; i < members.size(); ++i)
      for (const rt::ReducedPart &part : receivedParts(checked, members[i].desc.kind, range, i))
        members[i].arena->write(part.dst, sum, part.elements.begin, part.count(), members[i].writer);
  }
}

static void copy(std::span<Member> members, std::span<const rt::CheckedCollective> checked) {
  const reference::Type type = reference::typeOf(members[0].desc.dtype);
  const uint64_t size = checked[0].elementSize;
  struct Move {
    TensorRef what;
    uint64_t dst;
    size_t to;
  };
  std::vector<Move> moves; // all are read before any is written
  for (uint32_t to = 0; to < members.size(); ++to)
    for (uint32_t from = 0; from < members.size(); ++from)
      rt::forEachCopy(members[to].desc, checked[to], from, to, [&](const rt::MemberCopy &each) {
        const uint64_t count = each.bytes / size;
        moves.push_back({each.isZero
                             ? std::make_shared<Tensor>(type, count)
                             : members[from].arena->readWithGaps(each.src, type, count, members[from].writer.run),
                         each.dst, to});
      });
  for (const Move &move : moves)
    members[move.to].arena->write(move.dst, move.what, 0, move.what->count, members[move.to].writer);
}

absl::Status dgc::verify::exchange(std::vector<Member> &members, uint32_t worldSize, uint64_t arenaBytes,
                                   const Functions &functions, Counts &counts) {
  const std::vector<uint32_t> &group = members[0].desc.group;
  auto place = [&](const Member &member) { return std::find(group.begin(), group.end(), member.rank); };
  std::sort(members.begin(), members.end(), [&](const Member &a, const Member &b) { return place(a) < place(b); });
  std::vector<rt::CheckedCollective> checked;
  for (const Member &member : members) {
    const rt::CollectiveDesc &first = members[0].desc, &desc = member.desc;
    if (desc.kind != first.kind || desc.dtype != first.dtype || desc.reduction != first.reduction ||
        desc.srcCount != first.srcCount || desc.dstCount != first.dstCount)
      return absl::InvalidArgumentError(
          str("workers ", members[0].rank, " and ", member.rank, " have different collectives at the same place"));
    absl::StatusOr<rt::CheckedCollective> each =
        rt::checkCollective(desc, static_cast<int>(member.rank), static_cast<int>(worldSize), arenaBytes);
    if (!each.ok())
      return each.status();
    checked.push_back(*std::move(each));
  }
  if (rt::collectiveTable[static_cast<size_t>(members[0].desc.kind)].reduces)
    reduce(members, checked[0], {functions, counts});
  else
    copy(members, checked);
  return absl::OkStatus();
}
