// What the arguments and results of an imported function are.

#ifndef DGC_COMPILER_IMPORT_ENTRYSIGNATURE_H
#define DGC_COMPILER_IMPORT_ENTRYSIGNATURE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace dgc::import {

/// What frameworks write on arguments and results.
inline constexpr llvm::StringLiteral kAliasingAttr = "tf.aliasing_output";
inline constexpr llvm::StringLiteral kDonorAttr = "jax.buffer_donor";
inline constexpr llvm::StringLiteral kResultInfoAttr = "jax.result_info";

/// Of each argument and result what it is: by what the framework wrote on it, and by `dgc.input`, `dgc.output`,
/// `dgc.batch_dim` and `dgc.state`, which --signature and readers of weights write.
struct EntrySignature {
  llvm::SmallVector<int64_t> resultOf;   // of each argument: the result that is its next value, or -1
  llvm::SmallVector<int64_t> argumentOf; // of each result: the argument that it is the next value of, or -1
  llvm::SmallVector<std::string> argumentNames, resultNames; // different names of all arguments, and of all results
  llvm::SmallVector<bool> isState;                           // of each argument: it is kept from call to call
  llvm::SmallVector<int64_t> batchDims;                      // of each argument: the dimension of the examples, or -1
  std::optional<int64_t> batch;                              // the size of these dimensions
};

/// The function that a program begins with: the public one or, where there are several, `@main`. Fails with a diagnostic.
llvm::FailureOr<mlir::func::FuncOp> findEntry(mlir::ModuleOp module);

/// Lets donated arguments become the results that are in the same places of the values in Python, where names say so. `warns` of
/// a guess where they do not.
void pairStateByPaths(mlir::func::FuncOp function, bool warns);

/// Fails, with a diagnostic, where the parts contradict each other.
llvm::FailureOr<EntrySignature> signatureOf(mlir::func::FuncOp function);

/// The name that a location gives a value; empty where it gives none.
llvm::StringRef nameOf(mlir::Location location);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_ENTRYSIGNATURE_H
