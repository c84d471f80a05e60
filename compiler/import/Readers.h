// What reading a program and describing it share.

#ifndef DGC_COMPILER_IMPORT_READERS_H
#define DGC_COMPILER_IMPORT_READERS_H

#include "compiler/import/Import.h"
#include "mlir/IR/MLIRContext.h"

namespace dgc::import {

/// Frameworks write attributes of their own dialects: these are allowed while it lives.
class AllowUnregistered {
public:
  explicit AllowUnregistered(mlir::MLIRContext *context)
      : context(context), before(context->allowsUnregisteredDialects()) {
    context->allowUnregisteredDialects();
  }
  ~AllowUnregistered() { context->allowUnregisteredDialects(before); }
  AllowUnregistered(const AllowUnregistered &) = delete;
  AllowUnregistered &operator=(const AllowUnregistered &) = delete;

private:
  mlir::MLIRContext *context;
  const bool before;
};

/// The program as it is written, in the dialect stablehlo; null, with diagnostics.
mlir::OwningOpRef<mlir::ModuleOp> parseStableHLO(llvm::SourceMgr &sources, mlir::MLIRContext *context, Format format);

/// Applies --signature to the function that the program begins with.
llvm::LogicalResult applyOptions(mlir::ModuleOp module, const ImportOptions &options);

/// Whether the options are for programs of this format. Fails with a diagnostic.
llvm::LogicalResult checkOptions(mlir::Location location, Format format, const ImportOptions &options);

/// Reads a program of StableHLO or ONNX as a module with one function of dgc ops, whose weights are arguments with a state where
/// `options` say how it is trained, or `hasWeights`; null, with diagnostics.
mlir::OwningOpRef<mlir::ModuleOp> readFunction(llvm::SourceMgr &sources, mlir::MLIRContext *context, Format format,
                                               const ImportOptions &options, bool hasWeights);

/// Makes an entry point, or what is trained, of the one function of the module, which is of dgc ops.
llvm::LogicalResult completeModel(mlir::ModuleOp module, const Training &training);

/// A function of the library that reads ONNX, which is beside this one; null, with a diagnostic, where there is none.
void *findInOnnxLibrary(const char *symbol, mlir::Location location);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_READERS_H
