#include "runtime/executor/CollectiveOf.h"

#include "runtime/artifact/Enums.h"
#include "runtime/artifact/Mesh.h"

using namespace dgc;
using namespace dgc::rt;

CollectiveDesc dgc::rt::describeCollective(const artifact::Plan &plan, const artifact::Collective &c, uint32_t rank) {
  CollectiveDesc desc;
  desc.id = c.id();
  desc.origin = c.origin() ? c.origin()->str() : "";
  desc.kind = toCollectiveKind(c.kind());
  desc.reduction = toReduction(c.reduction());
  desc.dtype = toDType(c.dtype());
  desc.group = meshGroup(plan, c.axes(), rank);
  desc.src = c.src();
  desc.srcCount = c.src_count();
  desc.dst = c.dst();
  desc.dstCount = c.dst_count();
  for (uint32_t i = 0; c.more() && i < c.more()->size(); ++i) {
    const artifact::CollectiveRange &range = *c.more()->Get(i);
    desc.more.push_back({range.src(), range.src_count(), range.dst(), range.dst_count()});
  }
  desc.permutation = toVector(c.permutation());
  return desc;
}
