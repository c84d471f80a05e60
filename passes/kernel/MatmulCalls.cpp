//===- MatmulCalls.cpp - dot_general as a matrix product of the library ---===//

#include "passes/kernel/ClusterGraph.h"
#include "passes/kernel/LibraryCalls.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-select-library-calls"

using namespace mlir;

namespace dgc {
namespace {

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

/// Takes all transposes before the operand into account.
void takeTransposes(Matrix &matrix) {
  while (auto transpose = matrix.value.getDefiningOp<mlir::dgc::TransposeOp>()) {
    for (SmallVector<int64_t> *dims : {&matrix.batch, &matrix.free, &matrix.contract})
      for (int64_t &dim : *dims)
        dim = transpose.getPermutation()[dim];
    matrix.value = transpose.getOperand();
  }
}

/// Dimensions of a value that are taken together as one: `groups` in the order in which a product has them. They cover
/// the dimensions of the value; those of a group lie side by side.
struct Grouped {
  SmallVector<int64_t> shape, order; // what is stored, and where each group is in it
};
std::optional<Grouped> group(ArrayRef<int64_t> shape, ArrayRef<SmallVector<int64_t>> groups) {
  SmallVector<std::pair<int64_t, int64_t>> begins; // the first dimension of a group, its number
  for (auto [number, dims] : llvm::enumerate(groups)) {
    if (dims.empty() || !isRange(dims, dims.front()))
      return std::nullopt;
    begins.push_back({dims.front(), number});
  }
  llvm::sort(begins);
  Grouped result;
  result.order.resize(groups.size());
  for (auto [begin, number] : begins) {
    result.order[number] = result.shape.size();
    int64_t size = 1;
    for (int64_t dim : groups[number])
      size *= shape[dim];
    result.shape.push_back(size);
  }
  return result;
}

/// Batch dimensions by themselves, then the two others.
SmallVector<SmallVector<int64_t>> groupsOf(ArrayRef<int64_t> batch, ArrayRef<int64_t> rows, ArrayRef<int64_t> columns) {
  SmallVector<SmallVector<int64_t>> groups;
  for (int64_t dim : batch)
    groups.push_back({dim});
  groups.push_back(SmallVector<int64_t>(rows));
  groups.push_back(SmallVector<int64_t>(columns));
  return groups;
}

/// A product of which an operand has its dimensions in another order than [batch, rows, columns], each group of them
/// side by side. A transpose that is the only user of the result becomes the order in which it is stored.
Operation *selectStrided(mlir::dgc::DotGeneralOp dot, bool anyOrder) {
  Matrix a{dot.getLhs(), llvm::to_vector(dot.getLhsBatch()), dot.getLhsFree(), llvm::to_vector(dot.getLhsContract())};
  Matrix b{dot.getRhs(), llvm::to_vector(dot.getRhsBatch()), dot.getRhsFree(), llvm::to_vector(dot.getRhsContract())};
  takeTransposes(a);
  takeTransposes(b);
  std::optional<Grouped> left = group(shapeOf(a.value), groupsOf(a.batch, a.free, a.contract));
  std::optional<Grouped> right = group(shapeOf(b.value), groupsOf(b.batch, b.contract, b.free));
  if (!left || !right)
    return nullptr;
  // Is the last dimension in memory one of the matrices, not of the batch?
  auto endsInMatrix = [](const Grouped &grouped) {
    int64_t last = grouped.order.size() - 1;
    return llvm::is_contained(ArrayRef(grouped.order).take_back(2), last);
  };
  if (!anyOrder && (!endsInMatrix(*left) || !endsInMatrix(*right)))
    return nullptr;
  auto type = cast<RankedTensorType>(dot.getType());
  auto iota = [](int64_t begin, size_t size) { return llvm::to_vector(llvm::seq<int64_t>(begin, begin + size)); };
  int64_t batch = a.batch.size(), rows = a.free.size();
  SmallVector<int64_t> batchDims = iota(0, batch), rowDims = iota(batch, rows);
  SmallVector<int64_t> columnDims = iota(batch + rows, b.free.size());
  std::optional<Grouped> given = group(type.getShape(), groupsOf(batchDims, rowDims, columnDims));
  Operation *last = dot;
  auto transpose = dot->hasOneUse() ? dyn_cast<mlir::dgc::TransposeOp>(*dot->user_begin()) : mlir::dgc::TransposeOp();
  if (transpose) {
    for (SmallVector<int64_t> *dims : {&batchDims, &rowDims, &columnDims})
      for (int64_t &dim : *dims)
        dim = llvm::find(transpose.getPermutation(), dim) - transpose.getPermutation().begin();
    std::optional<Grouped> transposed = group(shapeOf(transpose), groupsOf(batchDims, rowDims, columnDims));
    if (transposed && transposed->order.back() + 1 == int64_t(transposed->order.size())) {
      given = transposed;
      last = transpose;
    }
  }
  if (!given)
    return nullptr;

  OpBuilder builder(last);
  Location loc = dot.getLoc();
  auto orderAttr = [&](const Grouped &grouped) {
    return llvm::is_sorted(grouped.order) ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(grouped.order);
  };
  auto call = mlir::exec::MatmulOp::create(
      builder, loc, RankedTensorType::get(given->shape, type.getElementType()),
      reshaped(builder, loc, a.value, left->shape), reshaped(builder, loc, b.value, right->shape),
      /*transposeA=*/false, /*transposeB=*/false, orderAttr(*left), orderAttr(*right), orderAttr(*given));
  Value result = reshaped(builder, loc, call.getResult(0), shapeOf(last->getResult(0)));
  result.setType(last->getResult(0).getType()); // with the mark of a partial sum
  last->replaceAllUsesWith(ValueRange{result});
  last->erase();
  if (last != dot)
    dot->erase();
  return call;
}

} // namespace

Operation *selectMatmul(Operation *op, bool anyOrder) {
  auto dot = dyn_cast<mlir::dgc::DotGeneralOp>(op);
  if (!dot)
    return nullptr;
  auto type = cast<RankedTensorType>(dot.getType());
  Matrix a{dot.getLhs(), llvm::to_vector(dot.getLhsBatch()), dot.getLhsFree(), llvm::to_vector(dot.getLhsContract())};
  Matrix b{dot.getRhs(), llvm::to_vector(dot.getRhsBatch()), dot.getRhsFree(), llvm::to_vector(dot.getRhsContract())};
  Type element = type.getElementType();
  if (!(element.isF32() || element.isBF16() || element.isF16()) || a.contract.empty() || type.getNumElements() == 0) {
    LDBG() << "not a product of matrices of f32, bf16 or f16: " << dot;
    return nullptr;
  }
  if (product(a.value, a.contract) == 0)
    return nullptr;
  if (!findMatrix(a) || !findMatrix(b)) {
    Operation *call = selectStrided(dot, anyOrder);
    if (!call)
      LDBG() << "the dimensions do not form matrices: " << dot;
    return call;
  }
  OpBuilder builder(op);
  Location loc = op->getLoc();
  int64_t m = product(a.value, a.free), n = product(b.value, b.free), k = product(a.value, a.contract);
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
                                           right, /*transposeA=*/!a.contractLast, /*transposeB=*/b.contractLast);
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
