// dgc-raise-imported: gives an imported program the form that models of dgc have.

#include "compiler/import/Passes.h"
#include "dialects/dgc/TensorBuilder.h"
#include "dialects/dgc/TensorUtil.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace dgc {
#define GEN_PASS_DEF_RAISEIMPORTEDPASS
#include "compiler/import/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

namespace {

/// A product that is only transposed, all dimensions of the left operand behind those of the right one, is the product of
/// the operands the other way round. Gradients of weights are written so.
struct SwapTransposedProduct : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto dot = op.getOperand().getDefiningOp<DotGeneralOp>();
    if (!dot || !dot->hasOneUse())
      return failure();
    const auto batch = static_cast<int64_t>(dot.getLhsBatch().size());
    const auto left = static_cast<int64_t>(dot.getLhsFree().size()), rank = tensorOf(dot).getRank();
    SmallVector<int64_t> swapped = llvm::to_vector(llvm::seq<int64_t>(0, batch));
    llvm::append_range(swapped, llvm::seq<int64_t>(batch + left, rank));
    llvm::append_range(swapped, llvm::seq<int64_t>(batch, batch + left));
    if (op.getPermutation() != ArrayRef<int64_t>(swapped))
      return failure();
    TensorBuilder b(rewriter, dot.getLoc());
    rewriter.replaceOp(op, b.dot(dot.getRhs(), dot.getLhs(), dot.getRhsBatch(), dot.getLhsBatch(), dot.getRhsContract(),
                                 dot.getLhsContract()));
    rewriter.eraseOp(dot);
    return success();
  }
};

/// Dimensions of one element need not be reduced.
struct DropReducedUnits : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    SmallVector<int64_t> shape, reduced;
    for (auto [dim, size] : llvm::enumerate(shapeOf(op.getOperand()))) {
      const bool isReduced = llvm::is_contained(op.getDims(), static_cast<int64_t>(dim));
      if (isReduced && size == 1)
        continue;
      if (isReduced)
        reduced.push_back(static_cast<int64_t>(shape.size()));
      shape.push_back(size);
    }
    if (reduced.size() == op.getDims().size())
      return failure();
    TensorBuilder b(rewriter, op.getLoc());
    rewriter.replaceOp(op, b.reduce(op.getKind(), b.reshape(op.getOperand(), shape), reduced));
    return success();
  }
};

struct RaiseImportedPass : dgc::impl::RaiseImportedPassBase<RaiseImportedPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    set.add<SwapTransposedProduct, DropReducedUnits>(context);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    // A change erases the op that it replaces: the ops that are there after it count.
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<TransposeOp, ReduceOp>(op))
        ops.push_back(op);
    });
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps).enableFolding(false);
    if (failed(applyOpPatternsGreedily(ops, patterns, config)))
      signalPassFailure();
  }

private:
  FrozenRewritePatternSet patterns;
};

} // namespace
