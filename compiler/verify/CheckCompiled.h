// --verify: the exact check of a plan before it is written.

#ifndef DGC_COMPILER_VERIFY_CHECKCOMPILED_H
#define DGC_COMPILER_VERIFY_CHECKCOMPILED_H

#include "compiler/driver/CompileOptions.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/artifact/Reader.h"

namespace dgc {

/// What a plan is compared with: a module that the phase `model` has yet to see, and the text that it was read from.
struct ModelText {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::StringRef text;
  bool isShrunk = false; // what is checked is a plan of it for smaller dimensions
};

/// Compares a plan with its model and prints what is found (stderr). Where nothing differs the plan gets the record of the
/// check, if it was itself checked, and not one for smaller dimensions. Gives the exit status. Changes the module of the model.
/// `compiled` is the module that the plan was written from.
int checkCompiled(ModelText &model, const CompilePlan &plan, mlir::ModuleOp compiled,
                  std::unique_ptr<rt::Artifact> &artifact, std::vector<uint8_t> &bytes);

} // namespace dgc

#endif // DGC_COMPILER_VERIFY_CHECKCOMPILED_H
