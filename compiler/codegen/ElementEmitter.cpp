//===- ElementEmitter.cpp -------------------------------------------------===//

#include "compiler/codegen/ElementEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dgc {

//===----------------------------------------------------------------------===//
// Numbers and memory
//===----------------------------------------------------------------------===//

Value ElementEmitter::constant(int64_t value) { return arith::ConstantIntOp::create(builder, loc, indexType, value); }

Value ElementEmitter::plus(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b, arith::IntegerOverflowFlags::nsw);
}

Value ElementEmitter::times(Value a, int64_t b) {
  return arith::MulIOp::create(builder, loc, a, constant(b), arith::IntegerOverflowFlags::nsw);
}

Value ElementEmitter::divide(Value value, int64_t by) {
  return by == 1 ? value : arith::DivUIOp::create(builder, loc, value, constant(by)).getResult();
}

Value ElementEmitter::modulo(Value value, int64_t by) {
  return by == 1 ? constant(0) : arith::RemUIOp::create(builder, loc, value, constant(by)).getResult();
}

Value ElementEmitter::below(Value a, int64_t b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, constant(b));
}

Value ElementEmitter::atMost(Value a, int64_t b) { return arith::MinUIOp::create(builder, loc, a, constant(b)); }

/// True where something is subtracted: a simplified expression may be negative in the middle, though it is not as a whole. So
/// `((i + 18) mod 5) floordiv 3` is simplified to `(i - 5 * ((i + 18) floordiv 5)) floordiv 3 + 6`.
static bool mayBeNegative(AffineExpr expr) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return number.getValue() < 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || expr.getKind() == AffineExprKind::Mod)
    return false;
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return mayBeNegative(binary.getLHS());
  return mayBeNegative(binary.getLHS()) || mayBeNegative(binary.getRHS());
}

/// The quotient, rounded down, or what is left, which is never negative. The divisor is positive.
Value ElementEmitter::divideDown(Value value, Value by, bool wantsRest) {
  Value quotient = arith::DivSIOp::create(builder, loc, value, by);
  Value rest = arith::SubIOp::create(builder, loc, value, arith::MulIOp::create(builder, loc, quotient, by));
  Value isBelow = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, rest, constant(0));
  if (wantsRest)
    return arith::SelectOp::create(builder, loc, isBelow, arith::AddIOp::create(builder, loc, rest, by), rest);
  return arith::SelectOp::create(builder, loc, isBelow, arith::SubIOp::create(builder, loc, quotient, constant(1)),
                                 quotient);
}

Value ElementEmitter::position(AffineExpr expr) {
  if (auto constantExpr = dyn_cast<AffineConstantExpr>(expr))
    return constant(constantExpr.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = position(binary.getLHS()), rhs = position(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(builder, loc, lhs, rhs, arith::IntegerOverflowFlags::nsw);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(builder, loc, lhs, rhs, arith::IntegerOverflowFlags::nsw);
  case AffineExprKind::Mod:
    if (mayBeNegative(binary.getLHS()))
      return divideDown(lhs, rhs, /*wantsRest=*/true);
    return arith::RemUIOp::create(builder, loc, lhs, rhs);
  default:
    if (mayBeNegative(binary.getLHS()))
      return divideDown(lhs, rhs, /*wantsRest=*/false);
    return arith::DivUIOp::create(builder, loc, lhs, rhs);
  }
}

/// A value as a symbol of index expressions.
AffineExpr ElementEmitter::symbolFor(Value value) {
  auto [it, added] = symbolOf.try_emplace(value, symbols.size());
  if (added)
    symbols.push_back(value);
  return getAffineSymbolExpr(it->second, context);
}

Type ElementEmitter::storageOf(Type type) { return type.isInteger(1) ? builder.getI8Type() : type; }

/// The memory of a stored value.
Value ElementEmitter::baseOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return kernel.getArgument(argument.getArgNumber());
  if (auto it = storage.find(value); it != storage.end())
    return it->second.memory.front();
  return globalOf(value);
}

