// Collectives: ranges inside of the shared arena, sizes that fit the group.
#include "runtime/artifact/ActionCheck.h"
#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Mesh.h"

#include <algorithm>
#include <vector>

using namespace dgc::rt;
namespace a = dgc::artifact;

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

absl::Status ActionCheck::check(const a::Collective &c) const {
  const a::Plan &plan = context.plan;
  if (c.kind() > a::CollectiveKind::MAX || c.reduction() > a::Reduction::MAX || c.dtype() > a::DType::MAX)
    return bad("unknown kind, reduction or element type");
  const CollectiveKind kind = toCollectiveKind(c.kind());
  if (sizeOf(c.axes()) == 0)
    return bad("no mesh axes are named");
  std::vector<bool> used(sizeOf(plan.mesh()));
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
    if (receivedCount(kind, range.src_count(), members) != range.dst_count())
      return bad(str("counts ", range.src_count(), " and ", range.dst_count(), " do not fit a group of ", members));
    return absl::OkStatus();
  };
  if (sizeOf(c.more()) && !infoOf(kind).severalRanges)
    return bad("only an all-reduce, a reduce-scatter and an all-gather have several ranges");
  absl::Status status;
  forEachRange(c, [&](const auto &range) {
    if (status.ok())
      status = checkBoth(range);
  });
  DGC_RETURN_IF_ERROR(status);
  if (c.padding() > std::min(c.src_count(), c.dst_count()))
    return bad(str("padding of ", c.padding(), " elements in ranges of ", c.src_count(), " and ", c.dst_count()));
  if (c.kind() != a::CollectiveKind::Permute)
    return absl::OkStatus();
  if (sizeOf(c.permutation()) != members)
    return bad(str("the permutation has ", sizeOf(c.permutation()), " entries for ", members, " members"));
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
