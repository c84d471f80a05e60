// The text of loops and branches.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/RegionDims.h"

using namespace mlir;
using namespace dgc;

using Arguments = SmallVector<OpAsmParser::Argument>;
using Unresolved = SmallVector<OpAsmParser::UnresolvedOperand>;

/// `: types`, one for each value; nothing where all are untyped.
static ParseResult parseValueTypes(OpAsmParser &parser, size_t count, SmallVectorImpl<Type> &types) {
  if (failed(parser.parseOptionalColon())) {
    types.assign(count, UntypedType::get(parser.getContext()));
    return success();
  }
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseTypeList(types))
    return failure();
  if (types.size() != count)
    return parser.emitError(location) << types.size() << " types for " << count << " values: write one for each";
  return success();
}

static void printValueTypes(OpAsmPrinter &printer, ArrayRef<Type> types) {
  if (!types.empty() && !llvm::all_of(types, llvm::IsaPred<UntypedType>))
    printer << " : " << types;
}

/// `-> types` of the results; nothing where they are untyped.
static ParseResult parseResultTypes(OpAsmParser &parser, OperationState &state) {
  SmallVector<Type> types(parser.getNumResults(), UntypedType::get(parser.getContext()));
  if (succeeded(parser.parseOptionalArrow())) {
    types.clear();
    if (parser.parseTypeList(types))
      return failure();
  }
  state.addTypes(types);
  return success();
}

static void printResultTypes(OpAsmPrinter &printer, ValueRange results) {
  if (!anyUntyped(results) && !results.empty())
    printer << " -> " << results.getTypes();
}

static void printAssignments(OpAsmPrinter &printer, ValueRange inside, ValueRange outside) {
  printer << '(';
  llvm::interleaveComma(llvm::zip_equal(inside, outside), printer,
                        [&](auto pair) { printer << std::get<0>(pair) << " = " << std::get<1>(pair); });
  printer << ')';
}

static void printRegionOf(OpAsmPrinter &printer, Region &region) {
  printer << ' ';
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &state) {
  Arguments arguments, invariantArguments;
  Unresolved carried, invariants;
  SmallVector<Type> types;
  IntegerAttr rounds;
  if (succeeded(parser.parseOptionalKeyword("rounds")) &&
      parser.parseAttribute(rounds, parser.getBuilder().getI64Type()))
    return failure();
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseAssignmentList(arguments, carried))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("with")) && parser.parseAssignmentList(invariantArguments, invariants))
    return failure();
  const size_t numCarried = carried.size(), numInvariants = invariants.size();
  llvm::append_range(arguments, invariantArguments);
  llvm::append_range(carried, invariants);
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes) || parseValueTypes(parser, carried.size(), types) ||
      parser.resolveOperands(carried, types, location, state.operands))
    return failure();
  auto &properties = state.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {int32_t(numCarried), int32_t(numInvariants)};
  properties.rounds = rounds;
  // What is carried may be partial where it is zeros at first.
  SmallVector<Type> results(ArrayRef(types).take_front(numCarried));
  applyEncodings(state.attributes.getDictionary(parser.getContext()), results);
  state.addTypes(results);
  llvm::copy(results, types.begin());
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  Region *condition = state.addRegion(), *body = state.addRegion();
  return failure(parser.parseRegion(*condition, arguments) || parser.parseKeyword("do") ||
                 parser.parseRegion(*body, arguments));
}

void WhileOp::print(OpAsmPrinter &printer) {
  // Both regions have arguments of their own; those of the condition lend their names to the body, where it is read.
  auto inside = getCondition().getArguments();
  if (std::optional<uint64_t> rounds = getRounds())
    printer << " rounds " << *rounds;
  printer << ' ';
  printAssignments(printer, inside.take_front(getCarried().size()), getCarried());
  if (!getInvariants().empty()) {
    printer << " with ";
    printAssignments(printer, inside.drop_front(getCarried().size()), getInvariants());
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getDiscardableAttrDictionary().getValue());
  printValueTypes(printer, SmallVector<Type>(getOperandTypes()));
  printRegionOf(printer, getCondition());
  printer << " do";
  printer.shadowRegionArgs(getBody(), inside);
  printRegionOf(printer, getBody());
}

ParseResult IfOp::parse(OpAsmParser &parser, OperationState &state) {
  Arguments arguments;
  Unresolved inputs;
  OpAsmParser::UnresolvedOperand predicate;
  SmallVector<Type> types;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseOperand(predicate) || parser.parseAssignmentList(arguments, inputs) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) || parseValueTypes(parser, inputs.size() + 1, types))
    return failure();
  inputs.insert(inputs.begin(), predicate);
  if (parser.resolveOperands(inputs, types, location, state.operands))
    return failure();
  if (parseResultTypes(parser, state))
    return failure();
  for (auto [argument, type] : llvm::zip_equal(arguments, ArrayRef(types).drop_front()))
    argument.type = type;
  Region *thenRegion = state.addRegion(), *elseRegion = state.addRegion();
  return failure(parser.parseRegion(*thenRegion, arguments) || parser.parseKeyword("else") ||
                 parser.parseRegion(*elseRegion, arguments));
}