/// A constant as a global of the module.
Value ElementEmitter::globalOf(Value value) {
  DenseElementsAttr data;
  [[maybe_unused]] bool isConstant = matchPattern(value, m_Constant(&data));
  assert(isConstant && "neither an argument, nor stored, nor constant");
  Value &global = globals[value];
  if (global)
    return global;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  std::string name = (kernel.getName() + "_constant" + Twine(globals.size())).str();
  auto type = cast<RankedTensorType>(value.getType());
  Type element = storageOf(type.getElementType());
  if (type.getElementType().isInteger(1)) {
    SmallVector<int8_t> bytes = llvm::map_to_vector(data.getValues<bool>(), [](bool bit) { return int8_t(bit); });
    data = DenseElementsAttr::get(RankedTensorType::get(type.getShape(), element), ArrayRef<int8_t>(bytes));
  }
  auto flat = data.reshape(RankedTensorType::get({type.getNumElements()}, element));
  auto arrayType = LLVM::LLVMArrayType::get(element, type.getNumElements());
  auto op = LLVM::GlobalOp::create(builder, loc, arrayType, /*isConstant=*/true, LLVM::Linkage::Private, name, flat,
                                   /*alignment=*/64);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  return global = LLVM::AddressOfOp::create(builder, loc, op);
}

Value MemoryAccess::addressOf(ElementEmitter &code, Place place, Type storage) {
  return LLVM::GEPOp::create(code.builder, code.loc, code.pointer, storage, place.memory,
                             ArrayRef<LLVM::GEPArg>{code.position(place.linear)});
}

Value ElementEmitter::addressOf(Value memory, Type storage, AffineExpr linear) {
  return access.addressOf(*this, {memory, linear}, storage);
}

Value ElementEmitter::load(Value memory, Type type, AffineExpr linear) {
  Type storage = storageOf(type);
  Place place = access.readAt(*this, {memory, linear});
  auto op = LLVM::LoadOp::create(builder, loc, storage, access.addressOf(*this, place, storage),
                                 access.alignmentAt(*this, place, storage));
  if (!groups.empty())
    op.setAccessGroupsAttr(builder.getArrayAttr(SmallVector<Attribute>(groups.begin(), groups.end())));
  if (storage == type)
    return op;
  Value zero = arith::ConstantIntOp::create(builder, loc, storage, 0);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, op, zero);
}

void ElementEmitter::store(Value value, Value memory, AffineExpr linear, Type type) {
  Type storage = storageOf(type);
  if (storage != type)
    value = arith::ExtUIOp::create(builder, loc, storage, value);
  auto op = LLVM::StoreOp::create(builder, loc, value, addressOf(memory, storage, linear),
                                  access.alignmentAt(*this, {memory, linear}, storage));
  if (!groups.empty())
    op.setAccessGroupsAttr(builder.getArrayAttr(SmallVector<Attribute>(groups.begin(), groups.end())));
}

/// Row-major position of an element in the memory that a stored value has.
AffineExpr ElementEmitter::positionIn(Value value, ArrayRef<AffineExpr> index) const {
  auto it = storage.find(value);
  unsigned rows = it == storage.end() ? 0 : it->second.rowDims;
  return linearize(shapeOf(value).drop_front(rows), index.drop_front(rows), context);
}

