// Vector-Jacobian products of the ops that move, repeat or choose elements.

#include "dialects/dgc/OpSupport.h"
#include "dialects/dgc/TensorBuilder.h"
#include "dialects/dgc/TensorUtil.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace dgc;

/// What was repeated is added up.
SmallVector<Value> BroadcastInDimOp::buildGradients(OpBuilder &builder, ValueRange resultGradients,
                                                    const llvm::BitVector &) {
  SmallVector<int64_t> repeated;
  for (auto [dim, size] : llvm::enumerate(shapeOf(getResult()))) {
    auto position = llvm::find(getBroadcastDimensions(), int64_t(dim));
    if (position == getBroadcastDimensions().end() ||
        shapeOf(getOperand())[position - getBroadcastDimensions().begin()] != size)
      repeated.push_back(dim);
  }
  TensorBuilder b(builder, getLoc());
  Value sum = b.reduce(ReductionKind::Sum, resultGradients[0], repeated);
  return {b.reshape(sum, shapeOf(getOperand()))};
}

SmallVector<Value> ConcatenateOp::buildGradients(OpBuilder &builder, ValueRange resultGradients,
                                                 const llvm::BitVector &wanted) {
  TensorBuilder b(builder, getLoc());
  SmallVector<Value> gradients;
  SmallVector<int64_t> starts(shapeOf(getResult()).size(), 0), limits(shapeOf(getResult()));
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    limits[getDimension()] = starts[getDimension()] + shapeOf(input)[getDimension()];
    gradients.push_back(wanted[index] ? b.slice(resultGradients[0], starts, limits) : Value());
    starts[getDimension()] = limits[getDimension()];
  }
  return gradients;
}

/// The operand's part is what is left when the padding is taken away again; all the rest belongs to the padding value.
SmallVector<Value> PadOp::buildGradients(OpBuilder &builder, ValueRange resultGradients,
                                         const llvm::BitVector &wanted) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0];
  auto negated = [](ArrayRef<int64_t> list) { return llvm::map_to_vector(list, [](int64_t n) { return -n; }); };
  Value inner = b.pad(g, b.splat(0, RankedTensorType::get({}, getElementTypeOrSelf(g))), negated(getEdgePaddingLow()),
                      negated(getEdgePaddingHigh()));
  SmallVector<int64_t> strides;
  for (size_t dim = 0; dim < shapeOf(inner).size(); ++dim)
    strides.push_back(interior(dim) + 1);
  inner = b.slice(inner, SmallVector<int64_t>(strides.size(), 0), shapeOf(inner), strides);
  if (!wanted[1])
    return {inner, Value()};
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, strides.size()));
  return {inner, b.subtract(b.reduce(ReductionKind::Sum, g, all), b.reduce(ReductionKind::Sum, inner, all))};
}

SmallVector<Value> ReshapeOp::buildGradients(OpBuilder &builder, ValueRange resultGradients, const llvm::BitVector &) {
  return {TensorBuilder(builder, getLoc()).reshape(resultGradients[0], shapeOf(getOperand()))};
}

SmallVector<Value> ReverseOp::buildGradients(OpBuilder &builder, ValueRange resultGradients, const llvm::BitVector &) {
  return {ReverseOp::create(builder, getLoc(), resultGradients[0], getDimensions())};
}

/// Zeros where no element was taken.
SmallVector<Value> SliceOp::buildGradients(OpBuilder &builder, ValueRange resultGradients, const llvm::BitVector &) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0];
  SmallVector<int64_t> high, interior;
  for (auto [dim, size] : llvm::enumerate(shapeOf(getOperand()))) {
    int64_t taken = shapeOf(g)[dim], covered = taken == 0 ? 0 : (taken - 1) * stride(dim) + 1;
    high.push_back(size - getStartIndices()[dim] - covered);
    interior.push_back(stride(dim) - 1);
  }
  Value zero = b.splat(0, RankedTensorType::get({}, getElementTypeOrSelf(g)));
  return {b.pad(g, zero, getStartIndices(), high, interior)};
}

SmallVector<Value> TransposeOp::buildGradients(OpBuilder &builder, ValueRange resultGradients,
                                               const llvm::BitVector &) {
  return {TensorBuilder(builder, getLoc()).transpose(resultGradients[0], invertPermutationVector(getPermutation()))};
}
