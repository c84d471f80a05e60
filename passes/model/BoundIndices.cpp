//===- BoundIndices.cpp - dgc-bound-indices --------------------------------===//

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/model/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_BOUNDINDICESPASS
#include "passes/model/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

/// The input of the function whose elements these are, in whatever shape or integer type.
static BlockArgument inputOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto isInteger = [](Value v) { return isa<IntegerType>(cast<RankedTensorType>(v.getType()).getElementType()); };
    if (!isa<ReshapeOp, TransposeOp, ConvertOp>(op) || !isInteger(op->getOperand(0)))
      return {};
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value);
}

namespace {
struct BoundIndices : dgc::impl::BoundIndicesPassBase<BoundIndices> {
  void runOnOperation() override {
    Builder builder(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](ChoosingOpInterface op) {
        Value numbers = op.getChoosingNumbers();
        int64_t among = op.getNumChoices();
        BlockArgument input = numbers && among > 0 ? inputOf(numbers) : BlockArgument();
        if (!input || input.getOwner() != &function.getBody().front() ||
            !function.getArgAttr(input.getArgNumber(), kInputAttr))
          return;
        unsigned index = input.getArgNumber();
        auto before = function.getArgAttrOfType<IntegerAttr>(index, kIndexLimitAttr);
        if (!before || among < before.getInt())
          function.setArgAttr(index, kIndexLimitAttr, builder.getI64IntegerAttr(among));
        numBounded += !before;
      });
  }
};
} // namespace
