// Custom assembly shared by the dgc ops.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/Clauses.h"
#include "dialects/dgc/ModelBody.h"

using namespace mlir;
using namespace dgc;

ParseResult dgc::detail::parseTypesInto(OpAsmParser &parser, ArrayRef<Type *> slots) {
  if (failed(parser.parseOptionalColon())) {
    for (Type *slot : slots)
      *slot = UntypedType::get(parser.getContext());
    return success();
  }
  SMLoc location = parser.getCurrentLocation();
  SmallVector<Type> types;
  if (parser.parseTypeList(types))
    return failure();
  if (types.size() == 1)
    types.resize(slots.size(), types.front());
  if (types.size() != slots.size())
    return parser.emitError(location) << types.size() << " types for " << slots.size()
                                      << " operands: write one type for each operand, or a single one "
                                         "where all "
                                         "operands have the same type";
  for (auto [slot, type] : llvm::zip_equal(slots, types))
    *slot = type;
  return success();
}

void dgc::detail::printTypesOf(OpAsmPrinter &printer, TypeRange types) {
  if (llvm::all_of(types, llvm::IsaPred<UntypedType>))
    return;
  printer << ": ";
  if (llvm::all_equal(types))
    printer << types.front();
  else
    llvm::interleaveComma(types, printer);
}

ParseResult dgc::detail::parseWrittenTypeInto(OpAsmParser &parser, TypeAttr &declared, Type &result,
                                              ArrayRef<Type *> operands) {
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseType(result))
    return failure();
  bool isUntyped = false;
  if (ModelBodyScope::innermost()) {
    isUntyped = failed(parser.parseOptionalArrow());
    if (isUntyped) {
      if (!isa<RankedTensorType>(result))
        return parser.emitError(location) << "expected a tensor type such as tensor<?x4xi32>, not " << result;
      declared = TypeAttr::get(result);
      result = UntypedType::get(parser.getContext());
    } else if (parser.parseType(result)) {
      return failure();
    }
  }
  for (Type *operand : operands)
    *operand = isUntyped ? result : Type(RankedTensorType::get({}, parser.getBuilder().getI64Type()));
  return success();
}

void dgc::printWrittenTypeOf(OpAsmPrinter &printer, Operation *op, TypeAttr declared, Type result) {
  printer << (declared ? declared.getValue() : result);
  if (!isa<UntypedType>(result) && isInModelBody(op))
    printer << " -> " << result;
}

namespace {
/// An operand as it is written: a value, or a number.
struct WrittenOperand {
  OpAsmParser::UnresolvedOperand value;
  Value literal;
};
} // namespace

static ParseResult parseOperandOrNumber(OpAsmParser &parser, WrittenOperand &operand) {
  OptionalParseResult isValue = parser.parseOptionalOperand(operand.value);
  if (isValue.has_value())
    return *isValue;
  SMLoc location = parser.getCurrentLocation();
  if (!startsLiteral(parser))
    return parser.emitError(location, "expected a value such as %x or, in a model, a number such as 0.5");
  TypedAttr number;
  if (parseLiteral(parser, number))
    return failure();
  ModelBodyScope *body = ModelBodyScope::innermost();
  if (!body)
    return parser.emitError(location,
                            "only in a model may a number be an operand; write a dgc.constant for it, such as "
                            "dgc.constant dense<0.5> : tensor<4xf32>");
  operand.literal = body->addLiteral(parser.getEncodedSourceLoc(location), number);
  return success();
}

ParseResult dgc::parseElementwiseOperands(OpAsmParser &parser, OperationState &state, unsigned count) {
  SmallVector<WrittenOperand> operands(count);
  for (unsigned i = 0; i < count; ++i)
    if ((i > 0 && parser.parseComma()) || parseOperandOrNumber(parser, operands[i]))
      return failure();
  SmallVector<Type> types(count);
  SmallVector<Type *> slots;
  for (auto [operand, type] : llvm::zip_equal(operands, types)) {
    if (operand.literal)
      type = operand.literal.getType();
    else
      slots.push_back(&type);
  }
  if (parser.parseOptionalAttrDict(state.attributes) || detail::parseTypesInto(parser, slots))
    return failure();
  for (auto [operand, type] : llvm::zip_equal(operands, types)) {
    if (operand.literal)
      state.operands.push_back(operand.literal);
    else if (parser.resolveOperand(operand.value, type, state.operands))
      return failure();
  }
  return success();
}

ParseResult dgc::parsePadding(OpAsmParser &parser, DenseI64ArrayAttr &padding) {
  SmallVector<int64_t> values;
  auto parseDim = [&]() -> ParseResult {
    int64_t low, high;
    if (parser.parseLSquare() || parser.parseInteger(low) || parser.parseComma() || parser.parseInteger(high) ||
        parser.parseRSquare())
      return failure();
    values.append({low, high});
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseDim, " in padding, as [[low, high], ...]"))
    return failure();
  padding = DenseI64ArrayAttr::get(parser.getContext(), values);
  return success();
}

void dgc::printPadding(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr padding) {
  ArrayRef<int64_t> values = padding;
  printer << "[";
  for (size_t i = 0; i + 1 < values.size(); i += 2)
    printer << (i ? ", " : "") << "[" << values[i] << ", " << values[i + 1] << "]";
  printer << "]";
}
