// Lowerings of the ops that move, repeat or choose elements. What reads the operand at an affine place is a generic op,
// which fuses; the others read it at a computed place.

#include "dialects/dgc/LinalgUtil.h"
#include "dialects/dgc/OpSupport.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace dgc;
using Lowered = FailureOr<SmallVector<Value>>;

/// A generic op that copies to each place of a result of type `type` the element of `operand` at `source`, which is
/// affine in the place.
static Value copyFrom(OpBuilder &builder, Location location, Value operand, ArrayRef<AffineExpr> source,
                      RankedTensorType type) {
  int64_t rank = type.getRank();
  SmallVector<AffineExpr> place;
  for (int64_t dim = 0; dim < rank; ++dim)
    place.push_back(builder.getAffineDimExpr(dim));
  Value empty = tensor::EmptyOp::create(builder, location, type.getShape(), type.getElementType());
  return linalg::GenericOp::create(
             builder, location, type, operand, empty,
             indexingMaps(builder, rank, {SmallVector<AffineExpr>(source), place}),
             SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
             [](OpBuilder &b, Location l, ValueRange args) { linalg::YieldOp::create(b, l, args[0]); })
      .getResult(0);
}

/// A generic op without inputs that computes the element at each place, given its indices.
static Value computeAt(OpBuilder &builder, Location location, RankedTensorType type,
                       function_ref<Value(ImplicitLocOpBuilder &, ValueRange)> compute) {
  int64_t rank = type.getRank();
  Value empty = tensor::EmptyOp::create(builder, location, type.getShape(), type.getElementType());
  return linalg::GenericOp::create(builder, location, type, ValueRange(), empty, builder.getMultiDimIdentityMap(rank),
                                   SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
                                   [&](OpBuilder &inner, Location l, ValueRange) {
                                     ImplicitLocOpBuilder b(l, inner);
                                     SmallVector<Value> place;
                                     for (int64_t dim = 0; dim < rank; ++dim)
                                       place.push_back(linalg::IndexOp::create(b, dim));
                                     linalg::YieldOp::create(b, compute(b, place));
                                   })
      .getResult(0);
}

static Value index(ImplicitLocOpBuilder &b, int64_t value) { return arith::ConstantIndexOp::create(b, value); }

/// The index, moved into [0, size) where it is outside.
static Value clampIndex(ImplicitLocOpBuilder &b, Value place, int64_t size) {
  return arith::MinSIOp::create(b, arith::MaxSIOp::create(b, place, index(b, 0)), index(b, size - 1));
}

Lowered BroadcastInDimOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  auto type = signlessTensor(getType());
  SmallVector<AffineExpr> source;
  for (auto [operandDim, dim] : llvm::enumerate(getBroadcastDimensions())) {
    bool repeats = cast<RankedTensorType>(operands[0].getType()).getDimSize(operandDim) != type.getDimSize(dim);
    source.push_back(repeats ? builder.getAffineConstantExpr(0) : builder.getAffineDimExpr(dim));
  }
  return SmallVector<Value>{copyFrom(builder, getLoc(), operands[0], source, type)};
}

Lowered TransposeOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  SmallVector<AffineExpr> source(getPermutation().size());
  for (auto [dim, operandDim] : llvm::enumerate(getPermutation()))
    source[operandDim] = builder.getAffineDimExpr(dim);
  return SmallVector<Value>{copyFrom(builder, getLoc(), operands[0], source, signlessTensor(getType()))};
}

Lowered ReverseOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  auto type = signlessTensor(getType());
  SmallVector<AffineExpr> source;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    AffineExpr place = builder.getAffineDimExpr(dim);
    source.push_back(llvm::is_contained(getDimensions(), dim) ? type.getDimSize(dim) - 1 - place : place);
  }
  return SmallVector<Value>{copyFrom(builder, getLoc(), operands[0], source, type)};
}

Lowered SliceOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  auto type = signlessTensor(getType());
  SmallVector<OpFoldResult> offsets, sizes, strides;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    offsets.push_back(builder.getIndexAttr(getStartIndices()[dim]));
    sizes.push_back(builder.getIndexAttr(type.getDimSize(dim)));
    strides.push_back(builder.getIndexAttr(stride(dim)));
  }
  Value slice = tensor::ExtractSliceOp::create(builder, getLoc(), type, operands[0], offsets, sizes, strides);
  return SmallVector<Value>{slice};
}

