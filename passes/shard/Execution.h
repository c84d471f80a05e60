// How an op runs on cut tensors: which axes cut each of its factors.

#ifndef DGC_PASSES_SHARD_EXECUTION_H
#define DGC_PASSES_SHARD_EXECUTION_H

#include "passes/analysis/Layout.h"

namespace dgc {

/// An op with its rule and how its tensors are declared to be cut.
struct OpTensors {
  ShardingRule rule;
  llvm::SmallVector<mlir::RankedTensorType> operandTypes, resultTypes;
  llvm::SmallVector<DimAxes> operands, results;
  uint64_t freeAxes = 0; // axes (bits, by number) along which the results may be partial at no cost
};

/// How an op runs: the axes that cut its factors, and so its tensors. `partial`
/// are the axes of the reductions that are cut: the results are partial along
/// them, by `kind`.
struct Execution {
  llvm::SmallVector<AxisList> factors;
  llvm::SmallVector<DimAxes> operands, results;
  AxisList partial;
  dist::Reduction kind = dist::Reduction::Sum;
};

/// Decides how an op runs. A factor on which all tensors agree is cut so.
/// Where they differ, that choice wins for which the fewest bytes move:
///   - an operand that has more axes than chosen, or others, moves its bytes;
///     one that has fewer takes its part for free;
///   - a result that is to have fewer axes, or others, moves its bytes;
///   - a reduction that is cut moves the bytes of the results, but along axes where they are combined elsewhere;
/// of equals the longer list, then that of the first axes of the mesh. An axis
/// that two factors want goes to the one with more bytes in agreement, then to
/// the first. A factor is not cut if its kind forbids, or if one of its tensors
/// has it after a factor that is not cut to single elements.
Execution chooseExecution(const OpTensors &op, const MeshRef &mesh);

/// The rule of `op` and its tensors as declared; `operandSharding` gives the
/// dimensions of an operand. None when `op` has no rule or a value that is not
/// a tensor.
std::optional<OpTensors> tensorsOf(mlir::Operation *op, const MeshRef &mesh,
                                   llvm::function_ref<dist::ShardingAttr(mlir::Value)> operandSharding);

/// The elements that the device that receives most receives when a value of `shape` goes from one sharding to
/// another; the largest number when there is no way.
int64_t elementsReceived(llvm::ArrayRef<int64_t> shape, dist::ShardingAttr from, dist::ShardingAttr to,
                         const MeshRef &mesh);

} // namespace dgc

#endif // DGC_PASSES_SHARD_EXECUTION_H
