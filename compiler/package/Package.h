//===- Package.h - from exec programs to an artifact -----------------------===//
//
// Writes what dgc-run reads: the schema is runtime/artifact/dgcx.fbs. One to one: nothing is decided here.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_PACKAGE_PACKAGE_H
#define DGC_COMPILER_PACKAGE_PACKAGE_H

#include "compiler/codegen/cpu/CompiledKernels.h"
#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dgc {

struct PackageOptions {
  /// Shown by tools: strategy, command line and the like.
  std::vector<std::pair<std::string, std::string>> attributes;
};

/// The bytes of the artifact for a module of planned `exec` programs, with the kernels that they launch. What cannot
/// be written is reported on its op.
mlir::FailureOr<std::vector<uint8_t>> packageModule(mlir::ModuleOp module, const CompiledKernels &kernels,
                                                    const PackageOptions &options);

} // namespace dgc

#endif // DGC_COMPILER_PACKAGE_PACKAGE_H
