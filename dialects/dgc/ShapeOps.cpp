// Ops that move, repeat or choose elements: their types and how they are cut. Folds are in ShapeFolds.cpp, derivatives
// in ShapeGradients.cpp, lowerings in ShapeLowerings.cpp.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/InferUtil.h"
#include "dialects/dgc/OpSupport.h"
#include "dialects/dgc/TensorUtil.h"
#include <numeric>

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/ShapeOps.cpp.inc"

namespace dgc {
void registerShapeOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ShapeOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Checks that the list has a number for each dimension of the operand.
static LogicalResult checkLength(std::optional<Location> location, StringRef op, StringRef what, ArrayRef<int64_t> list,
                                 RankedTensorType operand) {
  if (int64_t(list.size()) == operand.getRank())
    return success();
  return inferError(location, op, "needs a number for each dimension in '", what, "': ", operand.getRank(), " for ",
                    operand, ", but got ", list.size());
}

/// Checks that no dimension is negative and that the number of elements can be counted.
static LogicalResult checkShape(std::optional<Location> location, StringRef op, ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (size < 0)
      return inferError(location, op, "would have a result of size ", size, " in dimension ", dim,
                        "; sizes are at least 0");
    if (llvm::MulOverflow(count, size, count))
      return inferError(location, op, "would have a result of more than 2^63 elements");
  }
  return success();
}

LogicalResult BroadcastInDimOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto operand = withoutEncoding(tensorOf(adaptor.getOperand()));
  ArrayRef<int64_t> dims = adaptor.getBroadcastDimensions(), shape = adaptor.getShape();
  if (failed(checkLength(location, name, "dims", dims, operand)) || failed(checkShape(location, name, shape)))
    return failure();
  for (auto [operandDim, dim] : llvm::enumerate(dims)) {
    if (dim < 0 || dim >= int64_t(shape.size()))
      return inferError(location, name, "has dimension ", dim, " in 'dims', but the result has rank ", shape.size());
    if (operandDim > 0 && dim <= dims[operandDim - 1])
      return inferError(location, name, "needs ascending 'dims', but got ", dims[operandDim - 1], " before ", dim,
                        "; use dgc.transpose to change the order of dimensions");
    int64_t size = operand.getDimSize(operandDim);
    if (size != 1 && size != shape[dim])
      return inferError(location, name, "cannot make dimension ", operandDim, " of ", operand, ", of size ", size,
                        ", into dimension ", dim, " of the result, of size ", shape[dim],
                        "; only a dimension of size 1 is repeated");
  }
  types.push_back(RankedTensorType::get(shape, operand.getElementType()));
  return success();
}

LogicalResult ConcatenateOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  if (adaptor.getInputs().empty())
    return inferError(location, name, "needs at least one operand");
  auto first = withoutEncoding(tensorOf(adaptor.getInputs()[0]));
  int64_t dim = adaptor.getDimension();
  if (failed(checkDims(location, name, "'dim'", dim, first.getRank())))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  for (Value input : adaptor.getInputs().drop_front()) {
    auto other = withoutEncoding(tensorOf(input));
    bool fits = other.getRank() == first.getRank() && other.getElementType() == first.getElementType();
    for (int64_t i = 0; fits && i < first.getRank(); ++i)
      fits = i == dim || other.getDimSize(i) == first.getDimSize(i);
    if (!fits)
      return inferError(location, name, "cannot put ", other, " after ", first, " along dimension ", dim,
                        "; the element type and all other dimensions must be equal");
    if (llvm::AddOverflow(shape[dim], other.getDimSize(dim), shape[dim]))
      return inferError(location, name, "would have a result of more than 2^63 elements");
  }
  if (failed(checkShape(location, name, shape)))
    return failure();
  types.push_back(first.clone(shape));
  return success();
}

