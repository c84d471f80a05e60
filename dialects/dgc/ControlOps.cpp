// Loops and branches that are decided when the program runs.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/RegionDims.h"
#include "dialects/dgc/TensorUtil.h"

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/ControlOps.cpp.inc"

namespace dgc {
void registerControlOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ControlOps.cpp.inc"
      >();
}
} // namespace dgc

using Arguments = SmallVector<OpAsmParser::Argument>;
using Unresolved = SmallVector<OpAsmParser::UnresolvedOperand>;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

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
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  state.getOrAddProperties<Properties>().operandSegmentSizes = {int32_t(numCarried), int32_t(numInvariants)};
  state.addTypes(ArrayRef(types).take_front(numCarried));
  Region *condition = state.addRegion(), *body = state.addRegion();
  return failure(parser.parseRegion(*condition, arguments) || parser.parseKeyword("do") ||
                 parser.parseRegion(*body, arguments));
}

void WhileOp::print(OpAsmPrinter &printer) {
  // Both regions have arguments of their own; those of the condition lend their names to the body, where it is read.
  auto inside = getCondition().getArguments();
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
  SmallVector<Type> types, results;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseOperand(predicate) || parser.parseAssignmentList(arguments, inputs) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) || parseValueTypes(parser, inputs.size() + 1, types))
    return failure();
  inputs.insert(inputs.begin(), predicate);
  if (parser.resolveOperands(inputs, types, location, state.operands))
    return failure();
  if (succeeded(parser.parseOptionalArrow())) {
    if (parser.parseTypeList(results))
      return failure();
  } else {
    results.assign(parser.getNumResults(), UntypedType::get(parser.getContext()));
  }
  state.addTypes(results);
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
  if (!anyUntyped(getResults()) && getNumResults() > 0)
    printer << " -> " << getResultTypes();
  printRegionOf(printer, getThenRegion());
  printer << " else";
  printer.shadowRegionArgs(getElseRegion(), inside);
  printRegionOf(printer, getElseRegion());
}

//===----------------------------------------------------------------------===//
// Constraints and types
//===----------------------------------------------------------------------===//

static bool isPredicate(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return isa<UntypedType>(type) || (tensor && tensor.getRank() == 0 && tensor.getElementType().isInteger(1));
}

/// Refuses ops that have to know of the whole batch or of the entry point that they are in.
static LogicalResult checkInside(Operation *op) {
  WalkResult result = op->walk([&](Operation *inner) -> WalkResult {
    if (!isa<BatchMeanOpInterface, ModeOpInterface>(inner))
      return WalkResult::advance();
    return inner->emitOpError() << "cannot be in a " << op->getName() << ": "
                                << (isa<ModeOpInterface>(inner) ? "what differs between training and evaluating"
                                                                : "a mean over the batch")
                                << " goes before or after it";
  });
  return failure(result.wasInterrupted());
}

/// Gives the arguments of the regions the types of the operands.
static LogicalResult typeArguments(Operation *op, ValueRange operands) {
  if (failed(checkInside(op)))
    return failure();
  for (Region &region : op->getRegions())
    for (auto [argument, operand] : llvm::zip_equal(region.getArguments(), operands))
      argument.setType(operand.getType());
  return success();
}

/// Checks that the arguments of a region are the operands.
static LogicalResult verifyArguments(Operation *op, Region &region, ValueRange operands) {
  if (equalUpToEncoding(region.getArgumentTypes(), operands.getTypes()))
    return success();
  return op->emitOpError() << "has a region with arguments of types (" << region.getArgumentTypes()
                           << "), and is given (" << operands.getTypes() << ")";
}

template <typename Terminator> static Terminator endOf(Region &region) {
  return dyn_cast<Terminator>(region.front().back());
}

LogicalResult WhileOp::verifyRegions() {
  if (getCarried().empty())
    return emitOpError("carries nothing: write (%inside = %before), and %inside is what a round works on");
  for (Region *region : getRegions())
    if (failed(verifyArguments(*this, *region, getOperands())))
      return failure();
  auto condition = endOf<ConditionOp>(getCondition());
  auto yield = endOf<YieldOp>(getBody());
  if (!condition || !yield)
    return emitOpError("needs a dgc.condition at the end of its first region and a dgc.yield at that of the second");
  if (!isPredicate(condition.getPredicate().getType()))
    return condition.emitOpError() << "is given " << condition.getPredicate().getType()
                                   << ": whether a loop goes on is one i1, tensor<i1>";
  if (yield.getValues().size() != getCarried().size())
    return yield.emitOpError() << "gives " << yield.getValues().size() << " values, and the loop carries "
                               << getCarried().size() << ": give the next value of each";
  for (auto [i, next, now, result] :
       llvm::enumerate(yield.getOperandTypes(), getCarried().getTypes(), getResultTypes()))
    if (!equalUpToEncoding(TypeRange(next), TypeRange(now)) || !equalUpToEncoding(TypeRange(result), TypeRange(now)))
      return emitOpError() << "carries value " << i << " as " << now << " into a round, " << next
                           << " out of it and gives " << result << ": these must be the same";
  return success();
}

