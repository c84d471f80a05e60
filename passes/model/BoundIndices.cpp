//===- BoundIndices.cpp - dgc-bound-indices --------------------------------===//

#include "dialects/dgc/DGC.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/model/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace dgc {
#define GEN_PASS_DEF_BOUNDINDICESPASS
#include "passes/model/Passes.h.inc"
} // namespace dgc

using namespace mlir;

namespace {
/// Numbers that choose one of so many.
struct Choice {
  Value numbers;
  int64_t among = 0;
};
} // namespace

static int64_t dimSize(Value value, int64_t dim) { return cast<RankedTensorType>(value.getType()).getDimSize(dim); }

/// What an op chooses by number, if it does.
static Choice choiceOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Choice>(op)
      .Case([](mlir::dgc::EmbeddingOp embedding) -> Choice {
        return {embedding.getNumbers(), dimSize(embedding.getTable(), 0)};
      })
      .Case([](mlir::dgc::GatherOp gather) -> Choice {
        if (gather.getOffset())
          return {};
        return {gather.getIndices(), dimSize(gather.getOperand(), gather.getDimension())};
      })
      .Case([](mlir::dgc::CrossEntropyOp loss) -> Choice {
        auto labels = cast<RankedTensorType>(loss.getLabels().getType());
        auto logits = cast<RankedTensorType>(loss.getLogits().getType());
        if (!isa<IntegerType>(labels.getElementType()))
          return {};
        return {loss.getLabels(), logits.getShape().back()};
      })
      .Default([](Operation *) { return Choice(); });
}

/// The input of the function whose elements these are, in whatever shape or integer type.
static BlockArgument inputOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto isInteger = [](Value v) { return isa<IntegerType>(cast<RankedTensorType>(v.getType()).getElementType()); };
    if (!isa<mlir::dgc::ReshapeOp, mlir::dgc::TransposeOp, mlir::dgc::ConvertOp>(op) || !isInteger(op->getOperand(0)))
      return {};
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value);
}

namespace {
struct BoundIndices : ::dgc::impl::BoundIndicesPassBase<BoundIndices> {
  void runOnOperation() override {
    Builder builder(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](Operation *op) {
        Choice choice = choiceOf(op);
        BlockArgument input = choice.among > 0 ? inputOf(choice.numbers) : BlockArgument();
        if (!input || input.getOwner() != &function.getBody().front() ||
            !function.getArgAttr(input.getArgNumber(), "dgc.input"))
          return;
        unsigned index = input.getArgNumber();
        auto before = function.getArgAttrOfType<IntegerAttr>(index, ::dgc::kIndexLimitAttr);
        if (!before || choice.among < before.getInt())
          function.setArgAttr(index, ::dgc::kIndexLimitAttr, builder.getI64IntegerAttr(choice.among));
        numBounded += !before;
      });
  }
};
} // namespace
