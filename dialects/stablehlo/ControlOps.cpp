// Control flow, calls of what is not StableHLO, and random numbers.

#include "dialects/stablehlo/Assembly.h"
#include "dialects/stablehlo/Attributes.h"
#include "dialects/stablehlo/Verify.h"

using namespace mlir;
using namespace dgc::stablehlo;

#define GET_OP_CLASSES
#include "dialects/stablehlo/ControlOps.cpp.inc"

void StableHLODialect::registerControlOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/stablehlo/ControlOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Unresolved> operands;
  SMLoc location = parser.getCurrentLocation();
  auto parsePair = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parsePair))
    return failure();
  SmallVector<Type> types;
  if (!operands.empty() && (parser.parseColon() || parser.parseTypeList(types)))
    return failure();
  if (types.size() != operands.size())
    return parser.emitError(location) << "has " << operands.size() << " operands and " << types.size() << " types";
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  state.addTypes(types);
  Region *cond = state.addRegion(), *body = state.addRegion();
  return failure(parser.resolveOperands(operands, types, location, state.operands) ||
                 parser.parseOptionalAttrDictWithKeyword(state.attributes) || parser.parseKeyword("cond") ||
                 parser.parseRegion(*cond, arguments) || parser.parseKeyword("do") ||
                 parser.parseRegion(*body, arguments));
}

void WhileOp::print(OpAsmPrinter &printer) {
  printer << "(";
  // Both regions name their arguments alike, as the text has one list for them.
  if (!getCond().empty() && !getBody().empty())
    printer.shadowRegionArgs(getBody(), getCond().getArguments());
  llvm::interleaveComma(llvm::zip(getCond().getArguments(), getInputs()), printer, [&](auto pair) {
    printer.printOperand(std::get<0>(pair));
    printer << " = ";
    printer.printOperand(std::get<1>(pair));
  });
  printer << ")";
  if (!getInputs().empty())
    printer << " : " << getInputs().getTypes();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << " cond ";
  printer.printRegion(getCond(), /*printEntryBlockArgs=*/false);
  printer << " do ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult WhileOp::verify() {
  TypeRange types = getInputs().getTypes();
  if (getResultTypes() != types)
    return emitOpError("needs results of the types of the operands");
  Type pred = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  if (failed(checkRegion(*this, getCond(), "cond", types, pred)))
    return failure();
  return checkRegion(*this, getBody(), "body", types, types);
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

LogicalResult IfOp::verify() {
  if (tensorOf(getPred()).getRank() != 0)
    return emitOpError("needs a predicate that is a scalar");
  if (failed(checkRegion(*this, getTrueBranch(), "true_branch", {}, getResultTypes())))
    return failure();
  return checkRegion(*this, getFalseBranch(), "false_branch", {}, getResultTypes());
}

LogicalResult CaseOp::verify() {
  if (tensorOf(getIndex()).getRank() != 0)
    return emitOpError("needs an index that is a scalar");
  if (getBranches().empty())
    return emitOpError("needs a branch");
  for (Region &branch : getBranches())
    if (failed(checkRegion(*this, branch, "branches", {}, getResultTypes())))
      return failure();
  return success();
}

LogicalResult OptimizationBarrierOp::verify() {
  if (getOperand().getTypes() != getResultTypes())
    return emitOpError("needs results of the types of the operands");
  return success();
}

LogicalResult TupleOp::verify() {
  if (cast<TupleType>(getType()).getTypes() != getVal().getTypes())
    return emitOpError("needs a result of the types of the operands");
  return success();
}

LogicalResult GetTupleElementOp::verify() {
  auto type = cast<TupleType>(getOperand().getType());
  const auto index = static_cast<int64_t>(static_cast<int32_t>(getIndex()));
  if (index < 0 || index >= static_cast<int64_t>(type.size()))
    return emitOpError() << "takes element " << index << " of " << type.size();
  if (type.getType(index) != getType())
    return emitOpError() << "needs a result of the type " << type.getType(index);
  return success();
}

LogicalResult RngOp::verify() {
  auto a = tensorOf(getA()), b = tensorOf(getB()), result = tensorOf(getResult());
  if (a.getRank() != 0 || b.getRank() != 0 || tensorOf(getShape()).getRank() != 1)
    return emitOpError("needs two numbers that are scalars, and a shape that is a vector");
  if (a.getElementType() != b.getElementType() || a.getElementType() != result.getElementType())
    return emitOpError() << "needs numbers and a result of one element type, not " << a << ", " << b << " and "
                         << result;
  if (getRngDistribution() == RngDistribution::NORMAL && !isa<FloatType>(a.getElementType()))
    return emitOpError() << "needs floats for a normal distribution, not " << a.getElementType();
  if (tensorOf(getShape()).getDimSize(0) != result.getRank())
    return emitOpError() << "has a shape of " << tensorOf(getShape()).getDimSize(0) << " dimensions for " << result;
  return success();
}
