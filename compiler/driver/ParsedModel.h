// A model that is read from text.

#ifndef DGC_COMPILER_DRIVER_PARSEDMODEL_H
#define DGC_COMPILER_DRIVER_PARSEDMODEL_H

#include "compiler/driver/SourceErrors.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

namespace dgc {

/// A module with what its text lives in. Diagnostics, also of what is done with the module later, go to stderr with the
/// lines that they are about.
class ParsedModel {
public:
  /// Reads the main buffer; null, with diagnostics, where it cannot.
  using Read = llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(llvm::SourceMgr &, mlir::MLIRContext *)>;

  /// Without `read` the text is a module of dgc.
  ParsedModel(const mlir::DialectRegistry &registry, std::unique_ptr<llvm::MemoryBuffer> text, Read read = nullptr);

  /// Null, with diagnostics, where the text is no module.
  mlir::ModuleOp module() { return *parsed; }

private:
  llvm::SourceMgr sources;
  mlir::MLIRContext context;
  SourceErrorHandler diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> parsed;
};

} // namespace dgc

#endif // DGC_COMPILER_DRIVER_PARSEDMODEL_H
