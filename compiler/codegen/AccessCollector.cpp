//===- AccessCollector.cpp ------------------------------------------------===//

#include "compiler/codegen/AccessCollector.h"
#include "compiler/codegen/MathLibrary.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dgc {

/// An estimate of what an op of a scalar body costs, in simple instructions.
static uint64_t costOf(Operation *op) {
  if (isa<math::ExpOp, math::LogOp, math::TanhOp, math::ErfOp, math::Log1pOp, math::ExpM1Op, math::PowFOp, math::SinOp,
          math::CosOp, math::ErfcOp, math::Exp2Op, math::Log2Op, math::CbrtOp, math::AtanOp, math::Atan2Op>(op))
    return 16;
  if (isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
          op))
    return 4;
  return isa<linalg::YieldOp, linalg::IndexOp, arith::ConstantOp>(op) ? 0 : 1;
}

uint64_t bodyCost(linalg::LinalgOp op) {
  uint64_t cost = 0;
  op.getBlock()->walk([&](Operation *inner) { cost += costOf(inner); });
  return cost;
}

/// Says of an op that code cannot be generated for it, and why.
static LogicalResult unsupported(Operation *op, StringRef what) {
  return op->emitOpError("cannot be part of a kernel: ") << what;
}

void AccessCollector::add(Value base, ArrayRef<AffineExpr> index, AffineExpr linear) {
  root.accesses.push_back({base, Index(index), linear});
}

void AccessCollector::pin(AffineExpr expr) {
  expr.walk([&](AffineExpr inner) {
    if (auto dim = dyn_cast<AffineDimExpr>(inner))
      root.pinned.set(dim.getPosition());
  });
}

LogicalResult AccessCollector::body(linalg::LinalgOp op, ArrayRef<AffineExpr> loops) {
  root.flops += bodyCost(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (isa<RankedTensorType>(operand.get().getType())) {
      if (op.payloadUsesValueFromOperand(&operand) && !op.isDpsInit(&operand) &&
          failed(element(operand.get(), applyMap(op.getMatchingIndexingMap(&operand), loops))))
        return failure();
    } else if (failed(scalar(operand.get()))) {
      return failure();
    }
  }
  auto walk = op.getBlock()->walk([&](Operation *inner) {
    root.callsFunctions |= isLibraryCall(inner);
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      pin(loops[index.getDim()]);
    if (std::optional<Bound> bound = boundOf(inner, loops))
      root.bounds.push_back(*bound);
    if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
      Index index;
      for (Value at : extract.getIndices()) {
        AffineExpr known = indexOf(at, loops);
        index.push_back(known ? known : getAffineSymbolExpr(symbols++, context));
      }
      if (failed(element(extract.getTensor(), index)))
        return WalkResult::interrupt();
    }
    for (Value operand : inner->getOperands())
      if (operand.getParentRegion() == &graph.func.getBody() && !isa<RankedTensorType>(operand.getType()) &&
          failed(scalar(operand)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult AccessCollector::element(Value value, ArrayRef<AffineExpr> rawIndex) {
  Index index = normalize(value, rawIndex);
  if (graph.isBase(value)) {
    add(value, index, linearize(shapeOf(value), index, context));
    return success();
  }
  return definition(value, index);
}

LogicalResult AccessCollector::scalar(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return success();
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    Index index;
    for (Value position : extract.getIndices()) {
      APInt constant;
      if (!matchPattern(position, m_ConstantInt(&constant)))
        return unsupported(extract, "the index must be constant");
      index.push_back(getAffineConstantExpr(constant.getSExtValue(), context));
    }
    return element(extract.getTensor(), index);
  }
  for (Value operand : op->getOperands())
    if (failed(scalar(operand)))
      return failure();
  return success();
}

LogicalResult AccessCollector::ofPointwise(Value value, ArrayRef<AffineExpr> index) {
  auto op = cast<linalg::LinalgOp>(value.getDefiningOp());
  FailureOr<Index> loops = loopsAt(op, cast<OpResult>(value).getResultNumber(), index);
  if (failed(loops) || failed(body(op, *loops)))
    return failure();
  for (OpOperand &init : op.getDpsInitsMutable())
    if (op.payloadUsesValueFromOperand(&init) &&
        failed(element(init.get(), applyMap(op.getMatchingIndexingMap(&init), *loops))))
      return failure();
  return success();
}

LogicalResult AccessCollector::ofReshape(Operation *reshape, ArrayRef<AffineExpr> index) {
  if (Value base = baseThroughReshapes(graph, reshape->getOperand(0))) {
    add(base, indexBelowReshapes(graph, reshape, index), linearize(shapeOf(reshape->getResult(0)), index, context));
    return success();
  }
  Index source = reshapedIndex(reshape, index);
  for (AffineExpr expr : source)
    expr.walk([&](AffineExpr inner) {
      if (inner.getKind() == AffineExprKind::FloorDiv || inner.getKind() == AffineExprKind::Mod)
        pin(inner);
    });
  return element(reshape->getOperand(0), source);
}

LogicalResult AccessCollector::ofSlice(tensor::ExtractSliceOp slice, ArrayRef<AffineExpr> index) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  Index source;
  unsigned next = 0;
  for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets())) {
    AffineExpr expr = dropped.test(dim) ? getAffineConstantExpr(0, context) : index[next++];
    int64_t stride = slice.getStaticStrides()[dim];
    if (ShapedType::isDynamic(stride))
      return unsupported(slice, "strides must be constant");
    if (auto constant = getConstantIntValue(offset)) {
      source.push_back(expr * stride + *constant);
      continue;
    }
    if (failed(scalar(cast<Value>(offset))))
      return failure();
    source.push_back(expr * stride + getAffineSymbolExpr(symbols++, context));
  }
  return element(slice.getSource(), source);
}

