//===- Definition.h - functions with parameters -----------------*- C++ -*-===//
//
// What optimizers and schedules that are written in the language have in common: parameters, to which a model gives values,
// and a body of numbers and tensors without types.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_DEFINITION_H
#define DGC_DIALECTS_DGC_DEFINITION_H

#include "dialects/MLIR.h"
#include "dialects/dgc/DGC.h"

namespace dgc {

/// Whether it is a dgc.optimizer_def or a dgc.schedule_def, and whether it is in one.
bool isDefinition(Operation *op);
bool isInDefinition(Operation *op);

/// How a reference to a definition is written: `sgd`, one of the language, or `@mine`.
std::string textOf(Attribute reference);

/// The names of the definitions of a module that are not private, in their order.
SmallVector<StringRef> publicNames(ModuleOp module);

/// The parameter of this name; null where there is none.
ParameterAttr findParameter(ArrayAttr parameters, StringRef name);

/// The value of a parameter: what is given, or what holds otherwise; null where there is neither.
TypedAttr valueOf(ParameterAttr parameter, DictionaryAttr fields);

/// A truth that holds, or a number that is not 0.
bool isSomething(TypedAttr value);

/// Checks parameters as they are defined. Those of a schedule may be integers, and without a value.
LogicalResult checkParameters(Operation *definition, ArrayAttr parameters, ArrayRef<llvm::StringLiteral> reserved);

/// Fails with a diagnostic on `op` for a number that is not in the range, or beyond f32; `range` may be null.
LogicalResult checkField(Operation *op, StringRef name, double value, IntervalAttr range);

/// Checks the values that a model gives; `describe` says what is wrong with a name that is no parameter.
LogicalResult checkFields(Operation *op, ArrayRef<ParameterAttr> parameters, DictionaryAttr fields,
                          llvm::function_ref<std::string(StringRef)> describe);

/// Checks that no block that the definition calls has variables; `what` and `instead` say why it may not.
LogicalResult checkCalls(Operation *definition, StringRef what, StringRef instead);

/// Checks that the body computes alone, in not too many ops; `what` is what it defines: `optimizer`.
LogicalResult checkBody(Operation *definition, StringRef what);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_DEFINITION_H
