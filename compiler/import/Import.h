// Programs of other frameworks, as dgc compiles them.

#ifndef DGC_COMPILER_IMPORT_IMPORT_H
#define DGC_COMPILER_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"
#include <string>

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace dgc::import {

/// What the text or the bytes of a file are.
enum class Format { Dgc, StableHLO, PortableArtifact, Onnx };

/// Tells by the content.
Format formatOf(llvm::StringRef content);

/// Adds the dialects of imported programs.
void registerDialects(mlir::DialectRegistry &registry);

/// The passes from StableHLO to an entry point of dgc.
void buildPipeline(mlir::OpPassManager &manager);

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

/// Reads the main buffer of `sources`. A program of StableHLO or ONNX becomes one of dgc; null, with diagnostics, where it cannot.
/// `inputShapes` are sizes of inputs of an ONNX model, as `x=8x3`.
mlir::OwningOpRef<mlir::ModuleOp> readModel(llvm::SourceMgr &sources, mlir::MLIRContext *context,
                                            const Training &training = {},
                                            llvm::ArrayRef<std::string> inputShapes = {});

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_IMPORT_H
