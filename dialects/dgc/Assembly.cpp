// Custom assembly shared by the dgc ops.

#include "dialects/dgc/Assembly.h"

using namespace mlir;
using namespace mlir::dgc;

ParseResult mlir::dgc::detail::parseTypesInto(OpAsmParser &parser, ArrayRef<Type *> slots) {
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

void mlir::dgc::detail::printTypesOf(OpAsmPrinter &printer, TypeRange types) {
  if (llvm::all_of(types, llvm::IsaPred<UntypedType>))
    return;
  printer << ": ";
  if (llvm::all_equal(types))
    printer << types.front();
  else
    llvm::interleaveComma(types, printer);
}

ParseResult mlir::dgc::parsePadding(OpAsmParser &parser,
                                    DenseI64ArrayAttr &padding) {
  SmallVector<int64_t> values;
  auto parseDim = [&]() -> ParseResult {
    int64_t low, high;
    if (parser.parseLSquare() || parser.parseInteger(low) ||
        parser.parseComma() || parser.parseInteger(high) ||
        parser.parseRSquare())
      return failure();
    values.append({low, high});
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseDim,
                                     " in padding, as [[low, high], ...]"))
    return failure();
  padding = DenseI64ArrayAttr::get(parser.getContext(), values);
  return success();
}

void mlir::dgc::printPadding(OpAsmPrinter &printer, Operation *,
                             DenseI64ArrayAttr padding) {
  ArrayRef<int64_t> values = padding;
  printer << "[";
  for (size_t i = 0; i + 1 < values.size(); i += 2)
    printer << (i ? ", " : "") << "[" << values[i] << ", " << values[i + 1]
            << "]";
  printer << "]";
}
