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

#include "dialects/MLIR.h"
#include "dialects/dgc/Geometry.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <vector>

#include "dialects/dgc/Enums.h.inc" // ReductionKind

namespace dgc {

enum class FactorKind {
  PassThrough,     // cut in operands and results alike; no communication
  Reduction,       // when it is cut, the results are partial that do not have it; only loops give others
  NeedReplication, // cannot be cut without communication: every device needs
                   // the whole dimension
  Permutation,     // cut in operands and results alike, but elements move
                   // between the parts (halo, reverse)
};

struct Factor {
  int64_t size;
  FactorKind kind = FactorKind::PassThrough;
  ReductionKind reduction = ReductionKind::Sum; // of a Reduction factor
  // Elements move between the parts, and MovingOpInterface says which. Always
  // so for a Permutation; a Reduction may be of this kind as well.
  bool moves = kind == FactorKind::Permutation;
};

/// Per dimension its factors, major to minor; a dimension of size 1 may have
/// none. The sizes of the factors of a dimension multiply to its size, except
/// where elements move: such a factor is alone in its dimensions, these may
/// have several sizes, and its own is that of the dimension whose parts are
/// computed: of the result or, for a reduction, of one of the operands.
struct TensorFactors {
  llvm::SmallVector<llvm::SmallVector<unsigned, 1>> dims;
};

/// A dimension that a window slides over, and is more than an element of it: where its two sides are.
struct SlidingWindow {
  WindowDim window;
  DimOccurrence input, output;
};

struct ShardingRule {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<TensorFactors> operands, results;
  std::vector<SlidingWindow> windows;
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

  /// Appends a factor along which elements move.
  ShardingRuleBuilder &moving(llvm::ArrayRef<int64_t> operandDims, llvm::ArrayRef<int64_t> resultDims, int64_t size,
                              FactorKind kind = FactorKind::Permutation);

  /// Says of the factors of a dimension that a window slides over it.
  ShardingRuleBuilder &sliding(SlidingWindow window);

  /// One factor per dimension of the first result, the same in all operands and
  /// results of that rank (scalars have none).
  ShardingRuleBuilder &elementwise();

  ShardingRule build() const { return rule; }

private:
  Operation *op;
  ShardingRule rule;
};

/// The elements of dimension `dim` of operand `operand` that the computation of
/// a part needs: from `starts[p]` on for part p, `size` of them. They may be
/// outside of the operand.
struct OperandWindow {
  unsigned operand;
  int64_t dim;
  llvm::SmallVector<int64_t> starts;
  int64_t size;
  // The value outside of the operand: the identity of a reduction, or the
  // scalar that is operand `fillOperand`. Neither: it does not matter.
  std::optional<ReductionKind> identity = {};
  std::optional<unsigned> fillOperand = {};
};

/// How an op computes the parts of a dimension along which elements move.
struct PartNeeds {
  llvm::SmallVector<OperandWindow> windows;
  // On these windows the op takes this padding, and gives `produced` elements;
  // those from `crops[p]` on are part p. Where they end beyond the produced
  // ones, or begin before them, there are zeros. Empty: the op gives the part.
  int64_t low = 0, high = 0, produced = 0;
  llvm::SmallVector<int64_t> crops = {};
};

/// What an op costs when nothing is fused.
struct OpCost {
  uint64_t flops = 0, bytesRead = 0, bytesWritten = 0;
};

/// The cost of an op that does `flops` operations for each element of its first
/// result.
OpCost costPerElement(Operation *op, uint64_t flops);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_SHARDINGRULE_H
