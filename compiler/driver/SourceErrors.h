//===- SourceErrors.h - errors of MLIR's parser in words of the language ---===//
//
// MLIR's parser speaks of SSA values, ellipses and quoted operation names. Of the mistakes that are common in models it
// is known what is meant: those errors are replaced by ones that say so, and what to write.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_DRIVER_SOURCEERRORS_H
#define DGC_COMPILER_DRIVER_SOURCEERRORS_H

#include "mlir/IR/Diagnostics.h"
#include <optional>
#include <string>

namespace dgc {

/// What is wrong, and the byte of the source where.
struct SourceError {
  std::string message;
  size_t offset;
};

/// What an error of the parser means: `message`, at the byte `offset` of `source`. `ops` are the names of all ops.
/// Nothing when that is not known.
std::optional<SourceError> explainSourceError(llvm::StringRef source, size_t offset, llvm::StringRef message,
                                              llvm::ArrayRef<llvm::StringRef> ops);

/// Prints diagnostics, errors of the parser as explainSourceError says them, while it lives. The main file of `sources`
/// is the one that is parsed.
class SourceErrorHandler : public mlir::SourceMgrDiagnosticHandler {
public:
  SourceErrorHandler(llvm::SourceMgr &sources, mlir::MLIRContext *context);

private:
  void report(mlir::Diagnostic &diagnostic);
  void reportOfFile(llvm::StringRef file, mlir::Diagnostic &diagnostic);

  mlir::MLIRContext *context;
};

} // namespace dgc

#endif // DGC_COMPILER_DRIVER_SOURCEERRORS_H