LogicalResult AccessCollector::ofInsertion(tensor::InsertSliceOp insert, ArrayRef<AffineExpr> index) {
  llvm::SmallBitVector dropped = insert.getDroppedDims();
  Index source;
  for (auto [dim, expr] : llvm::enumerate(index)) {
    pin(expr);
    int64_t offset = insert.getStaticOffsets()[dim], stride = insert.getStaticStrides()[dim];
    if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(stride))
      return unsupported(insert, "offsets and strides must be constant");
    if (!dropped.test(dim))
      source.push_back((expr - offset).floorDiv(stride));
  }
  return failure(failed(element(insert.getSource(), source)) || failed(element(insert.getDest(), index)));
}

LogicalResult AccessCollector::ofPad(tensor::PadOp pad, ArrayRef<AffineExpr> index) {
  Index source;
  for (auto [dim, expr] : llvm::enumerate(index)) {
    int64_t low = pad.getStaticLow()[dim];
    if (ShapedType::isDynamic(low))
      return unsupported(pad, "padding must be constant");
    if (low != 0 || pad.getStaticHigh()[dim] != 0)
      pin(expr);
    source.push_back(expr - low);
  }
  Value constant = pad.getConstantPaddingValue();
  if (!constant)
    return unsupported(pad, "the padding value must not depend on the place");
  return failure(failed(scalar(constant)) || failed(element(pad.getSource(), source)));
}

LogicalResult AccessCollector::ofConcatenation(tensor::ConcatOp concat, ArrayRef<AffineExpr> index) {
  int64_t offset = 0;
  pin(index[concat.getDim()]);
  for (Value input : concat.getInputs()) {
    Index source(index);
    source[concat.getDim()] = source[concat.getDim()] - offset;
    if (failed(element(input, source)))
      return failure();
    offset += shapeOf(input)[concat.getDim()];
  }
  return success();
}

LogicalResult AccessCollector::definition(Value value, ArrayRef<AffineExpr> index) {
  if (!visited.insert({value, AffineMap::get(kMaxDims, kMaxSymbols, index, context)}).second)
    return success();
  Operation *op = value.getDefiningOp();
  if (!op) { // an argument that is returned
    add(value, index, linearize(shapeOf(value), index, context));
    return success();
  }
  if (isPointwise(op))
    return ofPointwise(value, index);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
          [&](Operation *reshape) { return ofReshape(reshape, index); })
      .Case([&](tensor::ExtractSliceOp slice) { return ofSlice(slice, index); })
      .Case([&](tensor::InsertSliceOp insert) { return ofInsertion(insert, index); })
      .Case([&](tensor::PadOp pad) { return ofPad(pad, index); })
      .Case([&](tensor::ConcatOp concat) { return ofConcatenation(concat, index); })
      .Case([&](tensor::CastOp cast) { return element(cast.getSource(), index); })
      .Case([&](tensor::SplatOp splat) { return scalar(splat.getInput()); })
      .Case([&](tensor::FromElementsOp from) {
        return from.getElements().size() == 1 ? scalar(from.getElements().front())
                                              : unsupported(from, "only one element is supported");
      })
      .Case<tensor::EmptyOp, arith::ConstantOp>([](Operation *) { return success(); })
      .Default([](Operation *other) { return unsupported(other, "there is no rule for its elements"); });
}

} // namespace dgc