LogicalResult PadOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto operand = withoutEncoding(tensorOf(adaptor.getOperand()));
  auto value = withoutEncoding(tensorOf(adaptor.getPaddingValue()));
  auto low = adaptor.getEdgePaddingLow(), high = adaptor.getEdgePaddingHigh(), interior = adaptor.getInteriorPadding();
  if (value.getRank() != 0 || value.getElementType() != operand.getElementType())
    return inferError(location, name, "needs a padding value of type tensor<", operand.getElementType(), ">, but got ",
                      value);
  if (failed(checkLength(location, name, "low", low, operand)) ||
      failed(checkLength(location, name, "high", high, operand)) ||
      (!interior.empty() && failed(checkLength(location, name, "interior", interior, operand))))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    int64_t between = interior.empty() ? 0 : interior[dim], size = operand.getDimSize(dim), padding = 0;
    if (between < 0)
      return inferError(location, name, "has ", between, " in 'interior' for dimension ", dim,
                        "; at least 0 is needed");
    if (llvm::MulOverflow(std::max<int64_t>(size - 1, 0), between, padding) ||
        llvm::AddOverflow(padding, size, padding) || llvm::AddOverflow(padding, low[dim], padding) ||
        llvm::AddOverflow(padding, high[dim], padding))
      return inferError(location, name, "would have a result of more than 2^63 elements");
    shape.push_back(padding);
  }
  if (failed(checkShape(location, name, shape)))
    return failure();
  types.push_back(operand.clone(shape));
  return success();
}

LogicalResult ReshapeOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto operand = withoutEncoding(tensorOf(adaptor.getOperand()));
  SmallVector<int64_t> shape(adaptor.getShape());
  int64_t elements = operand.getNumElements();
  if (llvm::count(shape, -1) > 1)
    return inferError(location, name, "has -1 more than once in its shape; only one size can be inferred");
  if (auto open = llvm::find(shape, -1); open != shape.end()) {
    *open = 1;
    if (failed(checkShape(location, name, shape)))
      return failure();
    int64_t rest = RankedTensorType::get(shape, operand.getElementType()).getNumElements();
    if (rest == 0 || elements % rest != 0)
      return inferError(location, name, "cannot infer the size written as -1: the other sizes make ", rest,
                        " elements, which does not divide the ", elements, " of ", operand);
    *open = elements / rest;
  }
  if (failed(checkShape(location, name, shape)))
    return failure();
  auto type = RankedTensorType::get(shape, operand.getElementType());
  if (type.getNumElements() != elements)
    return inferError(location, name, "cannot make the ", elements, " elements of ", operand, " into the ",
                      type.getNumElements(), " of ", type,
                      "; the numbers of elements must be equal, and one size may be -1 to be inferred");
  types.push_back(type);
  return success();
}

LogicalResult ReverseOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto operand = withoutEncoding(tensorOf(adaptor.getOperand()));
  if (failed(checkDims(location, getOperationName(), "'dims'", adaptor.getDimensions(), operand.getRank())))
    return failure();
  types.push_back(operand);
  return success();
}

LogicalResult SliceOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto operand = withoutEncoding(tensorOf(adaptor.getOperand()));
  auto starts = adaptor.getStartIndices(), limits = adaptor.getLimitIndices(), strides = adaptor.getStrides();
  if (failed(checkLength(location, name, "from", starts, operand)) ||
      failed(checkLength(location, name, "to", limits, operand)) ||
      (!strides.empty() && failed(checkLength(location, name, "strides", strides, operand))))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    int64_t start = starts[dim], limit = limits[dim], stride = strides.empty() ? 1 : strides[dim];
    if (start < 0 || start > limit || limit > operand.getDimSize(dim))
      return inferError(location, name, "takes elements from ", start, " to ", limit, " along dimension ", dim, " of ",
                        operand, "; needs 0 <= from <= to <= ", operand.getDimSize(dim));
    if (stride < 1)
      return inferError(location, name, "has stride ", stride, " along dimension ", dim, "; at least 1 is needed");
    shape.push_back(llvm::divideCeil(limit - start, stride));
  }
  types.push_back(operand.clone(shape));
  return success();
}

