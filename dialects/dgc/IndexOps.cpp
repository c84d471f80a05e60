// Ops that choose elements by numbers that are only known when the program runs.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/InferUtil.h"
#include "dialects/dgc/LinalgUtil.h"
#include "dialects/dgc/TensorBuilder.h"
#include "dialects/dgc/TensorUtil.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/IndexOps.cpp.inc"

namespace dgc {
void registerIndexOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/IndexOps.cpp.inc"
      >();
}
} // namespace dgc

/// `shape` with dimension `dim` replaced by the dimensions of `by`.
static SmallVector<int64_t> replaceDim(ArrayRef<int64_t> shape, int64_t dim, ArrayRef<int64_t> by) {
  SmallVector<int64_t> result(shape.take_front(dim));
  llvm::append_range(result, by);
  llvm::append_range(result, shape.drop_front(dim + 1));
  return result;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::inferTypes(std::optional<Location> location, Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorOf(adaptor.getOperand()), indices = tensorOf(adaptor.getIndices());
  int64_t dim = adaptor.getDimension();
  if (failed(checkDims(location, getOperationName(), "'dim'", dim, operand.getRank())))
    return failure();
  types.push_back(
      RankedTensorType::get(replaceDim(operand.getShape(), dim, indices.getShape()), operand.getElementType()));
  return success();
}

LogicalResult ScatterAddOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType indices = tensorOf(adaptor.getIndices()), updates = tensorOf(adaptor.getUpdates());
  int64_t dim = adaptor.getDimension(), size = adaptor.getSize();
  if (size < 0)
    return emitOptionalError(location, "'dgc.scatter_add' op would have a result of size ", size, " in dimension ", dim,
                             "; sizes are at least 0");
  ArrayRef<int64_t> shape = updates.getShape(), picked = indices.getShape();
  if (dim < 0 || dim + int64_t(picked.size()) > int64_t(shape.size()) || shape.slice(dim, picked.size()) != picked)
    return emitOptionalError(location, "'dgc.scatter_add' op has indices of type ", indices, " and updates of type ",
                             updates, ": the dimensions of the updates from ", dim,
                             " on must be those of the indices, as the indices say where each slice goes");
  SmallVector<int64_t> result(shape.take_front(dim));
  result.push_back(size);
  llvm::append_range(result, shape.drop_front(dim + picked.size()));
  types.push_back(RankedTensorType::get(result, updates.getElementType()));
  return success();
}

