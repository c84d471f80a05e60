// Copies the body of a definition, with types.

#include "dialects/dgc/DefinitionWriter.h"
#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/Definition.h"
#include "dialects/dgc/TypeInference.h"

using namespace mlir;
using namespace dgc;

/// The most calls inside of one another.
static constexpr int mostCalls = 64;

void DefinitionWriter::bindParameters(ArrayAttr parameters, DictionaryAttr fields) {
  auto inside = definition->getRegion(0).getArguments().take_back(parameters.size());
  for (auto [parameter, argument] : llvm::zip_equal(parameters.getAsRange<ParameterAttr>(), inside))
    numbers[argument] = valueOf(parameter, fields);
}

/// Says that each value of `to` is what that of `from` is now: a number or a tensor.
void DefinitionWriter::bind(ValueRange to, ValueRange from) {
  SmallVector<std::pair<TypedAttr, Value>> values;
  for (Value value : from)
    values.push_back({numbers.lookup(value), tensors.lookupOrNull(value)});
  for (auto [value, known] : llvm::zip_equal(to, values)) {
    numbers.erase(value);
    if (known.first)
      numbers[value] = known.first;
    else
      tensors.map(value, known.second);
  }
}

LogicalResult DefinitionWriter::write() { return write(definition->getRegion(0).front()); }

LogicalResult DefinitionWriter::write(Block &block) {
  for (Operation &original : block.without_terminator())
    if (failed(write(original)))
      return failure();
  return success();
}

LogicalResult DefinitionWriter::write(Operation &original) {
  if (auto literal = dyn_cast<LiteralOp>(original)) {
    numbers[literal.getResult()] = literal.getValue();
    return success();
  }
  if (auto repeated = dyn_cast<RepeatOp>(original))
    return repeat(repeated);
  if (auto called = dyn_cast<CallOp>(original))
    return call(called);
  if (auto asked = dyn_cast<SizeOp>(original))
    return size(asked);
  if (auto select = dyn_cast<SelectOp>(original))
    if (auto truth = dyn_cast_or_null<BoolAttr>(numbers.lookup(select.getPred()))) {
      bind(select->getResults(), ValueRange(truth.getValue() ? select.getOnTrue() : select.getOnFalse()));
      return success();
    }
  bool areNumbers = llvm::all_of(original.getOperands(), [&](Value value) { return isNumber(value); });
  if (areNumbers && original.getNumOperands() > 0 && isa<ElementwiseOpInterface>(original))
    return evaluate(original);
  return copy(original);
}

LogicalResult DefinitionWriter::size(SizeOp size) {
  if (isNumber(size.getOperand()))
    return size.emitOpError("takes a tensor, not a number");
  RankedTensorType type = dgc::tensorOf(tensors.lookup(size.getOperand()));
  const auto asked = static_cast<int64_t>(size.getDim());
  const int64_t dim = asked < 0 ? asked + type.getRank() : asked;
  if (dim < 0 || dim >= type.getRank())
    return size.emitOpError() << "asks for dimension " << asked << " of " << type;
  numbers[size.getResult()] = builder.getF64FloatAttr(double(type.getDimSize(dim)));
  return success();
}

LogicalResult DefinitionWriter::repeat(RepeatOp repeat) {
  Block &body = repeat.getBody().front();
  bind(body.getArguments(), repeat.getInputs());
  for (int64_t round = 0, count = repeat.getCount(); round < count; ++round) {
    if (failed(write(body)))
      return failure();
    bind(round + 1 < count ? ValueRange(body.getArguments()) : ValueRange(repeat.getResults()),
         body.getTerminator()->getOperands());
  }
  return success();
}

/// Blocks that a definition of a model calls have been written out in it, unless the passes before have not run.
LogicalResult DefinitionWriter::call(CallOp call) {
  auto block = SymbolTable::lookupNearestSymbolFrom<BlockOp>(definition, call.getCalleeAttr());
  if (!block)
    return call.emitOpError() << "calls " << call.getCalleeAttr() << ", and there is no such dgc.block";
  if (++depth > mostCalls)
    return call.emitOpError() << "is inside of " << mostCalls << " others: does a block call itself?";
  Block &body = block.getBody().front();
  bind(body.getArguments(), call.getInputs());
  if (failed(write(body)))
    return failure();
  bind(call.getResults(), body.getTerminator()->getOperands());
  --depth;
  return success();
}

