//===- Registration.h - every dialect and pass of the compiler -------------===//

#ifndef DGC_COMPILER_DRIVER_REGISTRATION_H
#define DGC_COMPILER_DRIVER_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace dgc {

/// The dialects of dgc, and those of MLIR that its passes go through.
void registerAllDialects(mlir::DialectRegistry &registry);

/// The passes of dgc, and those of MLIR that the phases use (canonicalize, cse).
void registerAllPasses();

/// Those of dgc alone.
void registerOwnPasses();

} // namespace dgc

#endif // DGC_COMPILER_DRIVER_REGISTRATION_H
