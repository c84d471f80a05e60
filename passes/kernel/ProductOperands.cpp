//===- ProductOperands.cpp - the operands of a library's product ------------===//

#include "passes/kernel/ProductOperands.h"
#include "passes/kernel/ClusterGraph.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-select-library-calls"

using namespace mlir;

namespace dgc {

int64_t extentOf(Value value, ArrayRef<int64_t> dims) {
  int64_t result = 1;
  for (int64_t dim : dims)
    result *= shapeOf(value)[dim];
  return result;
}

static bool isRange(ArrayRef<int64_t> dims, int64_t first) {
  return llvm::equal(dims, llvm::seq(first, first + int64_t(dims.size())));
}

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

SmallVector<SmallVector<int64_t>> groupsOf(ArrayRef<int64_t> batch, ArrayRef<int64_t> rows, ArrayRef<int64_t> columns) {
  SmallVector<SmallVector<int64_t>> groups;
  for (int64_t dim : batch)
    groups.push_back({dim});
  groups.push_back(SmallVector<int64_t>(rows));
  groups.push_back(SmallVector<int64_t>(columns));
  return groups;
}

/// Does the value's own order of dimensions make it a matrix?
static bool isMatrix(Matrix &matrix) {
  int64_t batch = matrix.batch.size();
  if (!isRange(matrix.batch, 0))
    return false;
  matrix.contractLast = isRange(matrix.free, batch) && isRange(matrix.contract, batch + matrix.free.size());
  return matrix.contractLast ||
         (isRange(matrix.contract, batch) && isRange(matrix.free, batch + matrix.contract.size()));
}

/// The operand of the transpose that makes this one; none: something else makes it.
static std::optional<Matrix> behindTranspose(Matrix matrix) {
  auto transpose = matrix.value.getDefiningOp<TransposeOp>();
  if (!transpose)
    return std::nullopt;
  for (SmallVector<int64_t> *dims : {&matrix.batch, &matrix.free, &matrix.contract})
    for (int64_t &dim : *dims)
      dim = transpose.getPermutation()[dim];
  matrix.value = transpose.getOperand();
  return matrix;
}

/// Makes the operand a matrix, before as many transposes as that needs. False: it is none before any of them.
static bool findMatrix(Matrix &matrix) {
  while (!isMatrix(matrix)) {
    std::optional<Matrix> below = behindTranspose(matrix);
    if (!below)
      return false;
    matrix = *std::move(below);
  }
  // A transpose that the library can do itself need not be done before.
  if (std::optional<Matrix> below = behindTranspose(matrix); below && isMatrix(*below))
    matrix = *std::move(below);
  return true;
}

/// Makes the operand the one before all transposes. False: its groups of dimensions are not next to each other there.
static bool findStrided(Matrix &matrix, bool anyOrder) {
  while (std::optional<Matrix> below = behindTranspose(matrix))
    matrix = *std::move(below);
  if (!group(shapeOf(matrix.value), groupsOf(matrix.batch, matrix.free, matrix.contract)))
    return false;
  return anyOrder || !llvm::is_contained(matrix.batch, int64_t(shapeOf(matrix.value).size()) - 1);
}

std::optional<ProductOperands> operandsOfCall(DotGeneralOp dot, bool anyOrder) {
  auto type = cast<RankedTensorType>(dot.getType());
  Matrix a{dot.getLhs(), llvm::to_vector(dot.getLhsBatch()), dot.getLhsFree(), llvm::to_vector(dot.getLhsContract())};
  Matrix b{dot.getRhs(), llvm::to_vector(dot.getRhsBatch()), dot.getRhsFree(), llvm::to_vector(dot.getRhsContract())};
  Type element = type.getElementType();
  if (!(element.isF32() || element.isBF16() || element.isF16()) || a.contract.empty() || type.getNumElements() == 0 ||
      extentOf(a.value, a.contract) == 0) {
    LDBG() << "not a product of matrices of f32, bf16 or f16: " << dot;
    return std::nullopt;
  }
  ProductOperands operands{a, b};
  if (findMatrix(operands.a) && findMatrix(operands.b))
    return operands;
  operands = {a, b, /*isDense=*/false};
  if (findStrided(operands.a, anyOrder) && findStrided(operands.b, anyOrder))
    return operands;
  LDBG() << "the dimensions do not form matrices: " << dot;
  return std::nullopt;
}

} // namespace dgc
