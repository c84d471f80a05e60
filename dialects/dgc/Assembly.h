//===- Assembly.h - custom assembly shared by the dgc ops -------*- C++ -*-===//
//
// `custom<OperandTypes>(type($a), type($b), ...)`, the last part of the
// assembly of most ops. Nothing is written when every operand is !dgc.untyped;
// one type when all are equal; else all types, separated by commas. A type of a
// variadic or optional operand is followed by a reference to the operand, which
// says how many types there are:
//
//   custom<OperandTypes>(type($input), type($bias), ref($bias))
//   custom<OperandTypes>(type($inputs), ref($inputs))
//
// Elementwise ops of several operands are parsed and printed by functions of
// their own, as a number may replace an operand in a model.
//
// Included by the .cpp file of each op family.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_ASSEMBLY_H
#define DGC_DIALECTS_DGC_ASSEMBLY_H

#include "dialects/MLIR.h"
#include "dialects/dgc/DGC.h"
#include "mlir/IR/OpImplementation.h"

namespace dgc {

namespace detail {
using UnresolvedOperand = OpAsmParser::UnresolvedOperand;

/// Collects where the parsed types go. A slot that belongs to an absent
/// optional operand is left out.
inline void collectTypeSlots(SmallVectorImpl<Type *> &slots) {}
template <typename... Rest> void collectTypeSlots(SmallVectorImpl<Type *> &slots, Type &type, Rest &&...rest);
template <typename... Rest>
void collectTypeSlots(SmallVectorImpl<Type *> &slots, Type &type, std::optional<UnresolvedOperand> &operand,
                      Rest &&...rest);
template <typename... Rest>
void collectTypeSlots(SmallVectorImpl<Type *> &slots, SmallVectorImpl<Type> &types,
                      SmallVectorImpl<UnresolvedOperand> &operands, Rest &&...rest);

template <typename... Rest> void collectTypeSlots(SmallVectorImpl<Type *> &slots, Type &type, Rest &&...rest) {
  slots.push_back(&type);
  collectTypeSlots(slots, std::forward<Rest>(rest)...);
}
template <typename... Rest>
void collectTypeSlots(SmallVectorImpl<Type *> &slots, Type &type, std::optional<UnresolvedOperand> &operand,
                      Rest &&...rest) {
  if (operand)
    slots.push_back(&type);
  collectTypeSlots(slots, std::forward<Rest>(rest)...);
}
template <typename... Rest>
void collectTypeSlots(SmallVectorImpl<Type *> &slots, SmallVectorImpl<Type> &types,
                      SmallVectorImpl<UnresolvedOperand> &operands, Rest &&...rest) {
  types.resize(operands.size());
  for (Type &type : types)
    slots.push_back(&type);
  collectTypeSlots(slots, std::forward<Rest>(rest)...);
}

/// Parses the types into the slots by the rule at the top of this file.
ParseResult parseTypesInto(OpAsmParser &parser, ArrayRef<Type *> slots);
ParseResult parseWrittenTypeInto(OpAsmParser &parser, TypeAttr &declared, Type &result, ArrayRef<Type *> operands);
/// Prints types by the rule at the top of this file.
void printTypesOf(OpAsmPrinter &printer, TypeRange types);

inline void collectTypes(SmallVectorImpl<Type> &types, Type type) {
  if (type)
    types.push_back(type);
}
inline void collectTypes(SmallVectorImpl<Type> &types, const OperandRange::type_range &range) {
  llvm::append_range(types, range);
}
inline void collectTypes(SmallVectorImpl<Type> &types, const OperandRange &) {}
inline void collectTypes(SmallVectorImpl<Type> &types, Value) {}
} // namespace detail

template <typename... Args> ParseResult parseOperandTypes(OpAsmParser &parser, Args &&...args) {
  SmallVector<Type *> slots;
  detail::collectTypeSlots(slots, std::forward<Args>(args)...);
  return detail::parseTypesInto(parser, slots);
}

template <typename... Args> void printOperandTypes(OpAsmPrinter &printer, Operation *, const Args &...args) {
  SmallVector<Type> types;
  (detail::collectTypes(types, args), ...);
  detail::printTypesOf(printer, types);
}

/// `custom<Padding>($padding)`: the low and high padding of each dimension, as
/// [[low, high], ...].
ParseResult parsePadding(OpAsmParser &parser, DenseI64ArrayAttr &padding);
void printPadding(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr padding);

/// `custom<WrittenType>($declared, type($result), type($operand), ...)`: the type of the result after an op that
/// infers none. In a model it is the declared one, and the result untyped until `-> TYPE` says what became of it. The
/// operands are scalars of i64, in a model untyped as well; optional and variadic ones are followed by a reference.
template <typename... Args>
ParseResult parseWrittenType(OpAsmParser &parser, TypeAttr &declared, Type &result, Args &&...operands) {
  SmallVector<Type *> slots;
  detail::collectTypeSlots(slots, std::forward<Args>(operands)...);
  return detail::parseWrittenTypeInto(parser, declared, result, slots);
}
void printWrittenTypeOf(OpAsmPrinter &printer, Operation *op, TypeAttr declared, Type result);
template <typename... Args>
void printWrittenType(OpAsmPrinter &printer, Operation *op, TypeAttr declared, Type result, const Args &...) {
  printWrittenTypeOf(printer, op, declared, result);
}

/// `$operand, $operand, ... attr-dict : types`, where a number may be an operand in a model.
ParseResult parseElementwiseOperands(OpAsmParser &parser, OperationState &state, unsigned count);

/// The assembly of an elementwise op of `count` operands, its clause (an attribute) before them.
template <typename OpT> ParseResult parseElementwise(OpAsmParser &parser, OperationState &state, unsigned count) {
  if constexpr (requires { OpT::parseClause(parser, state); })
    if (OpT::parseClause(parser, state))
      return failure();
  if (parseElementwiseOperands(parser, state, count))
    return failure();
  DictionaryAttr attributes = state.attributes.getDictionary(parser.getContext());
  return OpT::inferReturnTypes(parser.getContext(), state.location, state.operands, attributes,
                               state.getRawProperties(), state.regions, state.types);
}

template <typename OpT> void printElementwise(OpAsmPrinter &printer, OpT op) {
  if constexpr (requires { op.printClause(printer); })
    op.printClause(printer);
  printer << ' ' << op->getOperands();
  printer.printOptionalAttrDict(op->getDiscardableAttrDictionary().getValue());
  printer << ' ';
  detail::printTypesOf(printer, op->getOperandTypes());
}

} // namespace dgc

#endif // DGC_DIALECTS_DGC_ASSEMBLY_H
