// What --signature says of a program whose arguments carry no names, marks of state or values.

#ifndef DGC_COMPILER_IMPORT_SIGNATUREFILE_H
#define DGC_COMPILER_IMPORT_SIGNATUREFILE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dgc::import {

/// Writes what the JSON file says on the function that a program begins with, as signatureOf reads it, and declares states
/// with their initial values. docs/import.md has the format. Fails with a diagnostic that names the file and the entry.
llvm::LogicalResult applySignature(mlir::func::FuncOp function, llvm::StringRef path);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_SIGNATUREFILE_H