LogicalResult DynamicUpdateSliceOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorOf(adaptor.getOperand()), update = tensorOf(adaptor.getUpdate()),
                   start = tensorOf(adaptor.getStart());
  const int64_t dim = adaptor.getDimension();
  if (failed(checkDims(location, getOperationName(), "'dim'", dim, operand.getRank())))
    return failure();
  bool fits = operand.getElementType() == update.getElementType() && operand.getRank() == update.getRank();
  for (int64_t i = 0; fits && i < operand.getRank(); ++i)
    fits = i == dim ? update.getDimSize(i) <= operand.getDimSize(i) : update.getDimSize(i) == operand.getDimSize(i);
  if (!fits)
    return emitOptionalError(location, "'dgc.dynamic_update_slice' op has an operand of type ", operand,
                             " and an update of type ", update,
                             ": the update has the same element type, and the same sizes but for dimension ", dim,
                             ", where it is not larger");
  if (start.getRank() != 0)
    return emitOptionalError(location, "'dgc.dynamic_update_slice' op begins at ", start,
                             ": that must be one integer, as "
                             "tensor<i32>");
  types.push_back(RankedTensorType::get(operand.getShape(), operand.getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// How they are cut
//===----------------------------------------------------------------------===//

// The gathered dimension may be cut: a device finds the slices that it holds and zeros for the others, and these add
// up.
ShardingRule GatherOp::getShardingRule() {
  RankedTensorType operand = tensorOf(getOperand()), indices = tensorOf(getIndices());
  int64_t dim = getDimension(), rank = indices.getRank();
  ShardingRuleBuilder rule(*this);
  auto factor = [&](int64_t operandDim, int64_t indexDim, int64_t resultDim, int64_t size,
                    FactorKind kind = FactorKind::PassThrough) {
    SmallVector<int64_t> operands{operandDim, indexDim};
    operands.resize(getNumOperands(), -1);
    rule.factor(operands, {resultDim}, size, kind);
  };
  for (int64_t i = 0; i < dim; ++i)
    factor(i, -1, i, operand.getDimSize(i));
  for (int64_t i = 0; i < rank; ++i)
    factor(-1, i, dim + i, indices.getDimSize(i));
  for (int64_t i = dim + 1; i < operand.getRank(); ++i)
    factor(i, -1, i + rank - 1, operand.getDimSize(i));
  factor(dim, -1, -1, operand.getDimSize(dim), FactorKind::Reduction);
  return rule.build();
}

// A device adds the updates that it holds: where the indices are cut, the result is partial.
ShardingRule ScatterAddOp::getShardingRule() {
  RankedTensorType updates = tensorOf(getUpdates());
  int64_t dim = getDimension(), rank = tensorOf(getIndices()).getRank();
  ShardingRuleBuilder rule(*this);
  auto factor = [&](int64_t indexDim, int64_t updateDim, int64_t resultDim, int64_t size,
                    FactorKind kind = FactorKind::PassThrough) {
    SmallVector<int64_t> operands{indexDim, updateDim};
    operands.resize(getNumOperands(), -1);
    rule.factor(operands, {resultDim}, size, kind);
  };
  for (int64_t i = 0; i < dim; ++i)
    factor(-1, i, i, updates.getDimSize(i));
  factor(-1, -1, dim, getSize());
  for (int64_t i = dim + rank; i < updates.getRank(); ++i)
    factor(-1, i, i - rank + 1, updates.getDimSize(i));
  for (int64_t i = 0; i < rank; ++i)
    factor(i, dim + i, -1, updates.getDimSize(dim + i), FactorKind::Reduction);
  return rule.build();
}

ShardingRule DynamicUpdateSliceOp::getShardingRule() {
  RankedTensorType operand = tensorOf(getOperand()), update = tensorOf(getUpdate());
  ShardingRuleBuilder rule(*this);
  for (int64_t i = 0; i < operand.getRank(); ++i) {
    if (i != static_cast<int64_t>(getDimension())) {
      rule.factor({i, i, -1}, {i}, operand.getDimSize(i));
      continue;
    }
    rule.factor({i, -1, -1}, {i}, operand.getDimSize(i), FactorKind::NeedReplication);
    rule.factor({-1, i, -1}, {-1}, update.getDimSize(i), FactorKind::NeedReplication);
  }
  return rule.build();
}

bool GatherOp::isLinearIn(int index) { return index == 0; }
bool ScatterAddOp::isLinearIn(int index) { return index == 1; }
bool DynamicUpdateSliceOp::isLinearIn(int index) { return index == -1; }

// The part of a larger table does not have all rows.
Value GatherOp::getChoosingNumbers() { return getOffset() ? Value() : getIndices(); }
int64_t GatherOp::getNumChoices() { return tensorOf(getOperand()).getDimSize(getDimension()); }

int GatherOp::getPositionedOperand() { return 0; }
bool GatherOp::isPositionedAlong(int64_t dim) { return dim == static_cast<int64_t>(getDimension()); }
bool ScatterAddOp::isPositionedAlong(int64_t dim) { return dim == static_cast<int64_t>(getDimension()); }

void GatherOp::setGlobalPosition(ArrayRef<int64_t>, ValueRange offsets) {
  if (Value offset = offsets[getDimension()])
    getOffsetMutable().assign(offset);
}

void ScatterAddOp::setGlobalPosition(ArrayRef<int64_t>, ValueRange offsets) {
  if (Value offset = offsets[getDimension()])
    getOffsetMutable().assign(offset);
}

LogicalResult GatherOp::localize(TypeRange, TypeRange) { return success(); }
LogicalResult DynamicUpdateSliceOp::localize(TypeRange, TypeRange) { return success(); }

LogicalResult ScatterAddOp::localize(TypeRange, TypeRange) {
  setSize(tensorOf(getResult()).getDimSize(getDimension()));
  return success();
}

// Reads what it takes, not the whole table.
OpCost GatherOp::getCost() {
  OpCost cost = costPerElement(*this, 0);
  cost.bytesRead = cost.bytesWritten;
  return cost;
}

OpCost ScatterAddOp::getCost() {
  OpCost cost = costPerElement(*this, 0);
  cost.flops = tensorOf(getUpdates()).getNumElements();
  return cost;
}

OpCost DynamicUpdateSliceOp::getCost() { return costPerElement(*this, 0); }

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

SmallVector<Value> GatherOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &) {
  SmallVector<Value> results(getNumOperands());
  results[0] = ScatterAddOp::create(builder, getLoc(), getIndices(), gradients[0], getOffset(), getDimension(),
                                    tensorOf(getOperand()).getDimSize(getDimension()));
  return results;
}

SmallVector<Value> ScatterAddOp::buildGradients(OpBuilder &builder, ValueRange gradients, const BitVector &) {
  SmallVector<Value> results(getNumOperands());
  results[1] = GatherOp::create(builder, getLoc(), gradients[0], getIndices(), getOffset(), getDimension());
  return results;
}

SmallVector<Value> DynamicUpdateSliceOp::buildGradients(OpBuilder &builder, ValueRange gradients,
                                                        const BitVector &wanted) {
  TensorBuilder b(builder, getLoc());
  SmallVector<Value> results(getNumOperands());
  RankedTensorType operand = tensorOf(getOperand()), update = tensorOf(getUpdate());
  if (wanted[0])
    results[0] = create(builder, getLoc(), gradients[0], b.splat(0, update), getStart(), getDimension());
  if (!wanted[1])
    return results;
  // The places of the update, in order.
  const int64_t extent = update.getDimSize(getDimension()), last = operand.getDimSize(getDimension()) - extent;
  Value start = b.convert(getStart(), builder.getI64Type());
  start = b.minimum(b.maximum(start, b.splat(0, start)), b.splat(static_cast<double>(last), start));
  auto places = RankedTensorType::get({extent}, builder.getI64Type());
  Value numbers = IotaOp::create(builder, getLoc(), places, 0, Value());
  numbers = b.add(numbers, b.broadcast(start, {extent}, {}));
  results[1] = GatherOp::create(builder, getLoc(), gradients[0], numbers, Value(), getDimension());
  return results;
}

//===----------------------------------------------------------------------===//
// Lowerings
//===----------------------------------------------------------------------===//

/// The offset as a scalar i64; null without one.
static Value offsetScalar(OpBuilder &builder, Location location, ValueRange operands) {
  if (operands.size() < 3)
    return {};
  return tensor::ExtractOp::create(builder, location, operands[2], ValueRange());
}

/// An index, counted from the offset, as i64.
static Value relativeIndex(OpBuilder &b, Location location, Value index, bool isUnsigned, Value offset) {
  Type i64 = b.getI64Type();
  if (index.getType() != i64)
    index = isUnsigned ? arith::ExtUIOp::create(b, location, i64, index).getResult()
                       : arith::ExtSIOp::create(b, location, i64, index).getResult();
  return offset ? arith::SubIOp::create(b, location, index, offset).getResult() : index;
}

FailureOr<SmallVector<Value>> GatherOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  Location location = getLoc();
  RankedTensorType type = signlessTensor(getType()), table = cast<RankedTensorType>(operands[0].getType());
  int64_t dim = getDimension(), rank = tensorOf(getIndices()).getRank(), size = table.getDimSize(dim);
  TypedAttr zeroAttr = builder.getZeroAttr(type.getElementType());
  if (table.getNumElements() == 0)
    return SmallVector<Value>{filledTensor(builder, location, type.getShape(), zeroAttr)};
  bool isUnsignedIndex = isUnsigned(getIndices().getType());
  Value offset = offsetScalar(builder, location, operands);

  SmallVector<AffineExpr> place, indexPlace;
  for (int64_t i = 0; i < type.getRank(); ++i)
    place.push_back(builder.getAffineDimExpr(i));
  indexPlace.assign(place.begin() + dim, place.begin() + dim + rank);
  Value empty = tensor::EmptyOp::create(builder, location, type.getShape(), type.getElementType());
  SmallVector<utils::IteratorType> parallel(type.getRank(), utils::IteratorType::parallel);
  auto gathered = linalg::GenericOp::create(
      builder, location, type, operands[1], empty, indexingMaps(builder, type.getRank(), {indexPlace, place}), parallel,
      [&](OpBuilder &b, Location l, ValueRange args) {
        Value row = relativeIndex(b, l, args[0], isUnsignedIndex, offset);
        auto number = [&](int64_t value) { return arith::ConstantIntOp::create(b, l, value, 64).getResult(); };
        // As unsigned numbers the negative ones are large.
        Value inside = arith::CmpIOp::create(b, l, arith::CmpIPredicate::ult, row, number(size));
        row = arith::SelectOp::create(b, l, inside, row, number(0));
        SmallVector<Value> source;
        for (int64_t i = 0; i < dim; ++i)
          source.push_back(linalg::IndexOp::create(b, l, i));
        source.push_back(arith::IndexCastOp::create(b, l, b.getIndexType(), row));
        for (int64_t i = dim + rank; i < type.getRank(); ++i)
          source.push_back(linalg::IndexOp::create(b, l, i));
        Value element = tensor::ExtractOp::create(b, l, operands[0], source);
        Value zero = arith::ConstantOp::create(b, l, zeroAttr);
        linalg::YieldOp::create(b, l, arith::SelectOp::create(b, l, inside, element, zero).getResult());
      });
  return SmallVector<Value>{gathered.getResult(0)};
}

