// dgc-create-reduce-scatters: does not combine what is then cut away.

#include "passes/communicate/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-create-reduce-scatters"

namespace dgc {
#define GEN_PASS_DEF_CREATEREDUCESCATTERSPASS
#include "passes/communicate/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// The axes along which a slice takes the part of this device; null when it does
/// something else.
static ArrayAttr axesOf(dist::SliceOp slice, FlatSymbolRefAttr mesh) {
  auto index = slice.getIndex().getDefiningOp<AxisIndexOp>();
  if (!index || index.getMeshAttr() != mesh ||
      getGroupSize(lookupMesh(slice, mesh), index.getAxesAttr()) != int64_t(slice.getParts()))
    return {};
  return index.getAxesAttr();
}

/// The slices that are all that is used of an all-reduce, if they all are the
/// same part of it along some of its axes.
static SmallVector<dist::SliceOp> slicesOf(AllReduceOp reduce) {
  SmallVector<dist::SliceOp> slices;
  for (Operation *user : reduce->getUsers()) {
    auto slice = dyn_cast<dist::SliceOp>(user);
    ArrayAttr axes = slice ? axesOf(slice, reduce.getMeshAttr()) : ArrayAttr();
    bool same =
        axes && llvm::all_of(axes, [&](Attribute axis) { return llvm::is_contained(reduce.getAxes(), axis); }) &&
        (slices.empty() || (slice.getDim() == slices[0].getDim() && axes == axesOf(slices[0], reduce.getMeshAttr())));
    if (!same) {
      LDBG() << "needed whole, or in several parts: " << reduce;
      return {};
    }
    slices.push_back(slice);
  }
  return slices;
}

/// Replaces an all-reduce that is used by `slices` alone.
static void scatter(AllReduceOp reduce, ArrayRef<dist::SliceOp> slices) {
  OpBuilder builder(reduce);
  dist::SliceOp first = slices[0];
  ArrayAttr axes = axesOf(first, reduce.getMeshAttr());
  auto type = cast<RankedTensorType>(reduce.getInputs()[0].getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[first.getDim()] /= first.getParts();
  auto result = removePartial(RankedTensorType::get(shape, type.getElementType(), type.getEncoding()), axes);
  Value value = ReduceScatterOp::create(builder, reduce.getLoc(), result, reduce.getInputs()[0], reduce.getKind(),
                                        int64_t(first.getDim()), reduce.getMesh(), axes, reduce.getOriginsAttr())
                    .getResult(0);
  SmallVector<Attribute> left;
  for (Attribute axis : reduce.getAxes())
    if (!llvm::is_contained(axes, axis))
      left.push_back(axis);
  if (!left.empty())
    value = AllReduceOp::create(builder, reduce.getLoc(), reduce.getKind(), value, reduce.getMesh(),
                                builder.getArrayAttr(left), reduce.getOriginsAttr())
                .getResult(0);
  for (dist::SliceOp slice : slices) {
    slice.replaceAllUsesWith(value);
    slice.erase();
  }
  reduce.erase();
}

namespace {
struct CreateReduceScatters : dgc::impl::CreateReduceScattersPassBase<CreateReduceScatters> {
  void runOnOperation() override {
    SmallVector<AllReduceOp> found;
    getOperation().walk([&](AllReduceOp op) {
      if (op->getNumResults() == 1)
        found.push_back(op);
    });
    for (AllReduceOp reduce : found)
      if (SmallVector<dist::SliceOp> slices = slicesOf(reduce); !slices.empty()) {
        scatter(reduce, slices);
        ++numCreated;
      }
  }
};
} // namespace