Lowered ReshapeOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  auto from = cast<RankedTensorType>(operands[0].getType()), to = signlessTensor(getType());
  if (from == to)
    return SmallVector<Value>{operands[0]};
  auto reshape = [&](Value value, RankedTensorType type, ArrayRef<ReassociationIndices> groups) -> Value {
    if (cast<RankedTensorType>(value.getType()).getRank() > type.getRank())
      return tensor::CollapseShapeOp::create(builder, getLoc(), type, value, groups);
    return tensor::ExpandShapeOp::create(builder, getLoc(), type, value, groups);
  };
  if (from.getRank() != to.getRank())
    if (auto groups = getReassociationIndicesForReshape(from, to))
      return SmallVector<Value>{reshape(operands[0], to, *groups)};
  // By way of all elements in a row.
  auto row = RankedTensorType::get({to.getNumElements()}, to.getElementType());
  auto all = [](RankedTensorType type) {
    SmallVector<ReassociationIndices> groups(type.getRank() == 0 ? 0 : 1);
    if (!groups.empty())
      groups[0] = llvm::to_vector<2>(llvm::seq<int64_t>(0, type.getRank()));
    return groups;
  };
  Value inRow = from.getRank() == 1 ? operands[0] : reshape(operands[0], row, all(from));
  return SmallVector<Value>{to.getRank() == 1 ? inRow : reshape(inRow, to, all(to))};
}

Lowered PadOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  auto type = signlessTensor(getType());
  auto from = cast<RankedTensorType>(operands[0].getType());
  Value padding = tensor::ExtractOp::create(builder, getLoc(), operands[1], ValueRange());
  if (from.getNumElements() == 0)
    return SmallVector<Value>{computeAt(builder, getLoc(), type, [&](auto &, ValueRange) { return padding; })};
  return SmallVector<Value>{computeAt(builder, getLoc(), type, [&](ImplicitLocOpBuilder &b, ValueRange place) {
    Value inside;
    auto require = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
      Value holds = arith::CmpIOp::create(b, predicate, lhs, rhs);
      inside = inside ? arith::AndIOp::create(b, inside, holds).getResult() : holds;
    };
    SmallVector<Value> source;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (isUntouched(dim)) {
        source.push_back(place[dim]);
        continue;
      }
      int64_t step = interior(dim) + 1, extent = (from.getDimSize(dim) - 1) * step + 1;
      Value shifted = arith::SubIOp::create(b, place[dim], index(b, getEdgePaddingLow()[dim]));
      // As unsigned numbers the negative ones are large.
      require(arith::CmpIPredicate::ult, shifted, index(b, extent));
      Value bounded = clampIndex(b, shifted, extent);
      if (step > 1) {
        require(arith::CmpIPredicate::eq, arith::RemUIOp::create(b, bounded, index(b, step)), index(b, 0));
        bounded = arith::DivUIOp::create(b, bounded, index(b, step));
      }
      source.push_back(bounded);
    }
    Value element = tensor::ExtractOp::create(b, operands[0], source);
    return inside ? arith::SelectOp::create(b, inside, element, padding).getResult() : element;
  })};
}

Lowered ConcatenateOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  auto type = signlessTensor(getType());
  int64_t dim = getDimension();
  return SmallVector<Value>{computeAt(builder, getLoc(), type, [&](ImplicitLocOpBuilder &b, ValueRange place) {
    Value result;
    int64_t start = 0;
    for (Value operand : operands) {
      int64_t size = cast<RankedTensorType>(operand.getType()).getDimSize(dim);
      if (size == 0)
        continue;
      SmallVector<Value> source(place);
      source[dim] = clampIndex(b, arith::SubIOp::create(b, place[dim], index(b, start)), size);
      Value element = tensor::ExtractOp::create(b, operand, source);
      Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, place[dim], index(b, start));
      result = result ? arith::SelectOp::create(b, isBehind, element, result).getResult() : element;
      start += size;
    }
    return result ? result : arith::ConstantOp::create(b, b.getZeroAttr(type.getElementType())).getResult();
  })};
}