void IfOp::print(OpAsmPrinter &printer) {
  auto inside = getThenRegion().getArguments();
  printer << ' ' << getPredicate() << ' ';
  printAssignments(printer, inside, getInputs());
  printer.printOptionalAttrDictWithKeyword((*this)->getDiscardableAttrDictionary().getValue());
  printValueTypes(printer, SmallVector<Type>(getOperandTypes()));
  printResultTypes(printer, getResults());
  printRegionOf(printer, getThenRegion());
  printer << " else";
  printer.shadowRegionArgs(getElseRegion(), inside);
  printRegionOf(printer, getElseRegion());
}

ParseResult ScanOp::parse(OpAsmParser &parser, OperationState &state) {
  Arguments arguments;
  Unresolved operands;
  SmallVector<int32_t> segments;
  SmallVector<Type> types;
  SMLoc location = parser.getCurrentLocation();
  for (StringRef keyword : {"", "over", "with"}) {
    Arguments inside;
    Unresolved outside;
    if (keyword.empty() || succeeded(parser.parseOptionalKeyword(keyword)))
      if (parser.parseAssignmentList(inside, outside))
        return failure();
    segments.push_back(static_cast<int32_t>(outside.size()));
    llvm::append_range(arguments, inside);
    llvm::append_range(operands, outside);
  }
  Properties &properties = state.getOrAddProperties<Properties>();
  llvm::copy(segments, properties.operandSegmentSizes.begin());
  auto number = [&](StringRef keyword, IntegerAttr &attribute) -> ParseResult {
    int64_t value = 0;
    if (failed(parser.parseOptionalKeyword(keyword)))
      return success();
    if (parser.parseInteger(value))
      return failure();
    attribute = parser.getBuilder().getI64IntegerAttr(value);
    return success();
  };
  if (number("count", properties.count) || number("dim", properties.dimension))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("reverse")))
    properties.reverse = parser.getBuilder().getUnitAttr();
  if (succeeded(parser.parseOptionalKeyword("saves")))
    properties.saves = parser.getBuilder().getUnitAttr();
  if (number("saved", properties.saved))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("recomputes")))
    properties.recomputes = parser.getBuilder().getUnitAttr();
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes) || parseValueTypes(parser, operands.size(), types) ||
      parser.resolveOperands(operands, types, location, state.operands))
    return failure();
  if (parseResultTypes(parser, state))
    return failure();
  // A slice is without the dimension.
  const int64_t dim = properties.dimension ? properties.dimension.getInt() : 0;
  for (auto [i, argument, type] : llvm::enumerate(arguments, types)) {
    const bool isSlice = static_cast<int32_t>(i) >= segments[0] && static_cast<int32_t>(i) < segments[0] + segments[1];
    FailureOr<Type> inside = isSlice ? sliceType(type, dim) : FailureOr<Type>(type);
    if (failed(inside))
      return parser.emitError(location) << type << " has no slices along dimension " << dim;
    argument.type = *inside;
  }
  for (auto [argument, result] : llvm::zip(MutableArrayRef(arguments).take_front(segments[0]), state.types))
    if (equalUpToEncoding(TypeRange(argument.type), TypeRange(result))) // may be partial where it is zeros at first
      argument.type = result;
  return parser.parseRegion(*state.addRegion(), arguments);
}

void ScanOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printAssignments(printer, carriedInside(), getCarried());
  if (!getScanned().empty()) {
    printer << " over ";
    printAssignments(printer, scannedInside(), getScanned());
  }
  if (!getInvariants().empty()) {
    printer << " with ";
    printAssignments(printer, invariantsInside(), getInvariants());
  }
  if (std::optional<uint64_t> count = getCount())
    printer << " count " << static_cast<int64_t>(*count);
  if (getDimension() != 0)
    printer << " dim " << getDimension();
  if (getReverse())
    printer << " reverse";
  if (getSaves())
    printer << " saves";
  if (getSaved() != 0)
    printer << " saved " << getSaved();
  if (getRecomputes())
    printer << " recomputes";
  printer.printOptionalAttrDictWithKeyword((*this)->getDiscardableAttrDictionary().getValue());
  printValueTypes(printer, SmallVector<Type>(getOperandTypes()));
  printResultTypes(printer, getResults());
  printRegionOf(printer, getBody());
}
