// Custom assembly shared by the dgc ops.

#include "dialects/dgc/Assembly.h"

using namespace mlir;
using namespace mlir::dgc;

ParseResult mlir::dgc::detail::parseTypesInto(OpAsmParser &parser,
                                              ArrayRef<Type *> slots) {
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
    return parser.emitError(location)
           << types.size() << " types for " << slots.size()
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