LogicalResult TransposeOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  auto operand = withoutEncoding(tensorOf(adaptor.getOperand()));
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  if (failed(checkLength(location, name, "permutation", permutation, operand)) ||
      failed(checkDims(location, name, "'permutation'", permutation, operand.getRank())))
    return failure();
  types.push_back(
      operand.clone(llvm::map_to_vector(permutation, [&](int64_t dim) { return operand.getDimSize(dim); })));
  return success();
}

//===----------------------------------------------------------------------===//
// How they are cut
//===----------------------------------------------------------------------===//

ShardingRule BroadcastInDimOp::getShardingRule() {
  RankedTensorType operand = tensorOf(getOperand()), result = tensorOf(getResult());
  ShardingRuleBuilder rule(*this);
  for (int64_t dim = 0; dim < result.getRank(); ++dim) {
    auto position = llvm::find(getBroadcastDimensions(), dim);
    int64_t operandDim = position - getBroadcastDimensions().begin();
    bool repeats =
        position == getBroadcastDimensions().end() || operand.getDimSize(operandDim) != result.getDimSize(dim);
    rule.factor({repeats ? -1 : operandDim}, {dim}, result.getDimSize(dim));
  }
  return rule.build();
}

LogicalResult BroadcastInDimOp::localize(TypeRange, TypeRange) {
  setShape(tensorOf(getResult()).getShape());
  return success();
}

ShardingRule ConcatenateOp::getShardingRule() {
  RankedTensorType result = tensorOf(getResult());
  ShardingRuleBuilder rule(*this);
  for (int64_t dim = 0; dim < result.getRank(); ++dim) {
    if (dim != int64_t(getDimension())) {
      rule.factor(SmallVector<int64_t>(getNumOperands(), dim), {dim}, result.getDimSize(dim));
      continue;
    }
    for (auto [index, input] : llvm::enumerate(getInputs())) {
      SmallVector<int64_t> operandDims(getNumOperands(), -1);
      operandDims[index] = dim;
      rule.factor(operandDims, {-1}, tensorOf(input).getDimSize(dim), FactorKind::NeedReplication);
    }
    rule.factor(SmallVector<int64_t>(getNumOperands(), -1), {dim}, result.getDimSize(dim), FactorKind::NeedReplication);
  }
  return rule.build();
}

ShardingRule PadOp::getShardingRule() {
  RankedTensorType result = tensorOf(getResult());
  ShardingRuleBuilder rule(*this);
  for (int64_t dim = 0; dim < result.getRank(); ++dim) {
    if (isUntouched(dim)) {
      rule.factor({dim, -1}, {dim}, result.getDimSize(dim));
      continue;
    }
    rule.moving({dim, -1}, {dim}, result.getDimSize(dim));
  }
  return rule.build();
}

namespace {
/// Walks the sizes of a shape from major to minor; `rest` is what is left of the current dimension.
struct DimWalk {
  explicit DimWalk(ArrayRef<int64_t> shape) : shape(shape) { skipOnes(); }

  bool done() const { return dim == int64_t(shape.size()); }
  /// Takes a factor of what is left.
  void take(int64_t size) {
    rest /= size;
    if (rest > 1)
      return;
    ++dim;
    skipOnes();
  }
  void skipOnes() {
    while (!done() && shape[dim] == 1)
      ++dim;
    rest = done() ? 1 : shape[dim];
  }

  ArrayRef<int64_t> shape;
  int64_t dim = 0, rest = 1;
};
} // namespace

