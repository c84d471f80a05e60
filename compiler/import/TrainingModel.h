// A forward function that was imported as a model that is trained.

#ifndef DGC_COMPILER_IMPORT_TRAININGMODEL_H
#define DGC_COMPILER_IMPORT_TRAININGMODEL_H

#include "compiler/import/EntrySignature.h"
#include "compiler/import/Import.h"
#include "dialects/dgc/DGC.h"

namespace dgc::import {

/// Replaces the one function of the module, whose weights are arguments with a `dgc.state`, by a model with the loss and the
/// optimizer that are asked for. Fails with a diagnostic where there are no such.
llvm::LogicalResult buildTrainingModel(mlir::ModuleOp module, const Training &training);

/// What an argument begins with: a state that its reader or --signature declared; null where there is none.
StateOp declaredState(mlir::func::FuncOp function, unsigned argument);

/// Whether a state is no weight: not of floats, or with an infinite element, as a mask has.
bool isFixed(StateOp state);

/// The variable that an argument with state is in a model.
VariableOp createVariable(mlir::OpBuilder &builder, mlir::func::FuncOp function, const EntrySignature &signature,
                          unsigned argument, bool isFrozen);

/// Adds a program of another framework to the module of a model, as a block that the model calls: `NAME=FILE` or
/// `NAME=FILE:SIGNATURE.json`. Its inputs are the arguments of the block, its state variables in it. Fails with a diagnostic.
llvm::LogicalResult importBlock(mlir::ModuleOp module, llvm::StringRef text, const ImportOptions &options);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_TRAININGMODEL_H
