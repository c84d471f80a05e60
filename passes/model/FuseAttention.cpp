// dgc-fuse-attention: attention whose scores are kept nowhere, where the device has such.

#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/Definition.h"
#include "dialects/dist/Dist.h"
#include "passes/model/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "passes/model/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

static bool isOf(Type element, FloatKind kind) {
  switch (kind) {
  case FloatKind::F32:
    return element.isF32();
  case FloatKind::F64:
    return element.isF64();
  case FloatKind::BF16:
    return element.isBF16();
  case FloatKind::F16:
    return element.isF16();
  }
  llvm_unreachable("not a kind of floating-point number");
}

/// Keys or values, a copy of each head for all heads of the query that share it.
static Value repeatHeads(OpBuilder &builder, AttentionOp op, Value x) {
  const int64_t heads = op.getHeads(), own = op.getNumKeyHeads();
  if (heads == own)
    return x;
  CompositeBuilder b(builder, op.getLoc());
  ArrayRef<int64_t> shape = shapeOf(x);
  const int64_t features = shape[2] / own;
  Value split = b.reshape(x, {shape[0], shape[1], own, features});
  Value copies = b.broadcast(split, {shape[0], shape[1], own, heads / own, features}, {0, 1, 2, 4});
  return b.reshape(copies, {shape[0], shape[1], heads * features});
}

namespace {
struct FuseAttentionPass : dgc::impl::FuseAttentionPassBase<FuseAttentionPass> {
  using FuseAttentionPassBase::FuseAttentionPassBase;

  void runOnOperation() override {
    if (elements.empty())
      elements = ArrayRef{FloatKind::BF16, FloatKind::F16};
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) {
      if (!isInDefinition(op) && isTaken(op))
        ops.push_back(op);
    });
    for (AttentionOp op : ops) {
      OpBuilder builder(op);
      auto fused = FusedAttentionOp::create(builder, op.getLoc(), op.getQuery(), repeatHeads(builder, op, op.getKey()),
                                            repeatHeads(builder, op, op.getValue()), op.getHeads(), op.getCausal(),
                                            builder.getF64FloatAttr(op.getFactor()).getValue());
      fused->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      op.getResult().replaceAllUsesWith(fused.getResult());
      op.erase();
      ++numFused;
    }
  }

  /// Typed, of the element types and sizes that the options name, without a mask but that all places see earlier ones, and
  /// not told how it is cut: that says something of one result.
  bool isTaken(AttentionOp op) {
    if (anyUntyped(op->getOperands()) || op->hasAttr(dist::kShardingsAttr) || op.getMask())
      return false;
    if (op.getCausal() && shapeOf(op.getQuery())[1] != shapeOf(op.getKey())[1])
      return false;
    auto fits = [&](Value value, int64_t heads) {
      int64_t features = shapeOf(value)[2] / heads;
      return features > 0 && features % multiple == 0 && features <= most;
    };
    Type element = elementOf(op.getQuery());
    bool isListed = llvm::any_of(elements, [&](FloatKind kind) { return isOf(element, kind); });
    return isListed && fits(op.getQuery(), op.getHeads()) && fits(op.getValue(), op.getNumKeyHeads());
  }
};
} // namespace
