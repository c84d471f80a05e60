// The insertion of reshards into a block, and into the loops and branches in it.

#ifndef DGC_PASSES_SHARD_INSERTER_H
#define DGC_PASSES_SHARD_INSERTER_H

#include "passes/shard/Execution.h"
#include "passes/shard/InsertReshards.h"
#include "passes/shard/LoopSums.h"

namespace dgc {

/// Works through one block of a function from top to bottom.
class Inserter {
public:
  /// `partial`: ops whose results may be partial along axes (bits, by number) at no cost.
  Inserter(mlir::func::FuncOp function, const MeshRef &mesh, const llvm::DenseMap<mlir::Operation *, uint64_t> &partial)
      : function(function), mesh(mesh), freelyPartial(partial) {}

  mlir::LogicalResult run(mlir::Block &block);

  /// Makes an operand be spread as `wanted`; `why` is added to the cause.
  void fit(mlir::OpOperand &operand, dist::ShardingAttr wanted, llvm::StringRef why = "");

  ReshardCounts counts;

private:
  dist::ShardingAttr shardingOf(mlir::Value value) { return declaredSharding(value, mesh); }

  mlir::LogicalResult visit(mlir::Operation *op);

  /// A partial value that was to be cut by an axis along which it is partial, as its users are, becomes so at once
  /// where there are several of them: each alone would rather have it whole than move it.
  void settle(mlir::OpResult value, const DimAxes &declared);

  /// A sum of several values that are all partial stays so, even where it is to be cut along these axes: the sum is
  /// made whole once, not each of its addends. False for any other op.
  bool runOnPartial(mlir::Operation *op, OpTensors tensors);

  /// Makes `op` run as decided.
  void run(mlir::Operation *op, const Execution &execution, const OpTensors &tensors);

  /// Why an operand cannot stay cut as it is, where that is in the nature of the op; empty where the op could.
  std::string whyWhole(mlir::Value operand, const TensorFactors &factors, const ShardingRule &rule,
                       const DimAxes &wanted);

  /// The operands that stay partial: those in which the op is linear, if no one
  /// else uses them and what comes out is not larger. None, when the op is not
  /// linear in all that are partial.
  llvm::SmallVector<unsigned> carriedOperands(mlir::Operation *op, const Execution &execution,
                                              const OpTensors &tensors);

  /// True when a value that is still partial after `op` becomes smaller, or is
  /// added to another partial one, before it has to be whole. Otherwise work that
  /// waits for the sum to be whole runs in one kernel with what follows.
  bool waitingPays(mlir::Operation *op);

  int64_t localBytes(mlir::RankedTensorType type, const DimAxes &dims);

  mlir::LogicalResult visitReturn(mlir::Operation *op);

  mlir::LogicalResult visitManual(dist::ManualOp op);

  /// An op of which nothing is known runs on whole values.
  mlir::LogicalResult visitWithoutRule(mlir::Operation *op);

  /// Says what the results of `op` are; nothing where all are whole.
  void declare(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> shardings);

  /// The value, or that of its reshards so far from which less moves to become
  /// `wanted`: of a sum that is whole already a part is free.
  mlir::Value nearest(mlir::Value value, dist::ShardingAttr wanted);

  int64_t elementsMoved(mlir::Value value, dist::ShardingAttr wanted);

  /// Who needs the operand in another way.
  std::string causeOf(mlir::OpOperand &operand);

  // In InsertInRegions.cpp.
  mlir::LogicalResult visitRegions(RegionTiesOpInterface op);
  mlir::LogicalResult fitRegions(RegionTiesOpInterface op, const LoopSums &sums,
                                 llvm::SmallDenseSet<unsigned> &combined);
  void hoistReshards(RegionTiesOpInterface op, llvm::SmallVectorImpl<dist::ShardingAttr> &arguments);
  void fitOperands(RegionTiesOpInterface op);

  mlir::func::FuncOp function;
  const MeshRef &mesh;
  const llvm::DenseMap<mlir::Operation *, uint64_t> &freelyPartial;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, mlir::Value> reshards;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> forms; // the reshards of a value
};

} // namespace dgc

#endif // DGC_PASSES_SHARD_INSERTER_H
