// What the strategies share: finding their axis, and writing annotations with their name as the origin.

#ifndef DGC_PASSES_ANALYSIS_STRATEGYUTIL_H
#define DGC_PASSES_ANALYSIS_STRATEGYUTIL_H

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace dgc {

/// On variables and states: the names of their dimensions.
inline constexpr llvm::StringLiteral kDimsAttr = "dims";

/// The first mesh of the module with `axis`. Null when there is no mesh at all; fails with a diagnostic when none has
/// the axis. `purpose` says what the strategy does with it: "cuts the batch by".
mlir::FailureOr<dist::MeshOp> findMeshWithAxis(mlir::ModuleOp module, llvm::StringRef axis, llvm::StringRef strategy,
                                               llvm::StringRef purpose);

/// The axis, decided by a strategy.
dist::AxisRefAttr axisBy(mlir::MLIRContext *context, llvm::StringRef axis, llvm::StringRef strategy);

/// A sharding in which `dim` is cut by `axis`, closed, and everything else is open. Without a dimension: replicated
/// along the axis, and open.
dist::ShardingAttr cutAlong(dist::MeshOp mesh, dist::AxisRefAttr axis, int64_t rank, std::optional<int64_t> dim);

/// The state that an argument or a result of a function holds; null for others.
StateOp stateOfArgument(mlir::func::FuncOp function, unsigned index);
StateOp stateOfResult(mlir::func::FuncOp function, unsigned index);

/// The name of an op in the model: that of its block, and what it is, as in `layer.0.relu`. Empty for an op without one.
llvm::StringRef nameInModel(mlir::Operation *op);

/// True for an op that makes its result of scalars, or of nothing.
bool isMadeOfScalars(mlir::Operation *op);

/// The ops of the forward pass: those that what is reported or assigned depends on.
llvm::DenseSet<mlir::Operation *> findForwardOps(mlir::func::FuncOp function);

/// Those in the last region of a loop, which ops of the forward pass need.
llvm::DenseSet<mlir::Operation *> findForwardOps(RegionTiesOpInterface loop,
                                                 const llvm::DenseSet<mlir::Operation *> &forward);

/// The ops of a training function that depend on the optimizer's state: they are of updates.
llvm::DenseSet<mlir::Operation *> findOptimizerOps(mlir::func::FuncOp function);

/// The ops that the loss, what is reported or assigned, and these values depend on.
llvm::DenseSet<mlir::Operation *> findOpsOf(mlir::func::FuncOp function, mlir::ValueRange gradients);

/// The update of a variable in a training function: the ops between its gradient and its new value.
struct VariableUpdate {
  unsigned result;                             // of the function: the new value
  llvm::SetVector<mlir::Operation *> ops;      // elementwise, of the shape of the variable
  llvm::SetVector<mlir::Operation *> products; // of the optimizer, and what is between them: of any shape
  llvm::SetVector<mlir::Value> gradients;      // operands from outside of the update, without state and scalars

  /// What the products take, without scalars.
  llvm::SmallVector<mlir::Value> factors() const;
};

/// Follows the new value of a variable back, through ops that are elementwise and those of the optimizer that are not.
/// Ops for which `stop` holds count as part of the gradient.
VariableUpdate findUpdate(mlir::func::FuncOp function, unsigned result,
                          const llvm::DenseSet<mlir::Operation *> &optimizerOps,
                          llvm::function_ref<bool(mlir::Operation *)> stop);

} // namespace dgc

#endif // DGC_PASSES_ANALYSIS_STRATEGYUTIL_H
