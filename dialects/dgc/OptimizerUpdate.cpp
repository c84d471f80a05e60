// Writes an optimizer out for one weight.

#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/OptimizerDefinition.h"
#include "dialects/dgc/TypeInference.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace dgc;

namespace {

/// Copies the body of a definition, with types, to a block of its own. A value of the body is a number, which has no type
/// yet, or a tensor.
class Writer {
public:
  Writer(OptimizerDefOp definition, ApplyOptimizerOp op)
      : definition(definition), op(op), builder(op.getContext()), isBuiltin(isa<StringAttr>(op.getDefinition())),
        kept(statesOf(definition, op.getFields())) {
    builder.setInsertionPointToEnd(&scratch);
  }

  FailureOr<SmallVector<Value>> run(OpBuilder &target) {
    bindArguments();
    Block &body = definition.getBody().front();
    if (failed(write(body)))
      return failure();
    SmallVector<Value> results;
    auto terminator = cast<ReturnOp>(body.getTerminator());
    for (auto [number, type] : llvm::enumerate(resultTypes())) {
      FailureOr<Value> value = result(terminator, number, type);
      if (failed(value))
        return failure();
      if (number == 0 || isKept(cast<OptimizerStateAttr>(definition.getStates()[number - 1])))
        results.push_back(*value);
    }
    moveTo(target, results);
    return results;
  }

private:
  /// The types of the new weight and of all states, also of those that there are not with these fields.
  SmallVector<RankedTensorType> resultTypes() {
    auto weight = withoutEncoding(tensorOf(op.getWeight()));
    SmallVector<RankedTensorType> types{weight};
    for (auto state : definition.getStates().getAsRange<OptimizerStateAttr>())
      types.push_back(state.typeFor(weight));
    return types;
  }

  void bindArguments();
  LogicalResult write(Block &block);
  LogicalResult write(Operation &original);
  LogicalResult repeat(RepeatOp repeat);
  LogicalResult call(CallOp call);
  LogicalResult evaluate(Operation &original);
  LogicalResult copy(Operation &original);
  void widenScalars(Operation *copied);
  FailureOr<Value> result(ReturnOp terminator, unsigned number, RankedTensorType type);
  void moveTo(OpBuilder &target, ValueRange results);

