// Which slot of a pipeline each op of a loop over micro-batches belongs to.

#ifndef DGC_PASSES_PARTITION_PIPELINEPLACES_H
#define DGC_PASSES_PARTITION_PIPELINEPLACES_H

#include "dialects/dgc/DGC.h"
#include "passes/partition/PipelineSchedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace dgc {

/// The slot that an op of a micro-batch is in: its pass and its stage.
using PipelinePlace = std::pair<PipelineSlot::Kind, int>;

/// Which slot each op of the body belongs to.
class PipelinePlaces {
public:
  PipelinePlaces(mlir::func::FuncOp function, WhileOp loop, const SteadyState &state);

  /// The ops of a slot, in order.
  llvm::ArrayRef<mlir::Operation *> opsOf(PipelinePlace place) const {
    auto it = ops.find(place);
    return it == ops.end() ? llvm::ArrayRef<mlir::Operation *>() : llvm::ArrayRef(it->second);
  }

  /// The slot that computes a value; none for what is computed wherever it is needed, and for arguments.
  std::optional<PipelinePlace> placeOf(mlir::Value value) const;

  /// The values of other slots that an op needs.
  llvm::SmallVector<mlir::Value> neededBy(mlir::Operation *op) const;

private:
  PipelinePlace placeOf(mlir::Operation *op, int stage) const;
  void findWeightGradients();
  bool followsFromInputs(mlir::Operation *op) const;

  mlir::Block &body;
  size_t numCarried;
  bool hasInputPass = false;
  llvm::DenseSet<mlir::Operation *> forward, late, recomputed;
  std::map<PipelinePlace, llvm::SmallVector<mlir::Operation *>> ops;
};

} // namespace dgc

#endif // DGC_PASSES_PARTITION_PIPELINEPLACES_H