/// Stores an element of a root's value to all places where it is kept.
void ElementEmitter::storeEverywhere(Value value, ArrayRef<AffineExpr> index, Value scalarValue) {
  OpBuilder::InsertionGuard guard(builder);
  if (storeOnlyIf) {
    auto branch = scf::IfOp::create(builder, loc, storeOnlyIf, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  for (Value memory : storage[value].memory)
    store(scalarValue, memory, positionIn(value, index), elementOf(value));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value ElementEmitter::element(Value value, ArrayRef<AffineExpr> rawIndex) {
  Index index = normalize(value, rawIndex);
  if (Value known = lookup(keyOf(value, index)))
    return known;
  unsigned saved = current;
  moveTo(levelOf(index));
  Value result =
      graph.isBase(value) ? load(baseOf(value), elementOf(value), positionIn(value, index)) : definition(value, index);
  remember(value, index, result);
  moveTo(saved);
  return result;
}

/// `inside` where every expression is in [0, bound), else `outside`.
Value ElementEmitter::guarded(ArrayRef<std::pair<AffineExpr, int64_t>> bounds, Type type,
                              llvm::function_ref<Value()> inside, llvm::function_ref<Value()> outside) {
  Value condition;
  for (auto [expr, bound] : bounds) {
    Value at = position(expr);
    // As unsigned numbers, negative positions are beyond every bound.
    Value within = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, at, constant(bound));
    condition = condition ? arith::AndIOp::create(builder, loc, condition, within) : within;
  }
  if (!condition)
    return inside();
  auto branch = scf::IfOp::create(builder, loc, TypeRange{type}, condition, /*addElse=*/true);
  Operation *outer = scopes[current].before;
  unsigned saved = current;
  scopes[current].before = branch; // what does not depend on the branch goes before it
  auto fill = [&](Block *block, llvm::function_ref<Value()> make) {
    scopes.insert(scopes.begin() + current + 1, Scope(block, true));
    moveTo(current + 1);
    Value result = make();
    builder.setInsertionPointToEnd(block);
    scf::YieldOp::create(builder, loc, result);
    scopes.erase(scopes.begin() + saved + 1);
    current = saved;
  };
  fill(branch.thenBlock(), inside);
  fill(branch.elseBlock(), outside);
  scopes[saved].before = outer;
  moveTo(saved);
  return branch.getResult(0);
}

/// The difference of an index and an offset.
static AffineExpr shifted(AffineExpr expr, int64_t offset) { return simplify(expr - offset); }

Value ElementEmitter::ofSlice(tensor::ExtractSliceOp slice, ArrayRef<AffineExpr> index) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  Index source;
  unsigned next = 0;
  for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets())) {
    AffineExpr expr = dropped.test(dim) ? getAffineConstantExpr(0, context) : index[next++];
    expr = expr * slice.getStaticStrides()[dim];
    if (auto fixed = getConstantIntValue(offset))
      expr = expr + *fixed;
    else
      expr = expr + symbolFor(arith::IndexCastOp::create(builder, loc, indexType, scalar(cast<Value>(offset))));
    source.push_back(expr);
  }
  return element(slice.getSource(), source);
}

Value ElementEmitter::ofInsertion(tensor::InsertSliceOp insert, ArrayRef<AffineExpr> index) {
  llvm::SmallBitVector dropped = insert.getDroppedDims();
  Index source;
  SmallVector<std::pair<AffineExpr, int64_t>> bounds;
  for (auto [dim, expr] : llvm::enumerate(index)) {
    int64_t offset = insert.getStaticOffsets()[dim], stride = insert.getStaticStrides()[dim];
    int64_t reach = (insert.getStaticSizes()[dim] - 1) * stride + 1;
    AffineExpr inner = shifted(expr, offset);
    if (!dropped.test(dim))
      source.push_back(inner.floorDiv(stride));
    if (reach != insert.getDestType().getDimSize(dim) || offset != 0)
      bounds.push_back({inner, reach});
    if (stride != 1)
      bounds.push_back({inner % stride, 1});
  }
  return guarded(
      bounds, elementOf(insert.getResult()), [&] { return element(insert.getSource(), source); },
      [&] { return element(insert.getDest(), index); });
}

Value ElementEmitter::ofPad(tensor::PadOp pad, ArrayRef<AffineExpr> index) {
  Index source;
  SmallVector<std::pair<AffineExpr, int64_t>> bounds;
  for (auto [dim, expr] : llvm::enumerate(index)) {
    source.push_back(shifted(expr, pad.getStaticLow()[dim]));
    if (pad.getStaticLow()[dim] != 0 || pad.getStaticHigh()[dim] != 0)
      bounds.push_back({source.back(), pad.getSourceType().getDimSize(dim)});
  }
  return guarded(
      bounds, elementOf(pad.getResult()), [&] { return element(pad.getSource(), source); },
      [&] { return scalar(pad.getConstantPaddingValue()); });
}

