//===- Package.h - from exec programs to an artifact -----------------------===//
//
// Writes what dgc-run reads: the schema is runtime/artifact/dgcx.fbs. One to one: nothing is decided here.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_PACKAGE_PACKAGE_H
#define DGC_COMPILER_PACKAGE_PACKAGE_H

#include "compiler/codegen/CompiledKernels.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "runtime/artifact/dgcx_generated.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dgc {

struct PackageOptions {
  /// What shaped the plan, shown by tools.
  std::vector<artifact::CompilerOptionT> options;
  /// How its parameter servers take updates of workers that do not wait for each other; nothing: they do.
  std::optional<artifact::AsynchronousT> asynchronous;
};

/// The bytes of the artifact for a module of planned `exec` programs, with the kernels that they launch. What cannot
/// be written is reported on its op.
mlir::FailureOr<std::vector<uint8_t>> packageModule(mlir::ModuleOp module, const CompiledKernels &kernels,
                                                    const PackageOptions &options);

/// The plan of such a module, as objects, before it is checked and sealed.
mlir::FailureOr<artifact::PlanT> describePlan(mlir::ModuleOp module, const CompiledKernels &kernels,
                                              const PackageOptions &options = {});

/// Teaches the ops of the exec dialect to write themselves into an artifact; needed wherever packageModule is called.
void registerPackaging(mlir::DialectRegistry &registry);

/// The parts of registerPackaging: buffers, inputs and outputs; steps.
void attachDeclarations(mlir::MLIRContext &context);
void attachSteps(mlir::MLIRContext &context);

} // namespace dgc

#endif // DGC_COMPILER_PACKAGE_PACKAGE_H
