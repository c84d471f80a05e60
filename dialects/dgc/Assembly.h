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
// Included by the .cpp file of each op family.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_ASSEMBLY_H
#define DGC_DIALECTS_DGC_ASSEMBLY_H

#include "dialects/dgc/DGC.h"
#include "mlir/IR/OpImplementation.h"

namespace mlir::dgc {

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

} // namespace mlir::dgc

#endif // DGC_DIALECTS_DGC_ASSEMBLY_H
