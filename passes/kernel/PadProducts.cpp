//===- PadProducts.cpp - dgc-pad-products ----------------------------------===//

#include "dialects/dgc/DGC.h"
#include "dialects/dgc/TensorBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/kernel/ClusterGraph.h"
#include "passes/kernel/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace dgc {
#define GEN_PASS_DEF_PADPRODUCTS
#include "passes/kernel/Passes.h.inc"
} // namespace dgc

using namespace mlir;

namespace dgc {

/// The dimension of `value` that is the last one in memory, where a transpose that a product absorbs precedes it.
static int64_t lastInMemory(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose)
    return cast<RankedTensorType>(value.getType()).getRank() - 1;
  int64_t below = lastInMemory(transpose.getOperand());
  return llvm::find(transpose.getPermutation(), below) - transpose.getPermutation().begin();
}

/// `value` with so many zeros appended to each dimension; before its transposes, which stay where they are.
static Value padded(TensorBuilder &builder, Value value, ArrayRef<int64_t> more) {
  if (llvm::all_of(more, [](int64_t n) { return n == 0; }))
    return value;
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> below(more.size());
    for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
      below[from] = more[dim];
    return builder.transpose(padded(builder, transpose.getOperand(), below), transpose.getPermutation());
  }
  return builder.padZero(value, SmallVector<int64_t>(more.size()), more);
}

namespace {

struct PadProducts : dgc::impl::PadProductsBase<PadProducts> {
  using PadProductsBase::PadProductsBase;

  void runOnOperation() override {
    if (multiple < 1) {
      getOperation().emitError("multiple=") << multiple.getValue() << ": a positive number is needed";
      return signalPassFailure();
    }
    SizeDecisions decide(getOperation(), getArgument());
    SmallVector<DotGeneralOp> products;
    getOperation().walk([&](DotGeneralOp dot) { products.push_back(dot); });
    for (DotGeneralOp dot : products)
      if (isWorthIt(dot, decide))
        pad(dot);
  }

  bool isWorthIt(DotGeneralOp dot, SizeDecisions &decide) {
    auto type = cast<RankedTensorType>(dot.getType());
    if (!type.getElementType().isF16() && !type.getElementType().isBF16())
      return false;
    double operations = 2.0 * static_cast<double>(type.getNumElements());
    for (int64_t dim : dot.getLhsContract())
      operations *= static_cast<double>(shapeOf(dot.getLhs())[dim]);
    return !type.getEncoding() && decide(operations >= static_cast<double>(minOperations));
  }

  void pad(DotGeneralOp dot) {
    // What each dimension needs so that the last one in memory of each of the three values is a multiple.
    SmallVector<int64_t> left(shapeOf(dot.getLhs()).size()), right(shapeOf(dot.getRhs()).size());
    auto missing = [&](Value value, int64_t dim) {
      int64_t size = shapeOf(value)[dim];
      return static_cast<int64_t>(llvm::alignTo(size, static_cast<uint64_t>(multiple))) - size;
    };
    auto want = [&](Value value, ArrayRef<int64_t> batch, int64_t dim, SmallVector<int64_t> &more) {
      if (!llvm::is_contained(batch, dim))
        more[dim] = missing(value, dim);
    };
    want(dot.getLhs(), dot.getLhsBatch(), lastInMemory(dot.getLhs()), left);
    want(dot.getRhs(), dot.getRhsBatch(), lastInMemory(dot.getRhs()), right);
    if (SmallVector<int64_t> free = dot.getRhsFree(); !free.empty())
      want(dot.getRhs(), {}, free.back(), right);
    for (auto [l, r] : llvm::zip_equal(dot.getLhsContract(), dot.getRhsContract()))
      left[l] = right[r] = std::max(left[l], right[r]);
    auto isZero = [](int64_t n) { return n == 0; };
    if (llvm::all_of(left, isZero) && llvm::all_of(right, isZero))
      return;

    IRRewriter rewriter(dot);
    TensorBuilder builder(rewriter, dot.getLoc());
    Value wide = builder.dot(padded(builder, dot.getLhs(), left), padded(builder, dot.getRhs(), right),
                             dot.getLhsBatch(), dot.getRhsBatch(), dot.getLhsContract(), dot.getRhsContract());
    ArrayRef<int64_t> shape = shapeOf(dot.getResult());
    rewriter.replaceOp(dot, builder.slice(wide, SmallVector<int64_t>(shape.size()), shape));
    ++numPadded;
  }
};

} // namespace
} // namespace dgc
