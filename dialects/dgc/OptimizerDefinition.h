//===- OptimizerDefinition.h - optimizers by name ---------------*- C++ -*-===//
//
// A reference to an optimizer is a string, for one of the language, or the symbol of a dgc.optimizer_def of the module.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_OPTIMIZERDEFINITION_H
#define DGC_DIALECTS_DGC_OPTIMIZERDEFINITION_H

#include "dialects/MLIR.h"
#include "dialects/dgc/Definition.h"

namespace dgc {

/// The definition that a reference names, seen from `from`; null when there is none.
OptimizerDefOp findOptimizer(Attribute reference, Operation *from);

/// The names of the optimizers of the language, in the order in which they are listed to users.
SmallVector<StringRef> builtinOptimizers(MLIRContext *context);

/// The reference to an optimizer for weights of a rank: `reference`, or what takes its place. Null when there is none.
Attribute optimizerForRank(Attribute reference, int64_t rank, Operation *from);

/// The parameters that a model may give: those of the definition, and those of what takes its place for some ranks.
SmallVector<ParameterAttr> fieldsOf(OptimizerDefOp definition);

/// The fields that are parameters of the definition itself.
DictionaryAttr ownFields(OptimizerDefOp definition, DictionaryAttr fields);

/// The states that there are with these fields.
SmallVector<OptimizerStateAttr> statesOf(OptimizerDefOp definition, DictionaryAttr fields);

/// What a state is at first.
InitAttr initOf(OptimizerStateAttr state, OptimizerDefOp definition, DictionaryAttr fields);

/// Fails with a diagnostic on `op` where `reference` names no optimizer, or `fields` are none of its parameters or out of
/// their range.
LogicalResult checkOptimizer(Operation *op, Attribute reference, DictionaryAttr fields);

/// Builds an optimizer for one weight: the new weight and the new values of its states, of the types of `weight` and of
/// `states`. Fails with a diagnostic in the definition where its types do not fit. The ops of an optimizer of the language
/// have the location `location`, others their own.
FailureOr<SmallVector<Value>> buildUpdate(OptimizerDefOp definition, ApplyOptimizerOp op, OpBuilder &builder);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_OPTIMIZERDEFINITION_H