/// Both shapes are walked from major to minor, and what divides both sizes at hand is a factor of both. Where that ends
/// (as between 4x6 and 8x3 after the factor 4) the dimensions of the two have nothing in common until their products
/// meet again.
ShardingRule ReshapeOp::getShardingRule() {
  RankedTensorType operand = tensorOf(getOperand()), result = tensorOf(getResult());
  ShardingRuleBuilder rule(*this);
  if (operand.getNumElements() == 0) {
    for (auto [dim, size] : llvm::enumerate(operand.getShape()))
      rule.factor({int64_t(dim)}, {-1}, size, FactorKind::NeedReplication);
    for (auto [dim, size] : llvm::enumerate(result.getShape()))
      rule.factor({-1}, {int64_t(dim)}, size, FactorKind::NeedReplication);
    return rule.build();
  }
  DimWalk from(operand.getShape()), to(result.getShape());
  while (!from.done() && !to.done()) {
    if (int64_t common = std::gcd(from.rest, to.rest); common > 1) {
      rule.factor({from.dim}, {to.dim}, common);
      from.take(common);
      to.take(common);
      continue;
    }
    int64_t fromProduct = 1, toProduct = 1;
    do {
      if (fromProduct <= toProduct) {
        rule.factor({from.dim}, {-1}, from.rest, FactorKind::NeedReplication);
        fromProduct *= from.rest;
        from.take(from.rest);
      } else {
        rule.factor({-1}, {to.dim}, to.rest, FactorKind::NeedReplication);
        toProduct *= to.rest;
        to.take(to.rest);
      }
    } while (fromProduct != toProduct);
  }
  return rule.build();
}

LogicalResult ReshapeOp::localize(TypeRange, TypeRange) {
  setShape(tensorOf(getResult()).getShape());
  return success();
}

ShardingRule ReverseOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (auto [dim, size] : llvm::enumerate(tensorOf(getResult()).getShape()))
    rule.factor({int64_t(dim)}, {int64_t(dim)}, size,
                llvm::is_contained(getDimensions(), int64_t(dim)) ? FactorKind::Permutation : FactorKind::PassThrough);
  return rule.build();
}

ShardingRule SliceOp::getShardingRule() {
  RankedTensorType operand = tensorOf(getOperand()), result = tensorOf(getResult());
  ShardingRuleBuilder rule(*this);
  for (int64_t dim = 0; dim < result.getRank(); ++dim) {
    if (operand.getDimSize(dim) == result.getDimSize(dim)) {
      rule.factor({dim}, {dim}, result.getDimSize(dim));
      continue;
    }
    rule.moving({dim}, {dim}, result.getDimSize(dim));
  }
  return rule.build();
}

/// A dimension that was cut is one that the slice takes whole.
LogicalResult SliceOp::localize(TypeRange globalOperands, TypeRange) {
  ArrayRef<int64_t> global = cast<RankedTensorType>(globalOperands[0]).getShape();
  SmallVector<int64_t> limits(getLimitIndices());
  for (auto [dim, size] : llvm::enumerate(tensorOf(getOperand()).getShape()))
    if (size != global[dim])
      limits[dim] = size;
  setLimitIndices(limits);
  return success();
}

std::pair<int64_t, int64_t> ConcatenateOp::getSource(int64_t dim, int64_t index) {
  for (auto [number, input] : llvm::enumerate(getInputs())) {
    int64_t size = tensorOf(input).getDimSize(dim);
    if (dim != int64_t(getDimension()) || index < size)
      return {int64_t(number), index};
    index -= size;
  }
  llvm_unreachable("the inputs have all elements of the result");
}

std::pair<int64_t, int64_t> PadOp::getSource(int64_t dim, int64_t index) {
  int64_t distance = index - getEdgePaddingLow()[dim], step = interior(dim) + 1;
  bool inside = distance >= 0 && distance % step == 0 && distance / step < tensorOf(getOperand()).getDimSize(dim);
  return inside ? std::pair<int64_t, int64_t>(0, distance / step) : std::pair<int64_t, int64_t>(-1, 0);
}

std::pair<int64_t, int64_t> ReverseOp::getSource(int64_t dim, int64_t index) {
  bool reversed = llvm::is_contained(getDimensions(), dim);
  return {0, reversed ? tensorOf(getOperand()).getDimSize(dim) - 1 - index : index};
}

std::pair<int64_t, int64_t> SliceOp::getSource(int64_t dim, int64_t index) {
  return {0, getStartIndices()[dim] + index * stride(dim)};
}

ShardingRule TransposeOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (auto [dim, operandDim] : llvm::enumerate(getPermutation()))
    rule.factor({operandDim}, {int64_t(dim)}, tensorOf(getResult()).getDimSize(dim));
  return rule.build();
}
