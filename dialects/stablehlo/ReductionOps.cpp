// Ops that combine or order elements with a function that is given as a region.

#include "dialects/stablehlo/Assembly.h"
#include "dialects/stablehlo/Attributes.h"
#include "dialects/stablehlo/Verify.h"

using namespace mlir;
using namespace dgc::stablehlo;

#define GET_OP_CLASSES
#include "dialects/stablehlo/ReductionOps.cpp.inc"

void StableHLODialect::registerReductionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/stablehlo/ReductionOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// The form of reduce
//===----------------------------------------------------------------------===//

/// Makes the region of an op that is named alone: it combines its two arguments.
static ParseResult makeBody(OpAsmParser &parser, OperationName name, SMLoc location, ArrayRef<Type> inputs,
                            Region &region) {
  auto tensor = inputs.empty() ? RankedTensorType() : dyn_cast<RankedTensorType>(inputs.front());
  if (inputs.size() != 1 || !tensor)
    return parser.emitError(location) << "'applies' takes one tensor";
  Type type = RankedTensorType::get({}, tensor.getElementType());
  Location at = parser.getEncodedSourceLoc(location);
  Block &block = region.emplaceBlock();
  block.addArguments({type, type}, {at, at});
  OpBuilder builder(parser.getContext());
  builder.setInsertionPointToStart(&block);
  OperationState state(at, name, block.getArguments(), type);
  Operation *combined = builder.create(state);
  ReturnOp::create(builder, at, combined->getResults());
  return success();
}

/// Parses `reducer(%p: T, %q: T) (%r: U, %s: U) {..}`: a pair of arguments for each operand.
static ParseResult parseBody(OpAsmParser &parser, size_t count, Region &region) {
  SmallVector<OpAsmParser::Argument> firsts, seconds;
  if (parser.parseKeyword("reducer"))
    return failure();
  for (size_t i = 0; i < count; ++i)
    if (parser.parseLParen() || parser.parseArgument(firsts.emplace_back(), /*allowType=*/true) ||
        parser.parseComma() || parser.parseArgument(seconds.emplace_back(), /*allowType=*/true) || parser.parseRParen())
      return failure();
  firsts.append(seconds);
  return parser.parseRegion(region, firsts);
}

/// Parses `(%x init: %c), (%y init: %d)`.
static ParseResult parseInputs(OpAsmParser &parser, SmallVectorImpl<Unresolved> &operands) {
  SmallVector<Unresolved> inits;
  do {
    if (parser.parseLParen() || parser.parseOperand(operands.emplace_back()) || parser.parseKeyword("init") ||
        parser.parseColon() || parser.parseOperand(inits.emplace_back()) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  operands.append(inits);
  return success();
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<Unresolved> operands;
  SMLoc location = parser.getCurrentLocation();
  if (parseInputs(parser, operands))
    return failure();
  std::optional<OperationName> applied;
  SMLoc appliedLocation = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("applies"))) {
    appliedLocation = parser.getCurrentLocation();
    FailureOr<OperationName> name = parser.parseCustomOperationName();
    if (failed(name))
      return failure();
    // Only an op of two operands and one result, without attributes, can be named alone.
    if (!name->isRegistered() || !name->hasTrait<OpTrait::NOperands<2>::Impl>() ||
        !name->hasTrait<OpTrait::OneResult>() || !name->hasTrait<OpTrait::SameOperandsAndResultElementType>())
      return parser.emitError(appliedLocation) << "'" << *name << "' cannot combine two elements";
    applied = *name;
  }
  DenseI64ArrayAttr dimensions;
  FunctionType type;
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") || parser.parseEqual() ||
      parser.parseCustomAttributeWithFallback(dimensions) || parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(type) || parser.resolveOperands(operands, type.getInputs(), location, state.operands))
    return failure();
  state.addAttribute("dimensions", dimensions);
  state.addTypes(type.getResults());
  Region &region = *state.addRegion();
  ArrayRef<Type> inputs = type.getInputs().take_front(operands.size() / 2);
  return applied ? makeBody(parser, *applied, appliedLocation, inputs, region)
                 : parseBody(parser, operands.size() / 2, region);
}