/// Computes an elementwise op on numbers, in f64.
LogicalResult DefinitionWriter::evaluate(Operation &original) {
  Block block;
  OpBuilder inside(builder.getContext());
  inside.setInsertionPointToEnd(&block);
  IRMapping mapping;
  SmallVector<Attribute> constants;
  for (Value operand : original.getOperands()) {
    TypedAttr number = numbers.lookup(operand);
    if (auto integer = dyn_cast<IntegerAttr>(number); integer && !integer.getType().isInteger(1))
      number =
          inside.getF64FloatAttr(integer.getType().isUnsignedInteger() ? double(integer.getValue().getZExtValue())
                                                                       : double(integer.getValue().getSExtValue()));
    constants.push_back(DenseElementsAttr::get(RankedTensorType::get({}, number.getType()), Attribute(number)));
    mapping.map(operand, ConstantOp::create(inside, original.getLoc(), cast<ElementsAttr>(constants.back())));
  }
  Operation *copied = inside.clone(original, mapping);
  SmallVector<OpFoldResult> folded;
  if (failed(inferTypes(copied, 0)))
    return failure();
  if (failed(copied->fold(constants, folded)) || folded.size() != 1)
    return original.emitOpError("has numbers alone as operands, and is not computed of such");
  Attribute value = dyn_cast<Attribute>(folded[0]);
  if (auto operand = dyn_cast<Value>(folded[0]))
    value = cast<ConstantOp>(operand.getDefiningOp()).getValue();
  auto scalar = cast<TypedAttr>(cast<DenseElementsAttr>(value).getSplatValue<Attribute>());
  if (auto number = dyn_cast<FloatAttr>(scalar))
    scalar = inside.getF64FloatAttr(number.getValueAsDouble());
  else if (!scalar.getType().isInteger(1))
    return original.emitOpError("makes an integer of a number: numbers are floats here");
  numbers[original.getResult(0)] = scalar;
  return success();
}

/// Scalars that meet floats of more bits become such.
void DefinitionWriter::widenScalars(Operation *copied) {
  auto elementwise = dyn_cast<ElementwiseOpInterface>(copied);
  if (!elementwise)
    return;
  Type widest;
  MutableArrayRef<OpOperand> operands = copied->getOpOperands().drop_front(elementwise.getFirstOfOneElementType());
  auto floatOf = [](Value value) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    return tensor ? dyn_cast<FloatType>(tensor.getElementType()) : FloatType();
  };
  for (OpOperand &operand : operands)
    if (FloatType type = floatOf(operand.get()); type && (!widest || type.getWidth() > widest.getIntOrFloatBitWidth()))
      widest = type;
  CompositeBuilder b(builder, copied->getLoc());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(copied);
  for (OpOperand &operand : operands)
    if (floatOf(operand.get()) && dgc::tensorOf(operand.get()).getRank() == 0)
      operand.set(b.convert(operand.get(), widest));
}

LogicalResult DefinitionWriter::copy(Operation &original) {
  SmallVector<Operation *> literals;
  IRMapping mapping;
  for (Value operand : original.getOperands()) {
    if (!isNumber(operand)) {
      mapping.map(operand, tensors.lookup(operand));
      continue;
    }
    auto literal =
        LiteralOp::create(builder, original.getLoc(), UntypedType::get(builder.getContext()), numbers.lookup(operand));
    literals.push_back(literal);
    mapping.map(operand, literal.getResult());
  }
  Operation *copied = builder.clone(original, mapping);
  widenScalars(copied);
  if (failed(inferTypes(copied, 0)))
    return failure();
  copied->walk([&](LiteralOp literal) { literals.push_back(literal); });
  for (Operation *literal : literals)
    literal->erase();
  if (isBuiltin)
    copied->setLoc(location);
  for (auto [before, after] : llvm::zip_equal(original.getResults(), copied->getResults())) {
    numbers.erase(before); // of a round or a call before
    tensors.map(before, after);
  }
  return success();
}

void DefinitionWriter::moveTo(OpBuilder &target, ValueRange results) {
  llvm::SmallDenseSet<Value> kept(results.begin(), results.end());
  for (Operation &each : llvm::make_early_inc_range(llvm::reverse(scratch)))
    if (each.use_empty() && llvm::none_of(each.getResults(), [&](Value value) { return kept.contains(value); }))
      each.erase();
  for (Operation &each : llvm::make_early_inc_range(scratch)) {
    each.remove();
    target.insert(&each);
  }
}
