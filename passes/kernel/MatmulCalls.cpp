//===- MatmulCalls.cpp - dot_general as a matrix product of the library ---===//

#include "passes/kernel/ClusterGraph.h"
#include "passes/kernel/LibraryCalls.h"
#include "passes/kernel/ProductOperands.h"

using namespace mlir;

namespace dgc {

/// A product of which an operand has its dimensions in another order than [batch, rows, columns], each group of them
/// next to each other. A transpose that is the only user of the result becomes the order in which it is stored.
static Operation *createStrided(DotGeneralOp dot, const ProductOperands &operands) {
  const Matrix &a = operands.a, &b = operands.b;
  Grouped left = *group(shapeOf(a.value), groupsOf(a.batch, a.free, a.contract));
  Grouped right = *group(shapeOf(b.value), groupsOf(b.batch, b.contract, b.free));
  auto type = cast<RankedTensorType>(dot.getType());
  auto iota = [](int64_t begin, size_t size) { return llvm::to_vector(llvm::seq<int64_t>(begin, begin + size)); };
  int64_t batch = a.batch.size(), rows = a.free.size();
  SmallVector<int64_t> batchDims = iota(0, batch), rowDims = iota(batch, rows);
  SmallVector<int64_t> columnDims = iota(batch + rows, b.free.size());
  Grouped given = *group(type.getShape(), groupsOf(batchDims, rowDims, columnDims));
  Operation *last = dot;
  auto transpose = dot->hasOneUse() ? dyn_cast<TransposeOp>(*dot->user_begin()) : TransposeOp();
  if (transpose) {
    for (SmallVector<int64_t> *dims : {&batchDims, &rowDims, &columnDims})
      for (int64_t &dim : *dims)
        dim = llvm::find(transpose.getPermutation(), dim) - transpose.getPermutation().begin();
    std::optional<Grouped> transposed = group(shapeOf(transpose), groupsOf(batchDims, rowDims, columnDims));
    if (transposed && transposed->order.back() + 1 == int64_t(transposed->order.size())) {
      given = *std::move(transposed);
      last = transpose;
    }
  }

  OpBuilder builder(last);
  Location loc = dot.getLoc();
  auto orderAttr = [&](const Grouped &grouped) {
    return llvm::is_sorted(grouped.order) ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(grouped.order);
  };
  auto call = exec::MatmulOp::create(
      builder, loc, RankedTensorType::get(given.shape, type.getElementType()),
      reshaped(builder, loc, a.value, left.shape), reshaped(builder, loc, b.value, right.shape),
      /*transposeA=*/false, /*transposeB=*/false, orderAttr(left), orderAttr(right), orderAttr(given));
  Value result = reshaped(builder, loc, call.getResult(0), shapeOf(last->getResult(0)));
  result.setType(last->getResult(0).getType()); // with the mark of a partial sum
  last->replaceAllUsesWith(ValueRange{result});
  last->erase();
  if (last != dot)
    dot->erase();
  return call;
}

Operation *selectMatmul(Operation *op, bool anyOrder) {
  auto dot = dyn_cast<DotGeneralOp>(op);
  std::optional<ProductOperands> operands = dot ? operandsOfCall(dot, anyOrder) : std::nullopt;
  if (!operands)
    return nullptr;
  if (!operands->isDense)
    return createStrided(dot, *operands);
  const Matrix &a = operands->a, &b = operands->b;
  auto type = cast<RankedTensorType>(dot.getType());
  OpBuilder builder(op);
  Location loc = op->getLoc();
  int64_t m = extentOf(a.value, a.free), n = extentOf(b.value, b.free), k = extentOf(a.value, a.contract);
  SmallVector<int64_t> batch(type.getShape().take_front(a.batch.size()));
  auto stored = [&](const Matrix &matrix, int64_t free) {
    SmallVector<int64_t> shape(batch);
    shape.append({matrix.contractLast ? free : k, matrix.contractLast ? k : free});
    return reshaped(builder, loc, matrix.value, shape);
  };
  Value left = stored(a, m), right = stored(b, n);
  SmallVector<int64_t> shape(batch);
  shape.append({m, n});
  auto call = exec::MatmulOp::create(builder, loc, RankedTensorType::get(shape, type.getElementType()), left, right,
                                     /*transposeA=*/!a.contractLast, /*transposeB=*/b.contractLast);
  Value result = reshaped(builder, loc, call.getResult(0), type.getShape());
  if (result.getType() != type) { // the mark of a partial sum
    result.setType(type);
    if (result.getDefiningOp() != call)
      call.getResult(0).setType(RankedTensorType::get(shape, type.getElementType()));
  }
  op->replaceAllUsesWith(ValueRange{result});
  op->erase();
  return call;
}

} // namespace dgc
