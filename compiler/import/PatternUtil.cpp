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
  if (isa<ComplexType>(element))
    return std::nullopt;
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

std::pair<Value, Value> largestElements(TensorBuilder &b, Value x, int64_t k, Type indexElement) {
  auto type = tensorOf(x);
  const int64_t last = type.getRank() - 1;
  SmallVector<int64_t> kept = firstNumbers(last), column(type.getShape());
  column.back() = 1;
  auto indexTensor = RankedTensorType::get(type.getShape(), indexElement);
  Value numbers = IotaOp::create(b.builder, b.location, indexTensor, last, Value());
  Value none = b.broadcast(b.identity(ReductionKind::Min, indexElement), type.getShape(), {});
  ReductionKind max = kindFor(ReductionKind::Max, type.getElementType());
  Value lowest = b.broadcast(b.identity(max, type.getElementType()), type.getShape(), {});
  Value taken;
  SmallVector<Value> values, indices;
  for (int64_t round = 0; round < k; ++round) {
    Value left = taken ? b.select(taken, lowest, x) : x;
    Value best = b.reduce(max, left, {last});
    Value isBest = b.equal(left, b.broadcast(best, type.getShape(), kept));
    if (isa<FloatType>(type.getElementType()))
      isBest = OrOp::create(b.builder, b.location, isBest, b.compare(ComparisonDirection::NE, left, left));
    if (taken)
      isBest = AndOp::create(b.builder, b.location, isBest, NotOp::create(b.builder, b.location, taken));
    Value index = b.reduce(ReductionKind::Min, b.select(isBest, numbers, none), {last});
    Value now = b.equal(numbers, b.broadcast(index, type.getShape(), kept));
    taken = taken ? Value(OrOp::create(b.builder, b.location, taken, now)) : now;
    values.push_back(b.reshape(best, column));
    indices.push_back(b.reshape(index, column));
  }
  auto join = [&](ValueRange parts) -> Value {
    return parts.size() == 1 ? parts[0] : Value(ConcatenateOp::create(b.builder, b.location, parts, last));
  };
  return {join(values), join(indices)};
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

Value withInitial(TensorBuilder &b, ReductionKind kind, Value reduced, Value init) {
  if (isIdentity(init, kind))
    return reduced;
  Value all = tensorOf(reduced).getRank() == 0 ? init : b.broadcast(init, tensorOf(reduced).getShape(), {});
  return combine(b, kind, reduced, all);
}

} // namespace dgc::import