// For every slice of the result, the sum over all updates that are meant for it. The device's own op, where there is
// one, goes through the updates once.
FailureOr<SmallVector<Value>> ScatterAddOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  Location location = getLoc();
  RankedTensorType type = tensorOf(getResult()), updates = cast<RankedTensorType>(operands[1].getType());
  Type element = signlessElement(type.getElementType()), accumulator = accumulatorElement(element);
  int64_t dim = getDimension(), rank = tensorOf(getIndices()).getRank();
  bool isUnsignedIndex = isUnsigned(getIndices().getType());
  Value offset = offsetScalar(builder, location, operands);
  Value init = filledTensor(builder, location, type.getShape(), reductionIdentity(ReductionKind::Sum, accumulator));

  // The loops: those before the dimension, the dimension of the result, the indices, those after the dimension.
  SmallVector<utils::IteratorType> iterators;
  SmallVector<AffineExpr> indexPlace, updatePlace, resultPlace;
  auto loop = [&](utils::IteratorType kind) {
    iterators.push_back(kind);
    return builder.getAffineDimExpr(iterators.size() - 1);
  };
  for (int64_t i = 0; i < dim; ++i) {
    updatePlace.push_back(loop(utils::IteratorType::parallel));
    resultPlace.push_back(updatePlace.back());
  }
  resultPlace.push_back(loop(utils::IteratorType::parallel));
  for (int64_t i = 0; i < rank; ++i) {
    indexPlace.push_back(loop(utils::IteratorType::reduction));
    updatePlace.push_back(indexPlace.back());
  }
  for (int64_t i = dim + rank; i < updates.getRank(); ++i) {
    updatePlace.push_back(loop(utils::IteratorType::parallel));
    resultPlace.push_back(updatePlace.back());
  }
  auto added = linalg::GenericOp::create(
      builder, location, init.getType(), operands.take_front(2), init,
      indexingMaps(builder, iterators.size(), {indexPlace, updatePlace, resultPlace}), iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        Value target = relativeIndex(b, l, args[0], isUnsignedIndex, offset);
        Value here = arith::IndexCastOp::create(b, l, b.getI64Type(), linalg::IndexOp::create(b, l, dim));
        Value isMeant = arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, target, here);
        Value update = extendScalar(b, l, args[1], accumulator);
        Value nothing = arith::ConstantOp::create(b, l, b.getZeroAttr(update.getType()));
        Value addend = arith::SelectOp::create(b, l, isMeant, update, nothing);
        Value sum = combineScalars(b, l, ReductionKind::Sum, accumulator, args[2], addend);
        linalg::YieldOp::create(b, l, sum);
      });
  return SmallVector<Value>{roundedTensor(builder, location, added.getResult(0), element)};
}

