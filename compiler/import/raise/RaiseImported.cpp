// dgc-raise-imported: gives an imported program the form that models of dgc have.

#include "compiler/import/Passes.h"
#include "compiler/import/raise/Expression.h"
#include "dialects/dgc/TensorUtil.h"
#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace dgc {
#define GEN_PASS_DEF_RAISEIMPORTEDPASS
#include "compiler/import/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
namespace raise = dgc::import::raise;

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

/// The forms, innermost first: attention and losses are recognized by the softmax that they have.
constexpr raise::Raise kForms[] = {raise::raiseSoftmaxGradient,
                                   raise::raiseCrossEntropyGradient,
                                   raise::raiseSoftmax,
                                   raise::raiseLogSoftmax,
                                   raise::raiseCrossEntropy,
                                   raise::raiseSilu,
                                   raise::raiseGelu,
                                   raise::raiseNormalization,
                                   raise::raiseEmbedding,
                                   raise::raiseAttention};

struct RaiseImportedPass : dgc::impl::RaiseImportedPassBase<RaiseImportedPass> {
  using RaiseImportedPassBase::RaiseImportedPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    set.add<SwapTransposedProduct, DropReducedUnits>(context);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    if (failed(simplifyProducts()))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
      eliminateCommonSubExpressions(rewriter, dominance, function);
      bool isRaised = false;
      for (raise::Raise form : kForms)
        isRaised |= raiseAll(function, form);
      if (!isRaised)
        continue;
      mergeMoves(function);
      eliminateCommonSubExpressions(rewriter, dominance, function);
    }
  }

private:
  FrozenRewritePatternSet patterns;

  /// Replaces what has the form, from the end on: of what contains another of its kind the whole is seen first. What is manual
  /// is as the program says.
  bool raiseAll(func::FuncOp function, raise::Raise form) {
    SmallVector<Operation *> ops;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<dist::ManualOp>(op))
        return WalkResult::skip();
      if (op->getNumResults() == 1 && op->getNumRegions() == 0)
        ops.push_back(op);
      return WalkResult::advance();
    });
    OpBuilder builder(&getContext());
    bool isChanged = false;
    for (Operation *op : llvm::reverse(ops)) {
      if (op->use_empty() || !form(op, builder))
        continue;
      isChanged = true;
      ++numRaised;
    }
    if (isChanged)
      eraseUnused(function);
    return isChanged;
  }

  /// Composites have their own order of dimensions. What moves them there and back is one reshape, or one transpose.
  static void mergeMoves(func::FuncOp function) {
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) {
      if (isa<TransposeOp, ReshapeOp>(op))
        ops.push_back(op);
    });
    OpBuilder builder(function.getContext());
    for (Operation *op : llvm::reverse(ops))
      raise::mergeMoves(op, builder);
    eraseUnused(function);
  }

  static void eraseUnused(func::FuncOp function) {
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : llvm::reverse(ops))
      if (isOpTriviallyDead(op))
        op->erase();
  }

  LogicalResult simplifyProducts() {
    // A change erases the op that it replaces: the ops that are there after it count.
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<TransposeOp, ReduceOp>(op))
        ops.push_back(op);
    });
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps).enableFolding(false);
    return applyOpPatternsGreedily(ops, patterns, config);
  }
};

} // namespace
