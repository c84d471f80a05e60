// Portable artifacts: MLIR bytecode of versioned operations, the dialect `vhlo`.

#ifndef DGC_COMPILER_IMPORT_VHLO_H
#define DGC_COMPILER_IMPORT_VHLO_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace dgc::import {

/// Adds the dialect `vhlo`. Its types and attributes are read as those of other dialects: there are no own ones. Each of
/// its operations has its attributes in the dictionary.
void registerVhlo(mlir::DialectRegistry &registry);

/// Makes StableHLO of a module that was read from a portable artifact. Null, with diagnostics, where it has an operation
/// or a type that there is not.
mlir::OwningOpRef<mlir::ModuleOp> convertVhlo(mlir::ModuleOp module);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_VHLO_H