// The device's own op, where there is one, writes the slice alone.
FailureOr<SmallVector<Value>> DynamicUpdateSliceOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  Location location = getLoc();
  RankedTensorType type = signlessTensor(getType()), update = cast<RankedTensorType>(operands[1].getType());
  const int64_t rank = type.getRank(), dim = getDimension(), extent = update.getDimSize(dim);
  if (update.getNumElements() == 0)
    return SmallVector<Value>{operands[0]};
  const bool isUnsignedStart = isUnsigned(getStart().getType());
  SmallVector<AffineExpr> place;
  for (int64_t i = 0; i < rank; ++i)
    place.push_back(builder.getAffineDimExpr(i));
  Value empty = tensor::EmptyOp::create(builder, location, type.getShape(), type.getElementType());
  SmallVector<utils::IteratorType> parallel(rank, utils::IteratorType::parallel);
  auto updated = linalg::GenericOp::create(
      builder, location, type, ValueRange{operands[0], operands[2]}, empty,
      indexingMaps(builder, rank, {place, {}, place}), parallel, [&](OpBuilder &b, Location l, ValueRange args) {
        auto number = [&](int64_t value) { return arith::ConstantIntOp::create(b, l, value, 64).getResult(); };
        Value last = number(type.getDimSize(dim) - extent);
        Value start = relativeIndex(b, l, args[1], isUnsignedStart, Value());
        start = isUnsignedStart ? arith::MinUIOp::create(b, l, start, last).getResult()
                                : arith::MinSIOp::create(b, l, start, last).getResult();
        start = arith::MaxSIOp::create(b, l, start, number(0));
        Value here = arith::IndexCastOp::create(b, l, b.getI64Type(), linalg::IndexOp::create(b, l, dim));
        Value from = arith::SubIOp::create(b, l, here, start);
        // As unsigned numbers the negative ones are large.
        Value inside = arith::CmpIOp::create(b, l, arith::CmpIPredicate::ult, from, number(extent));
        from = arith::SelectOp::create(b, l, inside, from, number(0));
        SmallVector<Value> source;
        for (int64_t i = 0; i < rank; ++i)
          source.push_back(i == dim ? arith::IndexCastOp::create(b, l, b.getIndexType(), from).getResult()
                                    : linalg::IndexOp::create(b, l, i).getResult());
        Value element = tensor::ExtractOp::create(b, l, operands[1], source);
        linalg::YieldOp::create(b, l, arith::SelectOp::create(b, l, inside, element, args[0]).getResult());
      });
  return SmallVector<Value>{updated.getResult(0)};
}
