// A model without what it says about devices.

#ifndef DGC_COMPILER_VERIFY_UNDISTRIBUTE_H
#define DGC_COMPILER_VERIFY_UNDISTRIBUTE_H

#include "mlir/IR/BuiltinOps.h"

namespace dgc {

/// Removes meshes, shardings and places: the module computes the same on one device. Fails, with a diagnostic, where a part
/// of it is written for one device of several.
llvm::LogicalResult undistribute(mlir::ModuleOp module);

} // namespace dgc

#endif // DGC_COMPILER_VERIFY_UNDISTRIBUTE_H