/// The element, which is in input `input` or a later one; that input begins at `offset`.
Value ElementEmitter::ofConcatenation(tensor::ConcatOp concat, ArrayRef<AffineExpr> index, unsigned input,
                                      int64_t offset) {
  Value part = concat.getInputs()[input];
  Index source(index);
  AffineExpr &along = source[concat.getDim()];
  along = shifted(along, offset);
  if (input + 1 == concat.getInputs().size())
    return element(part, source);
  int64_t size = shapeOf(part)[concat.getDim()];
  return guarded(
      {{along, size}}, elementOf(part), [&] { return element(part, source); },
      [&] { return ofConcatenation(concat, index, input + 1, offset + size); });
}

Value ElementEmitter::ofReshape(Operation *reshape, ArrayRef<AffineExpr> index) {
  Value result = reshape->getResult(0), base = baseThroughReshapes(graph, reshape->getOperand(0));
  // Memory is in the same order before and after. A single element may be known without memory, and so may a value be
  // that a thread keeps.
  bool isKept = base && graph.rootOf.contains(base) && storage.lookup(base).memory.empty();
  // What the same loops have just computed is not in memory yet.
  if (Index below = base ? indexBelowReshapes(graph, reshape, index) : Index(); !below.empty())
    if (Value known = lookup(keyOf(base, below)))
      return known;
  if (base && !isKept && storage.lookup(base).rowDims == 0 && sizeOf(shapeOf(base)) != 1)
    return load(baseOf(base), elementOf(result), linearize(shapeOf(result), index, context));
  return element(reshape->getOperand(0), reshapedIndex(reshape, index));
}

Value ElementEmitter::definition(Value value, ArrayRef<AffineExpr> index) {
  Operation *op = value.getDefiningOp();
  Type type = elementOf(value);
  if (!op)
    return load(baseOf(value), type, linearize(shapeOf(value), index, context));
  if (isPointwise(op)) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    unsigned number = cast<OpResult>(value).getResultNumber();
    Index loops = *loopsAt(linalgOp, number, index);
    SmallVector<Value> inits;
    for (OpOperand &init : linalgOp.getDpsInitsMutable())
      inits.push_back(linalgOp.payloadUsesValueFromOperand(&init)
                          ? element(init.get(), applyMap(linalgOp.getMatchingIndexingMap(&init), loops))
                          : Value());
    return body(linalgOp, loops, inits)[number];
  }
  return TypeSwitch<Operation *, Value>(op)
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
          [&](Operation *reshape) { return ofReshape(reshape, index); })
      .Case([&](tensor::ExtractSliceOp slice) { return ofSlice(slice, index); })
      .Case([&](tensor::InsertSliceOp insert) { return ofInsertion(insert, index); })
      .Case([&](tensor::PadOp pad) { return ofPad(pad, index); })
      .Case([&](tensor::ConcatOp concat) { return ofConcatenation(concat, index, 0, 0); })
      .Case([&](tensor::CastOp cast) { return element(cast.getSource(), index); })
      .Case([&](tensor::SplatOp splat) { return scalar(splat.getInput()); })
      .Case([&](tensor::FromElementsOp from) { return scalar(from.getElements().front()); })
      .Case([&](arith::ConstantOp constantOp) -> Value {
        auto data = cast<DenseElementsAttr>(constantOp.getValue());
        if (data.isSplat())
          return arith::ConstantOp::create(builder, loc, data.getSplatValue<TypedAttr>());
        // Not from its base, which is a result of the kernel where the constant is one.
        return load(globalOf(value), type, linearize(shapeOf(value), index, context));
      })
      .Default([&](Operation *) -> Value { // an empty tensor: any value will do
        return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
      });
}

} // namespace dgc
