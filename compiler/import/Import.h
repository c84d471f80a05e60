// Programs of other frameworks, as dgc compiles them.

#ifndef DGC_COMPILER_IMPORT_IMPORT_H
#define DGC_COMPILER_IMPORT_IMPORT_H

#include "compiler/import/Format.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace dgc::import {

/// Adds the dialects of imported programs.
void registerDialects(mlir::DialectRegistry &registry);

/// How a model without a gradient is trained.
struct Training {
  /// `NAME [OUTPUT]`: a loss of the model language, of an output of the model and an input `label` or `target`; or an output
  /// that is the loss. Empty: it is not trained.
  std::string loss;
  /// As behind `dgc.optimizer`.
  std::string optimizer;
  /// Weights that remain as they are, as patterns of names with commas between: `embed*,*.bias`.
  std::string frozen;
};

/// What is said of a program beside its file.
struct ImportOptions {
  Training training;
  std::vector<std::string> inputShapes; // sizes of inputs of an ONNX model, as `x=8x3`
  std::string signature;                // a file that says what arguments and results are: SignatureFile.h
  std::vector<std::string> blocks; // programs that a model of dgc calls, as `NAME=FILE` or `NAME=FILE:SIGNATURE.json`
  int64_t batch = 0;               // that is asked for, which a program cannot be given; 0: none
  bool findsAll = false;           // of an ONNX model: nodes behind one that is refused are read, too
};

/// Reads the main buffer of `sources`. A program of StableHLO or ONNX becomes one of dgc; null, with diagnostics, where it cannot.
mlir::OwningOpRef<mlir::ModuleOp> readModel(llvm::SourceMgr &sources, mlir::MLIRContext *context,
                                            const ImportOptions &options = {});

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_IMPORT_H
