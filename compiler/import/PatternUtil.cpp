// What the patterns of several families need.

#include "compiler/import/Patterns.h"
#include "dialects/dgc/LinalgUtil.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dgc::import {

SmallVector<int64_t> firstNumbers(int64_t count) { return llvm::to_vector(llvm::seq<int64_t>(0, count)); }

DenseElementsAttr constantOf(Value value) {
  DenseElementsAttr elements;
  if (auto broadcast = value.getDefiningOp<BroadcastInDimOp>()) {
    DenseElementsAttr source = constantOf(broadcast.getOperand());
    if (source && source.isSplat())
      return DenseElementsAttr::get(cast<ShapedType>(value.getType()), source.getSplatValue<Attribute>());
    return {};
  }
  return matchPattern(value, m_Constant(&elements)) ? elements : DenseElementsAttr();
}

ReductionKind kindFor(ReductionKind kind, Type element) {
  if (!element.isInteger(1))
    return kind;
  if (kind == ReductionKind::Sum || kind == ReductionKind::Max)
    return ReductionKind::Or;
  return kind == ReductionKind::Product || kind == ReductionKind::Min ? ReductionKind::And : kind;
}

std::optional<ReductionKind> combinationOf(Operation *op) {
  if (op->getNumResults() != 1 || !isa<RankedTensorType>(op->getResult(0).getType()))
    return std::nullopt;
  Type element = elementOf(op->getResult(0));
  return llvm::TypeSwitch<Operation *, std::optional<ReductionKind>>(op)
      .Case([&](stablehlo::AddOp) { return kindFor(ReductionKind::Sum, element); })
      .Case([&](stablehlo::MaximumOp) { return kindFor(ReductionKind::Max, element); })
      .Case([&](stablehlo::MultiplyOp) { return kindFor(ReductionKind::Product, element); })
      .Case([&](stablehlo::MinimumOp) { return kindFor(ReductionKind::Min, element); })
      .Case([](stablehlo::AndOp) { return ReductionKind::And; })
      .Case([](stablehlo::OrOp) { return ReductionKind::Or; })
      .Default([](auto) { return std::nullopt; });
}

std::optional<ReductionKind> combinationOf(Region &region) {
  Block &block = region.front();
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2)
    return std::nullopt;
  Operation &op = block.front();
  bool takesBoth = op.getNumOperands() == 2 && op.getOperand(0) != op.getOperand(1) &&
                   llvm::all_of(op.getOperands(), [&](Value operand) { return operand.getParentBlock() == &block; });
  bool givesResult = op.getNumResults() == 1 && block.back().getOperands() == op.getResults();
  return takesBoth && givesResult ? combinationOf(&op) : std::nullopt;
}

Value combine(TensorBuilder &b, ReductionKind kind, Value x, Value y) {
  switch (kind) {
  case ReductionKind::Sum:
    return b.add(x, y);
  case ReductionKind::Product:
    return b.multiply(x, y);
  case ReductionKind::Max:
    return b.maximum(x, y);
  case ReductionKind::Min:
    return b.minimum(x, y);
  case ReductionKind::And:
    return AndOp::create(b.builder, b.location, x, y);
  case ReductionKind::Or:
    return OrOp::create(b.builder, b.location, x, y);
  }
  llvm_unreachable("a kind of reduction");
}

bool isIdentity(Value value, ReductionKind kind) {
  DenseElementsAttr constant = constantOf(value);
  if (!constant || !constant.isSplat())
    return false;
  TypedAttr identity = reductionIdentity(kind, elementOf(value));
  auto is = constant.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(identity)) {
    const APFloat actual = cast<FloatAttr>(is).getValue();
    bool isZero = number.getValue().isZero() && actual.isZero(); // of either sign: a sum of zeros is one
    return isZero || actual.bitwiseIsEqual(number.getValue());
  }
  return cast<IntegerAttr>(is).getValue() == cast<IntegerAttr>(identity).getValue();
}

} // namespace dgc::import
