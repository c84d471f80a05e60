// Layers that are written once: repeated, or called by name.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/ModelBody.h"
#include "dialects/dgc/Names.h"

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/BlockOps.cpp.inc"

namespace dgc {
void registerBlockOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/BlockOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// RepeatOp
//===----------------------------------------------------------------------===//

ParseResult RepeatOp::parse(OpAsmParser &parser, OperationState &state) {
  Type untyped = UntypedType::get(parser.getContext());
  Properties &properties = state.getOrAddProperties<Properties>();
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  int64_t count = 0;
  if (parser.parseInteger(count) || parser.parseAttribute(properties.name) ||
      parser.parseAssignmentList(arguments, inputs))
    return failure();
  properties.count = parser.getBuilder().getI64IntegerAttr(count);
  for (OpAsmParser::Argument &argument : arguments)
    argument.type = untyped;
  Region *body = state.addRegion();
  if (parser.resolveOperands(inputs, untyped, state.operands) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) || parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), state.location);
  state.addTypes(SmallVector<Type>(arguments.size(), untyped));
  return success();
}

void RepeatOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getCount() << ' ' << getNameAttr() << " (";
  llvm::interleaveComma(llvm::zip_equal(getBody().getArguments(), getInputs()), printer,
                        [&](auto pair) { printer << std::get<0>(pair) << " = " << std::get<1>(pair); });
  printer << ") ";
  printer.printOptionalAttrDictWithKeyword((*this)->getDiscardableAttrDictionary().getValue());
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult RepeatOp::verifyRegions() {
  Block &body = getBody().front();
  size_t values = getInputs().size(), given = body.getTerminator()->getNumOperands();
  if (getCount() < 1)
    return emitOpError() << "repeats its body " << getCount() << " times: once is the least";
  if (getName().empty())
    return emitOpError("needs a name: that of its variable \"w\" is NAME.0.w in the first round");
  if (values == 0)
    return emitOpError(
        "has nothing that goes around: write (%inside = %before), and %inside is what the body works on");
  if (body.getNumArguments() != values || getNumResults() != values)
    return emitOpError() << "has " << values << " values before it, " << body.getNumArguments() << " inside and "
                         << getNumResults() << " results: these must be as many";
  if (given != values)
    return emitOpError() << "begins a round with " << values << " values, but its dgc.next gives " << given
                         << ": end the body with 'dgc.next' and a value for each of them";
  return checkUniqueNames(body);
}

//===----------------------------------------------------------------------===//
// BlockOp
//===----------------------------------------------------------------------===//

ParseResult BlockOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(state.getOrAddProperties<Properties>().sym_name) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  for (OpAsmParser::Argument &argument : arguments)
    argument.type = UntypedType::get(parser.getContext());
  Region *body = state.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes) || parseModelBody(parser, *body, arguments))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), state.location);
  return success();
}

void BlockOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(getBody().getArguments(), printer);
  printer << ") ";
  printer.printOptionalAttrDictWithKeyword((*this)->getDiscardableAttrDictionary().getValue());
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult BlockOp::verifyRegions() { return checkUniqueNames(getBody().front()); }

//===----------------------------------------------------------------------===//
// CallOp
//===----------------------------------------------------------------------===//

/// The text gives the number of results before the block is known, and memory is taken for them.
static constexpr size_t mostResults = 1 << 16;

ParseResult CallOp::parse(OpAsmParser &parser, OperationState &state) {
  Type untyped = UntypedType::get(parser.getContext());
  Properties &properties = state.getOrAddProperties<Properties>();
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  if (parser.parseAttribute(properties.callee) || parser.parseAttribute(properties.name) ||
      parser.parseOperandList(inputs, OpAsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDict(state.attributes) || parser.resolveOperands(inputs, untyped, state.operands))
    return failure();
  if (parser.getNumResults() > mostResults)
    return parser.emitError(parser.getNameLoc()) << "has " << parser.getNumResults() << " results: a call may have "
                                                 << mostResults << ", and those that its block returns";
  state.addTypes(SmallVector<Type>(parser.getNumResults(), untyped));
  return success();
}

void CallOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getCalleeAttr() << ' ' << getNameAttr() << " (" << getInputs() << ')';
  printer.printOptionalAttrDict((*this)->getDiscardableAttrDictionary().getValue());
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getName().empty())
    return emitOpError("needs a name: that of the variable \"w\" of the block is NAME.w");
  auto block = symbols.lookupNearestSymbolFrom<BlockOp>(*this, getCalleeAttr());
  if (!block)
    return emitOpError()
           << "calls " << getCalleeAttr()
           << ", and there is no such dgc.block next to the model (dgc-compile --import NAME=FILE makes one of a "
              "program of another framework)";
  size_t takes = block.getBody().getNumArguments(), gives = block.getBody().front().getTerminator()->getNumOperands();
  auto refuse = [&](StringRef what, size_t has, size_t needs) {
    InFlightDiagnostic error = emitOpError() << "of " << getCalleeAttr() << " has " << has << " " << what
                                             << (has == 1 ? "" : "s") << ", and the block has " << needs;
    error.attachNote(block.getLoc()) << "the block is here";
    return error;
  };
  if (getInputs().size() != takes)
    return refuse("argument", getInputs().size(), takes);
  if (getNumResults() != gives)
    return refuse("result", getNumResults(), gives);
  return success();
}