/// The op that is all that the body does with its arguments, in their order; null where there is more.
static Operation *soleOp(ReduceOp reduce) {
  if (reduce.getInputs().size() != 1 || !reduce.getBody().hasOneBlock())
    return nullptr;
  Block &block = reduce.getBody().front();
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2)
    return nullptr;
  Operation &op = block.front();
  bool isSole = op.getOperands() == ValueRange(block.getArguments()) && op.getNumResults() == 1 &&
                op.getAttrs().empty() && block.back().getOperands() == op.getResults() &&
                op.hasTrait<OpTrait::SameOperandsAndResultElementType>();
  return isSole ? &op : nullptr;
}

void ReduceOp::print(OpAsmPrinter &printer) {
  llvm::interleaveComma(llvm::zip(getInputs(), getInitValues()), printer, [&](auto pair) {
    printer << "(" << std::get<0>(pair) << " init: " << std::get<1>(pair) << ")";
  });
  Operation *sole = soleOp(*this);
  if (sole)
    printer << " applies " << sole->getName();
  printer << " across dimensions = [" << getDimensions() << "]";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"dimensions"});
  printer << " : ";
  printer.printFunctionalType(*this);
  if (sole)
    return;
  printer << " reducer";
  size_t count = getInputs().size();
  for (size_t i = 0; i < count; ++i) {
    printer << (i == 0 ? "(" : " (");
    printer.printRegionArgument(getBody().getArgument(i));
    printer << ", ";
    printer.printRegionArgument(getBody().getArgument(i + count));
    printer << ")";
  }
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Checks that operands and results come in equal numbers, operands of one shape, and that the initial values are scalars
/// of their element types.
static LogicalResult checkReduction(Operation *op, ValueRange inputs, ValueRange inits, ValueRange results,
                                    Region &body, StringRef name) {
  if (inputs.empty() || results.size() != inputs.size())
    return op->emitOpError("needs operands, and a result for each");
  SmallVector<Type> scalars = scalarsOf(inputs), arguments = scalars;
  for (auto [input, init, result, scalar] : llvm::zip_equal(inputs, inits, results, scalars)) {
    if (tensorOf(input).getShape() != tensorOf(inputs.front()).getShape())
      return op->emitOpError("needs operands of one shape");
    if (init.getType() != scalar || tensorOf(result).getElementType() != tensorOf(input).getElementType())
      return op->emitOpError() << "needs an initial value and a result of the element type of " << input.getType();
  }
  llvm::append_range(arguments, scalars);
  return checkRegion(op, body, name, arguments, scalars);
}

LogicalResult ReduceOp::verify() {
  if (failed(checkReduction(*this, getInputs(), getInitValues(), getResults(), getBody(), "body")))
    return failure();
  auto type = tensorOf(getInputs().front());
  if (failed(checkDims(*this, "dimensions", getDimensions(), type.getRank())))
    return failure();
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(getDimensions(), static_cast<int64_t>(dim)))
      shape.push_back(size);
  for (Value result : getResults())
    if (failed(checkShape(*this, result, shape)))
      return failure();
  return success();
}

LogicalResult ReduceWindowOp::verify() {
  if (failed(checkReduction(*this, getInputs(), getInitValues(), getResults(), getBody(), "body")))
    return failure();
  auto type = tensorOf(getInputs().front());
  if (failed(checkPerDim(*this, "window_dimensions", getWindowDimensions(), type.getRank(), 1)))
    return failure();
  auto windows = windowOf(*this, getWindowDimensions(), getWindowStrides(), getBaseDilations(), getWindowDilations(),
                          getPadding());
  if (failed(windows))
    return failure();
  SmallVector<int64_t> shape;
  for (auto [size, window] : llvm::zip_equal(type.getShape(), *windows))
    shape.push_back(window.count(size));
  for (Value result : getResults())
    if (failed(checkShape(*this, result, shape)))
      return failure();
  return success();
}

