//===- MatmulCalls.cpp - dot_general as a matrix product of the library ---===//

#include "passes/kernel/LibraryCalls.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-select-library-calls"

using namespace mlir;

namespace dgc {
namespace {

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

int64_t product(Value value, ArrayRef<int64_t> dims) {
  int64_t result = 1;
  for (int64_t dim : dims)
    result *= shapeOf(value)[dim];
  return result;
}

/// An operand of a product: a value whose dimensions are batch, then two groups, rows and columns.
struct Matrix {
  Value value;
  SmallVector<int64_t> batch, free, contract;
  bool contractLast = false; // stored as [batch, free, contract]; else [batch, contract, free]
};

bool isRange(ArrayRef<int64_t> dims, int64_t first) {
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim != first + int64_t(i))
      return false;
  return true;
}

/// Does the value's own order of dimensions make it a matrix?
bool isMatrix(Matrix &matrix) {
  int64_t batch = matrix.batch.size();
  if (!isRange(matrix.batch, 0))
    return false;
  matrix.contractLast = isRange(matrix.free, batch) && isRange(matrix.contract, batch + matrix.free.size());
  return matrix.contractLast ||
         (isRange(matrix.contract, batch) && isRange(matrix.free, batch + matrix.contract.size()));
}

/// The operand as a matrix, with transposes before it taken into account.
bool findMatrix(Matrix &matrix) {
  while (!isMatrix(matrix)) {
    auto transpose = matrix.value.getDefiningOp<mlir::dgc::TransposeOp>();
    if (!transpose)
      return false;
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    for (SmallVector<int64_t> *dims : {&matrix.batch, &matrix.free, &matrix.contract})
      for (int64_t &dim : *dims)
        dim = permutation[dim];
    matrix.value = transpose.getOperand();
  }
  // A transpose that the library can do itself need not be done before.
  if (auto transpose = matrix.value.getDefiningOp<mlir::dgc::TransposeOp>()) {
    Matrix below = matrix;
    for (SmallVector<int64_t> *dims : {&below.batch, &below.free, &below.contract})
      for (int64_t &dim : *dims)
        dim = transpose.getPermutation()[dim];
    below.value = transpose.getOperand();
    if (isMatrix(below))
      matrix = below;
  }
  return true;
}

Value reshaped(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return mlir::dgc::ReshapeOp::create(builder, loc, value, builder.getDenseI64ArrayAttr(shape));
}

} // namespace

Operation *selectMatmul(Operation *op) {
  auto dot = dyn_cast<mlir::dgc::DotGeneralOp>(op);
  if (!dot)
    return nullptr;
  auto type = cast<RankedTensorType>(dot.getType());
  Matrix a{dot.getLhs(), llvm::to_vector(dot.getLhsBatch()), dot.getLhsFree(), llvm::to_vector(dot.getLhsContract())};
  Matrix b{dot.getRhs(), llvm::to_vector(dot.getRhsBatch()), dot.getRhsFree(), llvm::to_vector(dot.getRhsContract())};
  if (!type.getElementType().isF32() || a.contract.empty() || type.getNumElements() == 0) {
    LDBG() << "not a product of f32 matrices: " << dot;
    return nullptr;
  }
  if (!findMatrix(a) || !findMatrix(b)) {
    LDBG() << "the dimensions do not form matrices: " << dot;
    return nullptr;
  }
  OpBuilder builder(op);
  Location loc = op->getLoc();
  int64_t m = product(a.value, a.free), n = product(b.value, b.free), k = product(a.value, a.contract);
  if (k == 0)
    return nullptr;
  SmallVector<int64_t> batch(type.getShape().take_front(a.batch.size()));
  auto stored = [&](const Matrix &matrix, int64_t free) {
    SmallVector<int64_t> shape(batch);
    shape.append({matrix.contractLast ? free : k, matrix.contractLast ? k : free});
    return reshaped(builder, loc, matrix.value, shape);
  };
  Value left = stored(a, m), right = stored(b, n);
  SmallVector<int64_t> shape(batch);
  shape.append({m, n});
  auto call = mlir::exec::MatmulOp::create(builder, loc, RankedTensorType::get(shape, type.getElementType()), left,
                                           right, Value(), ValueRange(), ValueRange(), /*transpose_a=*/!a.contractLast,
                                           /*transpose_b=*/b.contractLast, ArrayAttr());
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
