// dgc-hierarchical-all-reduce: sends little over slow links.

#include "passes/communicate/LinkModel.h"
#include "passes/communicate/Passes.h"
#include "passes/communicate/Payload.h"

#include "dialects/dgc/TensorBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-hierarchical-all-reduce"

namespace dgc {
#define GEN_PASS_DEF_HIERARCHICALALLREDUCEPASS
#include "passes/communicate/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {
/// The axes of an all-reduce in two levels.
struct Levels {
  ArrayAttr slow, fast;
};

struct HierarchicalAllReduce : dgc::impl::HierarchicalAllReducePassBase<HierarchicalAllReduce> {
  using HierarchicalAllReducePassBase::HierarchicalAllReducePassBase;

  void runOnOperation() override {
    SmallVector<std::pair<AllReduceOp, Levels>> found;
    getOperation().walk([&](AllReduceOp op) {
      if (std::optional<Levels> levels = levelsOf(op, links))
        found.push_back({op, *levels});
    });
    for (auto &[op, levels] : found)
      split(op, levels);
    numSplit += found.size();
  }

  /// Slow axes are those with the least bandwidth; nothing where it does not pay to tell them from the others.
  std::optional<Levels> levelsOf(AllReduceOp op, const LinkModel &model) {
    std::optional<Link> slowest = model.slowest(op.getAxes());
    if (!slowest)
      return std::nullopt;
    Builder builder(op.getContext());
    SmallVector<Attribute> slow, fast;
    for (Attribute axis : op.getAxes())
      (model.slowest(builder.getArrayAttr(axis))->bandwidth == slowest->bandwidth ? slow : fast).push_back(axis);
    if (fast.empty())
      return std::nullopt;
    Levels levels{builder.getArrayAttr(slow), builder.getArrayAttr(fast)};
    MeshAttr mesh = lookupMesh(op, op.getMeshAttr());
    int64_t slowMembers = getGroupSize(mesh, levels.slow), fastMembers = getGroupSize(mesh, levels.fast);
    double bytes = payloadOf(op);
    double flat = LinkModel::allReduceTime(*slowest, slowMembers * fastMembers, bytes);
    double hierarchical = 2 * LinkModel::scatterTime(*model.slowest(levels.fast), fastMembers, bytes) +
                          LinkModel::allReduceTime(*model.slowest(levels.slow), slowMembers, bytes / fastMembers);
    if (hierarchical < flat)
      return levels;
    LDBG() << "one level takes " << flat << " s, two take " << hierarchical << ": " << op;
    return std::nullopt;
  }

  /// Concatenates all operands, leaves each device of the fast level its part of their sum, adds these
  /// over the slow level, and gathers.
  static void split(AllReduceOp op, const Levels &levels) {
    OpBuilder builder(op);
    TensorBuilder b(builder, op.getLoc());
    int64_t members = getGroupSize(lookupMesh(op, op.getMeshAttr()), levels.fast);
    SmallVector<Value> flat;
    int64_t elements = 0;
    for (Value input : op.getInputs()) {
      int64_t count = cast<RankedTensorType>(input.getType()).getNumElements();
      flat.push_back(ReshapeOp::create(builder, op.getLoc(), input, ArrayRef<int64_t>(count)));
      elements += count;
    }
    Value all = flat.size() == 1 ? flat[0] : ConcatenateOp::create(builder, op.getLoc(), flat, 0);
    int64_t padded = llvm::alignTo(elements, members);
    all = b.padZero(all, {0}, {padded - elements});
    auto whole = cast<RankedTensorType>(all.getType());
    auto part = RankedTensorType::get({padded / members}, whole.getElementType());
    Value sum = ReduceScatterOp::create(builder, op.getLoc(), part, all, op.getKind(), 0, op.getMesh(), levels.fast,
                                        op.getOriginsAttr())
                    .getResult(0);
    sum = AllReduceOp::create(builder, op.getLoc(), op.getKind(), sum, op.getMesh(), levels.slow, op.getOriginsAttr())
              .getResult(0);
    sum = AllGatherOp::create(builder, op.getLoc(), whole, sum, 0, op.getMesh(), levels.fast, op.getOriginsAttr())
              .getResult(0);
    int64_t begin = 0;
    for (OpResult result : op->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      int64_t end = begin + type.getNumElements();
      result.replaceAllUsesWith(b.reshape(b.slice(sum, {begin}, {end}), type.getShape()));
      begin = end;
    }
    op.erase();
  }
};
} // namespace
