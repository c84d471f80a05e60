// Scalar ops as instructions of the bytecode.

#include "compiler/target/reference/NestWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace dgc {

using reference::Opcode;
using reference::Type;

std::optional<Type> bytecodeType(mlir::Type type) {
  if (type.isIndex())
    return Type::I64;
  if (type.isF64())
    return Type::F64;
  if (type.isF32())
    return Type::F32;
  if (type.isBF16())
    return Type::BF16;
  if (type.isF16())
    return Type::F16;
  if (auto integer = dyn_cast<IntegerType>(type))
    for (Type each : {Type::I1, Type::I8, Type::I16, Type::I32, Type::I64})
      if (reference::widthOf(each) == integer.getWidth())
        return each;
  return std::nullopt;
}

SmallVector<int64_t> stridesOf(TensorPlace place, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 0);
  int64_t stride = 1;
  for (unsigned dim = shape.size(); dim-- > 0 && !place.isSplat;) {
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

std::optional<Opcode> opcodeOf(Operation *op) {
  static const llvm::StringMap<Opcode> opcodes = {
      {"arith.addi", Opcode::AddI},
      {"arith.subi", Opcode::SubI},
      {"arith.muli", Opcode::MulI},
      {"arith.divsi", Opcode::DivS},
      {"arith.divui", Opcode::DivU},
      {"arith.remsi", Opcode::RemS},
      {"arith.remui", Opcode::RemU},
      {"arith.andi", Opcode::And},
      {"arith.ori", Opcode::Or},
      {"arith.xori", Opcode::Xor},
      {"arith.shli", Opcode::Shl},
      {"arith.shrsi", Opcode::ShrS},
      {"arith.shrui", Opcode::ShrU},
      {"arith.minsi", Opcode::MinS},
      {"arith.maxsi", Opcode::MaxS},
      {"arith.minui", Opcode::MinU},
      {"arith.maxui", Opcode::MaxU},
      {"arith.addf", Opcode::AddF},
      {"arith.subf", Opcode::SubF},
      {"arith.mulf", Opcode::MulF},
      {"arith.divf", Opcode::DivF},
      {"arith.remf", Opcode::RemF},
      {"arith.minimumf", Opcode::Minimum},
      {"arith.maximumf", Opcode::Maximum},
      {"arith.negf", Opcode::NegF},
      {"arith.select", Opcode::Select},
      {"arith.extsi", Opcode::ExtendS},
      {"arith.extui", Opcode::ExtendU},
      {"arith.trunci", Opcode::Narrow},
      {"arith.sitofp", Opcode::SignedToFloat},
      {"arith.uitofp", Opcode::UnsignedToFloat},
      {"arith.fptosi", Opcode::FloatToSigned},
      {"arith.fptoui", Opcode::FloatToUnsigned},
      {"arith.extf", Opcode::ConvertFloat},
      {"arith.truncf", Opcode::ConvertFloat},
      {"arith.bitcast", Opcode::Bitcast},
      {"arith.index_cast", Opcode::ExtendS},
      {"math.absi", Opcode::AbsI},
      {"math.ctpop", Opcode::CountOnes},
      {"math.ctlz", Opcode::LeadingZeros},
      {"math.absf", Opcode::AbsF},
      {"math.copysign", Opcode::CopySign},
      {"math.sqrt", Opcode::Sqrt},
      {"math.rsqrt", Opcode::Rsqrt},
      {"math.cbrt", Opcode::Cbrt},
      {"math.exp", Opcode::Exp},
      {"math.expm1", Opcode::ExpM1},
      {"math.log", Opcode::Log},
      {"math.log1p", Opcode::Log1P},
      {"math.powf", Opcode::Pow},
      {"math.sin", Opcode::Sin},
      {"math.cos", Opcode::Cos},
      {"math.tan", Opcode::Tan},
      {"math.atan2", Opcode::Atan2},
      {"math.tanh", Opcode::Tanh},
      {"math.erf", Opcode::Erf},
      {"math.floor", Opcode::Floor},
      {"math.ceil", Opcode::Ceil},
      {"math.round", Opcode::Round},
      {"math.roundeven", Opcode::RoundEven},
  };
  auto found = opcodes.find(op->getName().getStringRef());
  return found == opcodes.end() ? std::nullopt : std::optional(found->second);
}

NestWriter::NestWriter(Location loc, ArrayRef<int64_t> extents, FindPlace findPlace)
    : loc(loc), findPlace(std::move(findPlace)) {
  nest->extents.assign(extents.begin(), extents.end());
  nest->reduces.resize(extents.size());
}

uint32_t NestWriter::emit(Opcode opcode, Type type, ArrayRef<uint32_t> operands, uint64_t immediate) {
  auto at = [&](size_t i) { return i < operands.size() ? operands[i] : 0; };
  nest->body.emplace_back(static_cast<uint8_t>(opcode), type, at(0), at(1), at(2), immediate);
  return nest->body.size() - 1;
}

uint32_t NestWriter::integer(int64_t value, Type type) {
  return emit(Opcode::Constant, type, {}, static_cast<uint64_t>(value));
}

uint32_t NestWriter::load(Type type, const reference::AccessT &access) {
  nest->loads.push_back(std::make_unique<reference::AccessT>(access));
  return emit(Opcode::Load, type, {static_cast<uint32_t>(nest->loads.size() - 1)});
}

uint32_t NestWriter::scaled(uint32_t a, int64_t factor) {
  return factor == 1 ? a : emit(Opcode::MulI, Type::I64, {a, integer(factor)});
}

uint32_t NestWriter::loadAt(Type type, TensorPlace place, uint32_t element) {
  return emit(Opcode::LoadAt, type, {place.buffer, element});
}

std::optional<uint32_t> NestWriter::affine(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return integer(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return index(dim.getPosition());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  std::optional<uint32_t> lhs = binary ? affine(binary.getLHS()) : std::nullopt;
  std::optional<uint32_t> rhs = lhs ? affine(binary.getRHS()) : std::nullopt;
  if (!rhs)
    return std::nullopt;
  auto compute = [&](Opcode opcode, uint32_t a, uint32_t b) { return emit(opcode, Type::I64, {a, b}); };
  // The remainder of a division is never negative, that of the instruction is where the dividend is.
  auto remainder = [&] { return compute(Opcode::RemS, add(compute(Opcode::RemS, *lhs, *rhs), *rhs), *rhs); };
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return add(*lhs, *rhs);
  case AffineExprKind::Mul:
    return compute(Opcode::MulI, *lhs, *rhs);
  case AffineExprKind::Mod:
    return remainder();
  case AffineExprKind::FloorDiv:
    return compute(Opcode::DivS, compute(Opcode::SubI, *lhs, remainder()), *rhs);
  default:
    return std::nullopt;
  }
}

uint32_t NestWriter::current(unsigned output, Type stored) {
  bool isSum = reference::isFloat(stored) && llvm::is_contained(nest->reduces, true);
  return emit(Opcode::Current, isSum ? Type::F64 : stored, {output});
}

void NestWriter::output(reference::AccessT access, uint32_t value) {
  // What is read of it has the type of its value.
  for (const reference::Instruction &each : nest->body)
    if (static_cast<Opcode>(each.opcode()) == Opcode::Current && each.a() == nest->outputs.size())
      value = converted(value, Type(each.type()));
  auto output = std::make_unique<reference::OutputT>();
  output->access = std::make_unique<reference::AccessT>(std::move(access));
  output->value = value;
  nest->outputs.push_back(std::move(output));
}

uint32_t NestWriter::converted(uint32_t value, Type type) {
  if (typeOf(value) == type || !reference::isFloat(typeOf(value)))
    return value;
  return emit(Opcode::ConvertFloat, type, {value});
}

uint32_t NestWriter::negated(uint32_t truth) { return emit(Opcode::Xor, Type::I1, {truth, integer(1, Type::I1)}); }

uint32_t NestWriter::compareIntegers(arith::CmpIPredicate predicate, uint32_t a, uint32_t b) {
  using P = arith::CmpIPredicate;
  auto compare = [&](Opcode opcode, uint32_t x, uint32_t y) { return emit(opcode, Type::I1, {x, y}); };
  switch (predicate) {
  case P::eq:
    return compare(Opcode::EqualI, a, b);
  case P::ne:
    return negated(compare(Opcode::EqualI, a, b));
  case P::slt:
    return compare(Opcode::LessS, a, b);
  case P::sge:
    return negated(compare(Opcode::LessS, a, b));
  case P::sgt:
    return compare(Opcode::LessS, b, a);
  case P::sle:
    return negated(compare(Opcode::LessS, b, a));
  case P::ult:
    return compare(Opcode::LessU, a, b);
  case P::uge:
    return negated(compare(Opcode::LessU, a, b));
  case P::ugt:
    return compare(Opcode::LessU, b, a);
  case P::ule:
    return negated(compare(Opcode::LessU, b, a));
  }
  llvm_unreachable("all predicates are above");
}

Outcomes outcomesOf(arith::CmpFPredicate predicate) {
  // Up to ORD a predicate is a set of the outcomes equal, greater and less, a bit each; then these sets follow with the
  // outcome unordered, beginning at that of equal.
  constexpr auto all = static_cast<unsigned>(arith::CmpFPredicate::ORD);
  const auto number = static_cast<unsigned>(predicate);
  const bool isUnordered = number > all;
  unsigned ordered = isUnordered ? (number - all) % all : number;
  if (predicate == arith::CmpFPredicate::AlwaysTrue)
    ordered = all;
  return {(ordered & 1) != 0, (ordered & 2) != 0, (ordered & 4) != 0, isUnordered};
}

uint32_t NestWriter::compareFloats(arith::CmpFPredicate predicate, uint32_t a, uint32_t b) {
  const Outcomes outcomes = outcomesOf(predicate);
  uint32_t result = integer(0, Type::I1);
  auto allow = [&](bool isAllowed, Opcode opcode, uint32_t x, uint32_t y) {
    if (isAllowed != outcomes.unordered) // one that is unordered holds where the rest of the outcomes does not
      result = emit(Opcode::Or, Type::I1, {result, emit(opcode, Type::I1, {x, y})});
  };
  allow(outcomes.equal, Opcode::EqualF, a, b);
  allow(outcomes.greater, Opcode::LessF, b, a);
  allow(outcomes.less, Opcode::LessF, a, b);
  return outcomes.unordered ? negated(result) : result;
}

/// An element of a tensor at computed indices.
FailureOr<uint32_t> NestWriter::computeElement(tensor::ExtractOp op) {
  auto type = cast<RankedTensorType>(op.getTensor().getType());
  FailureOr<TensorPlace> place = findPlace(op.getTensor());
  if (failed(place))
    return failure();
  uint32_t element = integer(0);
  for (auto [position, stride] : llvm::zip_equal(op.getIndices(), stridesOf(*place, type.getShape()))) {
    FailureOr<uint32_t> number = scalar(position);
    if (failed(number))
      return failure();
    if (stride != 0)
      element = add(element, scaled(*number, stride));
  }
  return loadAt(*bytecodeType(type.getElementType()), *place, element);
}

/// Whether a product is added to a sum right away, and so need not be rounded.
static bool isAddend(Operation *op) {
  if (!isa<arith::MulFOp>(op) || !op->hasOneUse())
    return false;
  auto sum = dyn_cast<arith::AddFOp>(*op->getUsers().begin());
  auto generic = sum ? dyn_cast<linalg::LinalgOp>(sum->getParentOp()) : linalg::LinalgOp();
  if (!generic || generic.getNumReductionLoops() == 0)
    return false;
  return llvm::any_of(sum->getOperands(), [&](Value operand) {
    auto argument = dyn_cast<BlockArgument>(operand);
    return argument && argument.getOwner() == generic.getBlock() &&
           argument.getArgNumber() >= generic->getNumOperands() - generic.getNumDpsInits();
  });
}

FailureOr<uint32_t> NestWriter::compute(Operation *op) {
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return computeElement(extract);
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return this->index(index.getDim());
  std::optional<Type> type = op->getNumResults() == 1 ? bytecodeType(op->getResult(0).getType()) : std::nullopt;
  TypedAttr constant;
  if (type && matchPattern(op, m_Constant(&constant))) {
    if (auto number = dyn_cast<FloatAttr>(constant))
      return emit(Opcode::Constant, *type, {}, llvm::bit_cast<uint64_t>(number.getValue().convertToDouble()));
    return integer(cast<IntegerAttr>(constant).getValue().getSExtValue(), *type);
  }
  std::optional<Opcode> opcode = opcodeOf(op);
  const bool isComparison = isa<arith::CmpIOp, arith::CmpFOp>(op);
  if (!type || (!opcode && !isComparison) || op->getNumOperands() > 3)
    return op->emitOpError("cannot be interpreted: the reference has no such operation"), failure();
  SmallVector<uint32_t> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<uint32_t> number = scalar(operand);
    if (failed(number))
      return failure();
    operands.push_back(*number);
  }
  // Sums, and what is computed of them before they are complete, are in f64.
  const bool isConversion = opcode && (*opcode == Opcode::ConvertFloat || *opcode == Opcode::Bitcast);
  bool isWide = isAddend(op);
  for (auto [operand, number] : llvm::zip_equal(op->getOperands(), operands))
    isWide |= typeOf(number) != *bytecodeType(operand.getType());
  for (auto [operand, number] : llvm::zip_equal(op->getOperands(), operands))
    if (isWide)
      number = converted(number, isConversion ? *bytecodeType(operand.getType()) : Type::F64);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compareIntegers(compare.getPredicate(), operands[0], operands[1]);
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return compareFloats(compare.getPredicate(), operands[0], operands[1]);
  if (isa<arith::IndexCastOp>(op) && reference::widthOf(*type) < reference::widthOf(typeOf(operands[0])))
    opcode = Opcode::Narrow;
  const bool staysWide = isWide && !isConversion && reference::isFloat(*type);
  return emit(*opcode, staysWide ? Type::F64 : *type, operands);
}

FailureOr<uint32_t> NestWriter::scalar(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return emitError(loc, "a kernel has a scalar of unknown origin"), failure();
  FailureOr<uint32_t> number = compute(result.getOwner());
  if (succeeded(number))
    known[value] = *number;
  return number;
}

} // namespace dgc
