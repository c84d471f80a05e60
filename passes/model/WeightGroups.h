// Which optimizer trains which variable.

#ifndef DGC_PASSES_MODEL_WEIGHTGROUPS_H
#define DGC_PASSES_MODEL_WEIGHTGROUPS_H

#include "dialects/dgc/DGC.h"

namespace dgc {

/// Reports a pattern of the optimizer that none of the variables is called by.
llvm::LogicalResult checkGroups(OptimizerOp optimizer, llvm::ArrayRef<llvm::StringRef> variables);

/// The reference to the optimizer for a variable of this rank; null, with a diagnostic, where there is none.
mlir::Attribute chooseOptimizer(OptimizerOp optimizer, VariableOp variable);

} // namespace dgc

#endif // DGC_PASSES_MODEL_WEIGHTGROUPS_H