LogicalResult SelectAndScatterOp::verify() {
  auto type = tensorOf(getOperand());
  SmallVector<int64_t> ones(type.getRank(), 1), shape;
  ArrayRef<int64_t> window = getWindowDimensions().value_or(ones);
  if (failed(checkPerDim(*this, "window_dimensions", window, type.getRank(), 1)))
    return failure();
  auto windows = windowOf(*this, window, getWindowStrides(), std::nullopt, std::nullopt, getPadding());
  if (failed(windows))
    return failure();
  for (auto [size, each] : llvm::zip_equal(type.getShape(), *windows))
    shape.push_back(each.count(size));
  Type scalar = RankedTensorType::get({}, type.getElementType());
  Type pred = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  if (getResult().getType() != type || getInitValue().getType() != scalar ||
      tensorOf(getSource()).getElementType() != type.getElementType())
    return emitOpError("needs a result of the type of the operand, and all else of its element type");
  if (failed(checkShape(*this, getSource(), shape)) ||
      failed(checkRegion(*this, getSelect(), "select", {scalar, scalar}, pred)))
    return failure();
  return checkRegion(*this, getScatter(), "scatter", {scalar, scalar}, scalar);
}

LogicalResult SortOp::verify() {
  if (getInputs().empty() || getInputs().getTypes() != getResultTypes())
    return emitOpError("needs operands, and results of their types");
  int64_t rank = tensorOf(getInputs().front()).getRank(), dim = getDimension();
  if (failed(checkDims(*this, "dimension", {dim < 0 ? dim + rank : dim}, rank)))
    return failure();
  SmallVector<Type> arguments;
  for (Type type : scalarsOf(getInputs()))
    arguments.append(2, type);
  Type pred = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  return checkRegion(*this, getComparator(), "comparator", arguments, pred);
}

/// Checks that `wholes` have the type of the operand, and the other values one element for each feature.
static LogicalResult checkBatchNorm(Operation *op, Value operand, int64_t feature, ValueRange wholes,
                                    ValueRange vectors) {
  RankedTensorType type = tensorOf(operand);
  if (failed(checkDims(op, "feature_index", feature, type.getRank())))
    return failure();
  Type vector = RankedTensorType::get({type.getDimSize(feature)}, type.getElementType());
  const bool fits = llvm::all_of(wholes.getTypes(), [&](Type each) { return each == type; }) &&
                    llvm::all_of(vectors.getTypes(), [&](Type each) { return each == vector; });
  return fits ? success()
              : op->emitOpError() << "of " << type << " needs values of this type, and of " << vector
                                  << " for its features";
}

LogicalResult BatchNormTrainingOp::verify() {
  return checkBatchNorm(*this, getOperand(), static_cast<int64_t>(getFeatureIndex()), getOutput(),
                        {getScale(), getOffset(), getBatchMean(), getBatchVar()});
}

LogicalResult BatchNormInferenceOp::verify() {
  return checkBatchNorm(*this, getOperand(), static_cast<int64_t>(getFeatureIndex()), getOutput(),
                        {getScale(), getOffset(), getMean(), getVariance()});
}

LogicalResult BatchNormGradOp::verify() {
  return checkBatchNorm(*this, getOperand(), static_cast<int64_t>(getFeatureIndex()),
                        {getGradOutput(), getGradOperand()},
                        {getScale(), getMean(), getVariance(), getGradScale(), getGradOffset()});
}

LogicalResult MapOp::verify() {
  return checkRegion(*this, getComputation(), "computation", scalarsOf(getInputs()), scalarsOf(getResult()));
}