  /// Says that each value of `to` is what that of `from` is now: a number or a tensor.
  void bind(ValueRange to, ValueRange from) {
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
  bool isNumber(Value value) { return numbers.contains(value); }
  bool isKept(OptimizerStateAttr state) { return llvm::is_contained(kept, state); }

  OptimizerDefOp definition;
  ApplyOptimizerOp op;
  Block scratch;
  OpBuilder builder;
  static constexpr int mostCalls = 64;

  bool isBuiltin;
  int depth = 0;                            // of calls
  SmallVector<OptimizerStateAttr> kept;     // the states that there are with these fields
  llvm::DenseMap<Value, TypedAttr> numbers; // i1, i64 and ui64 as they are written, or f64
  IRMapping tensors;
};
} // namespace

void Writer::bindArguments() {
  CompositeBuilder b(builder, op.getLoc());
  Block::BlockArgListType arguments = definition.getBody().getArguments();
  auto wide = [&](Value value) { return b.convert(value, computeType(elementOf(value))); };
  tensors.map(arguments[0], wide(op.getWeight()));
  tensors.map(arguments[1], wide(op.getGradient()));
  tensors.map(arguments[2], b.convert(op.getRate(), builder.getF32Type()));
  tensors.map(arguments[3], op.getStep());
  unsigned next = 0;
  auto states = definition.getStates().getAsRange<OptimizerStateAttr>();
  auto inside = arguments.drop_front(OptimizerDefOp::firstState);
  for (auto [state, argument] : llvm::zip(states, inside)) {
    RankedTensorType type = state.typeFor(tensorOf(op.getWeight()));
    if (isKept(state))
      tensors.map(argument, wide(op.getStates()[next++]));
    else
      tensors.map(argument, b.splat(0, type.getShape(), computeType(type.getElementType())));
  }
  inside = arguments.take_back(definition.getParameters().size());
  for (auto [parameter, argument] :
       llvm::zip_equal(definition.getParameters().getAsRange<OptimizerParameterAttr>(), inside))
    numbers[argument] = valueOf(definition, parameter.getName(), op.getFields());
}

LogicalResult Writer::write(Block &block) {
  for (Operation &original : block.without_terminator())
    if (failed(write(original)))
      return failure();
  return success();
}

LogicalResult Writer::write(Operation &original) {
  if (auto literal = dyn_cast<LiteralOp>(original)) {
    numbers[literal.getResult()] = literal.getValue();
    return success();
  }
  if (auto repeated = dyn_cast<RepeatOp>(original))
    return repeat(repeated);
  if (auto called = dyn_cast<CallOp>(original))
    return call(called);
  if (auto size = dyn_cast<SizeOp>(original)) {
    if (isNumber(size.getOperand()))
      return size.emitOpError("takes a tensor, not a number");
    RankedTensorType type = tensorOf(tensors.lookup(size.getOperand()));
    const auto asked = static_cast<int64_t>(size.getDim());
    const int64_t dim = asked < 0 ? asked + type.getRank() : asked;
    if (dim < 0 || dim >= type.getRank())
      return size.emitOpError() << "asks for dimension " << asked << " of " << type;
    numbers[size.getResult()] = builder.getF64FloatAttr(double(type.getDimSize(dim)));
    return success();
  }
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

LogicalResult Writer::repeat(RepeatOp repeat) {
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
LogicalResult Writer::call(CallOp call) {
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
LogicalResult Writer::evaluate(Operation &original) {
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
void Writer::widenScalars(Operation *copied) {
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
    if (floatOf(operand.get()) && tensorOf(operand.get()).getRank() == 0)
      operand.set(b.convert(operand.get(), widest));
}

LogicalResult Writer::copy(Operation &original) {
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
    copied->setLoc(op.getLoc());
  for (auto [before, after] : llvm::zip_equal(original.getResults(), copied->getResults())) {
    numbers.erase(before); // of a round or a call before
    tensors.map(before, after);
  }
  return success();
}

FailureOr<Value> Writer::result(ReturnOp terminator, unsigned number, RankedTensorType type) {
  Value returned = terminator.getValues()[number];
  std::string what = "the new weight";
  if (number > 0)
    what = "the new \"" + cast<OptimizerStateAttr>(definition.getStates()[number - 1]).getName().str() + "\"";
  if (isNumber(returned))
    return terminator.emitOpError() << "gives a number for " << what << ", which is a tensor: of a weight of type "
                                    << op.getWeight().getType() << " it is " << type;
  CompositeBuilder b(builder, op.getLoc());
  Value value = tensors.lookup(returned);
  RankedTensorType given = tensorOf(value);
  if (isa<FloatType>(given.getElementType()))
    value = b.convert(value, type.getElementType());
  if (withoutEncoding(tensorOf(value)) != type)
    return terminator.emitOpError() << "gives a tensor of type " << given << " for " << what << ", which is " << type
                                    << " of a weight of type " << op.getWeight().getType();
  return value;
}

/// Moves what the results need, and takes what they do not away.
void Writer::moveTo(OpBuilder &target, ValueRange results) {
  llvm::SmallDenseSet<Value> kept(results.begin(), results.end());
  for (Operation &each : llvm::make_early_inc_range(llvm::reverse(scratch)))
    if (each.use_empty() && llvm::none_of(each.getResults(), [&](Value value) { return kept.contains(value); }))
      each.erase();
  for (Operation &each : llvm::make_early_inc_range(scratch)) {
    each.remove();
    target.insert(&each);
  }
}

FailureOr<SmallVector<Value>> dgc::buildUpdate(OptimizerDefOp definition, ApplyOptimizerOp op, OpBuilder &builder) {
  Location location = op.getLoc();
  ScopedDiagnosticHandler handler(op.getContext(), [&](Diagnostic &diagnostic) {
    diagnostic.attachNote(location) << "in the update of a weight of type " << op.getWeight().getType();
    return failure(); // it is reported as others are
  });
  return Writer(definition, op).run(builder);
}
