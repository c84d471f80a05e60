// A forward function that was imported as a model that is trained.

#ifndef DGC_COMPILER_IMPORT_TRAININGMODEL_H
#define DGC_COMPILER_IMPORT_TRAININGMODEL_H

#include "compiler/import/Import.h"

namespace dgc::import {

/// Replaces the one function of the module, whose weights are arguments with a `dgc.state`, by a model with the loss and the
/// optimizer that are asked for. Fails with a diagnostic where there are no such.
llvm::LogicalResult buildTrainingModel(mlir::ModuleOp module, const Training &training);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_TRAININGMODEL_H