LogicalResult WhileOp::inferTypesInside() { return typeArguments(*this, getOperands()); }

LogicalResult WhileOp::inferResultTypes() {
  for (auto [result, operand] : llvm::zip_equal(getResults(), getCarried()))
    result.setType(operand.getType());
  return verifyRegions();
}

LogicalResult IfOp::verifyRegions() {
  if (!isPredicate(getPredicate().getType()))
    return emitOpError() << "is decided by " << getPredicate().getType() << ": it must be one i1, tensor<i1>; "
                         << "dgc.select chooses element by element";
  if (getNumResults() == 0)
    return emitOpError("gives nothing: a branch without results computes nothing that is used");
  for (Region *region : getRegions()) {
    auto yield = endOf<YieldOp>(*region);
    if (!yield)
      return emitOpError("needs a dgc.yield at the end of both regions");
    if (failed(verifyArguments(*this, *region, getInputs())))
      return failure();
    if (!equalUpToEncoding(yield.getOperandTypes(), getResultTypes()))
      return yield.emitOpError() << "gives (" << yield.getOperandTypes() << "), and the dgc.if gives ("
                                 << getResultTypes() << "): both branches give the same types";
  }
  return success();
}

LogicalResult IfOp::inferTypesInside() { return typeArguments(*this, getInputs()); }

LogicalResult IfOp::inferResultTypes() {
  for (auto [result, value] : llvm::zip_equal(getResults(), endOf<YieldOp>(getThenRegion()).getValues()))
    result.setType(value.getType());
  return verifyRegions();
}

//===----------------------------------------------------------------------===//
// Devices and cost
//===----------------------------------------------------------------------===//

/// What the values of an op are in its regions.
static RegionDims dimsOf(WhileOp op) {
  RegionDims dims(op);
  Operation *end = op.getBody().front().getTerminator();
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    dims.tie(operand, op.getCondition().getArgument(i));
    dims.tie(operand, op.getBody().getArgument(i));
  }
  for (auto [operand, result, next] : llvm::zip_equal(op.getCarried(), op.getResults(), end->getOperands())) {
    dims.tie(operand, result);
    dims.tie(operand, next);
  }
  return dims;
}

static RegionDims dimsOf(IfOp op) {
  RegionDims dims(op);
  for (Region *region : op.getRegions()) {
    for (auto [operand, argument] : llvm::zip_equal(op.getInputs(), region->getArguments()))
      dims.tie(operand, argument);
    for (auto [result, value] : llvm::zip_equal(op.getResults(), region->front().getTerminator()->getOperands()))
      dims.tie(result, value);
  }
  return dims;
}

ShardingRule WhileOp::getShardingRule() { return dimsOf(*this).rule(); }
ShardingRule IfOp::getShardingRule() { return dimsOf(*this).rule(); }

LogicalResult WhileOp::localize(TypeRange globalOperands, TypeRange globalResults) {
  return dimsOf(*this).localize(globalOperands, globalResults);
}
LogicalResult IfOp::localize(TypeRange globalOperands, TypeRange globalResults) {
  return dimsOf(*this).localize(globalOperands, globalResults);
}

/// The cost of all ops in the region.
static OpCost costOf(Region &region) {
  OpCost cost;
  for (Operation &op : region.getOps())
    if (auto inner = dyn_cast<CostOpInterface>(op)) {
      OpCost more = inner.getCost();
      cost.flops += more.flops;
      cost.bytesRead += more.bytesRead;
      cost.bytesWritten += more.bytesWritten;
    }
  return cost;
}

// How many rounds there are is not known: that of one.
OpCost WhileOp::getCost() {
  OpCost cost = costOf(getCondition()), body = costOf(getBody());
  return {cost.flops + body.flops, cost.bytesRead + body.bytesRead, cost.bytesWritten + body.bytesWritten};
}

// The dearer branch.
OpCost IfOp::getCost() {
  OpCost first = costOf(getThenRegion()), second = costOf(getElseRegion());
  return first.flops + first.bytesRead > second.flops + second.bytesRead ? first : second;
}
