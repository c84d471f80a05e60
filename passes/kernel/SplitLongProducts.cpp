//===- SplitLongProducts.cpp - dgc-split-long-products ----------------------===//

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/Decompose.h"
#include "dialects/dgc/TensorBuilder.h"
#include "dialects/dist/Hosts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/kernel/ClusterGraph.h"
#include "passes/kernel/Passes.h"
#include "passes/kernel/ProductOperands.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "dgc-split-long-products"

namespace dgc {
#define GEN_PASS_DEF_SPLITLONGPRODUCTS
#include "passes/kernel/Passes.h.inc"
} // namespace dgc

using namespace mlir;

namespace dgc {

/// Chunks that begin at a multiple of so many elements are aligned to 16 bytes, as cuBLASLt's fast kernels need.
static constexpr int64_t kAlignment = 4;

namespace {
/// How the terms of a sum are cut: zeros follow the last term where there are fewer than count * length.
struct Chunks {
  int64_t count, length;
};

/// An operand whose contracted dimension has been cut.
struct CutOperand {
  Value value;
  SmallVector<int64_t> batch; // the chunks are the last one
  int64_t contract;
};
} // namespace

/// The number of chunks of equal length, nearest to `wanted`, that `terms` terms are cut into: up to `most`, of no less
/// than `shortest` terms; else, where memory is short, fewer, but more than half of `wanted`. 0: none.
static int64_t findDivisor(int64_t terms, int64_t wanted, int64_t most, int64_t shortest, bool mayBeFewer) {
  for (int64_t granule : {kAlignment, int64_t(1)}) {
    for (int64_t count = wanted; count <= most && terms / count >= shortest; ++count)
      if (terms % (count * granule) == 0)
        return count;
    for (int64_t count = wanted; mayBeFewer && count > 1 && 2 * count > wanted; --count)
      if (terms % (count * granule) == 0)
        return count;
  }
  return 0;
}

/// The chunks of a product of [rows, terms] and [terms, columns]; none where it is short, or where the results of two
/// chunks are larger than the operands.
static std::optional<Chunks> chunksOf(int64_t rows, int64_t columns, int64_t terms, int64_t maxLength) {
  const int64_t needed = llvm::divideCeil(terms, maxLength);
  // The results of so many chunks have the size of the operands.
  const int64_t most = terms * (rows + columns) / (rows * columns);
  const int64_t wanted = std::min(needed, most);
  if (wanted < 2)
    return std::nullopt;
  if (int64_t count = findDivisor(terms, wanted, most, llvm::divideCeil(maxLength, 4), needed > most))
    return Chunks{count, terms / count};
  int64_t length = llvm::alignTo(llvm::divideCeil(terms, wanted), kAlignment);
  return Chunks{int64_t(llvm::divideCeil(terms, length)), length};
}

/// Reshapes the operand to [.., chunks, terms of a chunk, ..] in place of its contracted dimensions, which are next to
/// each other, and takes its free dimensions together.
static CutOperand cut(TensorBuilder &builder, const Matrix &matrix, Chunks chunks) {
  const int64_t terms = extentOf(matrix.value, matrix.contract), padding = chunks.count * chunks.length - terms;
  SmallVector<int64_t> merged, shape, more, positions(shapeOf(matrix.value).size());
  CutOperand result{matrix.value, {}, 0};
  int64_t chunkDim = 0;
  for (auto [dim, size] : llvm::enumerate(shapeOf(matrix.value))) {
    positions[dim] = shape.size();
    if (int64_t(dim) == matrix.contract.front()) {
      merged.push_back(terms);
      more.push_back(padding);
      chunkDim = shape.size();
      shape.push_back(chunks.count);
      if (matrix.free.empty()) // a vector: one row or column
        shape.push_back(1);
      result.contract = shape.size();
      shape.push_back(chunks.length);
    } else if (!matrix.free.empty() && int64_t(dim) == matrix.free.front()) {
      merged.push_back(extentOf(matrix.value, matrix.free));
      more.push_back(0);
      shape.push_back(merged.back());
    } else if (llvm::is_contained(matrix.batch, dim)) {
      merged.push_back(size);
      more.push_back(0);
      shape.push_back(size);
    }
  }
  for (int64_t dim : matrix.batch)
    result.batch.push_back(positions[dim]);
  result.batch.push_back(chunkDim);
  if (padding)
    result.value = builder.padZero(builder.reshape(result.value, merged), SmallVector<int64_t>(more.size()), more);
  result.value = builder.reshape(result.value, shape);
  return result;
}

/// Replaces the product by the sum of the products of its chunks.
static void split(DotGeneralOp dot, const ProductOperands &operands, Chunks chunks) {
  Operation *before = dot->getPrevNode();
  OpBuilder ops(dot);
  TensorBuilder builder(ops, dot.getLoc());
  CutOperand a = cut(builder, operands.a, chunks), b = cut(builder, operands.b, chunks);
  Value parts = builder.dot(a.value, b.value, a.batch, b.batch, {a.contract}, {b.contract});
  const int64_t chunkDim = operands.a.batch.size();
  SmallVector<int64_t> shape(shapeOf(dot.getResult()));
  shape.insert(shape.begin() + chunkDim, chunks.count);
  Value sum = builder.reduce(ReductionKind::Sum, builder.reshape(parts, shape), {chunkDim});
  sum.setType(dot.getType()); // with the mark of a partial sum
  recordEncodings(sum.getDefiningOp());
  for (Operation &op :
       llvm::make_range(before ? std::next(before->getIterator()) : dot->getBlock()->begin(), dot->getIterator()))
    inheritPlacement(dot, &op);
  dot.replaceAllUsesWith(sum);
  dot.erase();
}

namespace {

struct SplitLongProducts : dgc::impl::SplitLongProductsBase<SplitLongProducts> {
  using SplitLongProductsBase::SplitLongProductsBase;

  void runOnOperation() override {
    if (maxLength < kAlignment) {
      getOperation().emitError("max-length=")
          << maxLength.getValue() << ": at least " << kAlignment << " terms are needed";
      return signalPassFailure();
    }
    if (getOperation()->hasAttr(kTf32Attr)) {
      LDBG() << "products are rounded to TF32";
      return;
    }
    SmallVector<DotGeneralOp> products;
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      if (!isOnHost(getOperation(), func->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr)))
        func.walk([&](DotGeneralOp dot) { products.push_back(dot); });
    for (DotGeneralOp dot : products)
      splitIfLong(dot);
  }

  void splitIfLong(DotGeneralOp dot) {
    const int64_t terms = extentOf(dot.getLhs(), dot.getLhsContract());
    if (!cast<RankedTensorType>(dot.getType()).getElementType().isF32() || terms <= maxLength)
      return;
    std::optional<ProductOperands> operands = operandsOfCall(dot, /*anyOrder=*/false);
    if (!operands)
      return;
    std::optional<Chunks> chunks = chunksOf(extentOf(operands->a.value, operands->a.free),
                                            extentOf(operands->b.value, operands->b.free), terms, maxLength);
    if (!chunks) {
      LDBG() << "the results of two chunks are larger than the operands: " << dot;
      return;
    }
    ++numSplit;
    numPadded += chunks->count * chunks->length != terms;
    split(dot, *operands, *chunks);
  }
};

} // namespace
} // namespace dgc
