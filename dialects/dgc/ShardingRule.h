//===- ShardingRule.h - the dimensions of an op as factors ------*- C++ -*-===//
//
// An op is described like an einsum: every dimension of every operand and
// result is a product of factors. Two dimensions with the same factor must be
// cut the same way. The matrix product C[m,n] = A[m,k] B[k,n] has the factors m
// and n (pass-through) and k (reduction).
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_SHARDINGRULE_H
#define DGC_DIALECTS_DGC_SHARDINGRULE_H

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

#include "dialects/dgc/Enums.h.inc" // ReductionKind

namespace mlir::dgc {

enum class FactorKind {
  PassThrough,     // cut in operands and results alike; no communication
  Reduction,       // in operands only: when it is cut, the results are partial
  NeedReplication, // cannot be cut without communication: every device needs
                   // the whole dimension
  Permutation,     // can be cut, but elements move between the parts (halo,
                   // reverse)
};

struct Factor {
  int64_t size;
  FactorKind kind = FactorKind::PassThrough;
  ReductionKind reduction = ReductionKind::Sum; // of a Reduction factor
};

/// Per dimension its factors, major to minor; a dimension of size 1 may have
/// none. The sizes of the factors of a dimension multiply to its size.
struct TensorFactors {
  llvm::SmallVector<llvm::SmallVector<unsigned, 1>> dims;
};

struct ShardingRule {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<TensorFactors> operands, results;
};

/// Builds a rule factor by factor:
///   ShardingRuleBuilder(op).factor({0, -1}, {0}, m).factor({-1, 1}, {1}, n)
///       .factor({1, 0}, {-1}, k, FactorKind::Reduction).build();
class ShardingRuleBuilder {
public:
  explicit ShardingRuleBuilder(Operation *op);

  /// Appends a factor. `operandDims` and `resultDims` say for each operand and
  /// result which of its dimensions it belongs to, -1 for none. Several factors
  /// in one dimension are given major to minor.
  ShardingRuleBuilder &factor(llvm::ArrayRef<int64_t> operandDims, llvm::ArrayRef<int64_t> resultDims, int64_t size,
                              FactorKind kind = FactorKind::PassThrough, ReductionKind reduction = ReductionKind::Sum);

  /// One factor per dimension of the first result, the same in all operands and
  /// results of that rank (scalars have none).
  ShardingRuleBuilder &elementwise();

  ShardingRule build() const { return rule; }

private:
  Operation *op;
  ShardingRule rule;
};

/// What an op costs when nothing is fused.
struct OpCost {
  uint64_t flops = 0, bytesRead = 0, bytesWritten = 0;
};

/// The cost of an op that does `flops` operations for each element of its first
/// result.
OpCost costPerElement(Operation *op, uint64_t flops);

} // namespace mlir::dgc

#endif // DGC_DIALECTS_DGC_SHARDINGRULE_H
