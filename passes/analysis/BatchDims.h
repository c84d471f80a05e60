// Which elements of a tensor belong to which example of the batch, and what an op does to the examples.

#ifndef DGC_PASSES_ANALYSIS_BATCHDIMS_H
#define DGC_PASSES_ANALYSIS_BATCHDIMS_H

#include "dialects/dgc/DGC.h"

namespace dgc {

/// A dimension of a tensor along which examples are: element before + i belongs to example (i / inner) modulo the
/// batch. After a reshape of [batch, T] to [batch * T], `inner` is T. The first `before` elements and the last `after`
/// ones belong to no example, such as those that dgc.pad adds.
struct BatchDim {
  unsigned dim = 0;
  int64_t inner = 1, before = 0, after = 0;
  bool operator==(const BatchDim &other) const = default;

  /// The example that element `index` of `size` belongs to; -1: to none.
  int64_t exampleAt(int64_t index, int64_t size, int64_t batch) const {
    return index < before || index >= size - after ? -1 : (index - before) / inner % batch;
  }
};

/// All of a tensor. Empty: it is one value for the whole batch. Two entries: an element belongs to a pair of examples.
using BatchDims = llvm::SmallVector<BatchDim, 2>;

/// A factor of a sharding rule along which examples are, as in BatchDim.
struct BatchFactor {
  unsigned factor;
  int64_t inner, before = 0, after = 0;
  bool operator==(const BatchFactor &other) const = default;
};

/// An op that computes the results of an example from the same example of its operands, or combines all examples by a
/// reduction. `factors` are those with the examples; an op with several pairs examples with each other.
struct ExampleFlow {
  ShardingRule rule;
  llvm::SmallVector<BatchFactor, 2> factors;

  bool reduces(BatchFactor factor) const { return rule.factors[factor.factor].kind == FactorKind::Reduction; }
  /// Where a tensor of the op has the examples of `factor`.
  BatchDims dimsOf(const TensorFactors &tensor, BatchFactor factor) const;
  /// Where a result has examples: those of all factors that are not reduced.
  BatchDims dimsOfResult(unsigned result) const;
};

/// How examples get through an op whose operands have them where `operands` says. Fails where the op moves elements
/// from one example to another, splits the batch, or has no rule for its dimensions; `reason` then names it, as the end
/// of a sentence that begins with the name of the op. The batch has more than one example. `isCut`: the examples are to be
/// computed in parts, so that an op in a loop must not depend on its place along them (random numbers).
mlir::FailureOr<ExampleFlow> examplesThrough(mlir::Operation *op, llvm::ArrayRef<BatchDims> operands, int64_t batch,
                                             std::string &reason, bool isCut);

/// Where the result of an op has examples along the dimensions that the op rearranges (RearrangingOpInterface: a
/// concatenation, a slice); these are removed from `operands`. Fails as examplesThrough does, where what is left of the
/// batch is not as BatchDim says. Nothing for other ops.
mlir::FailureOr<BatchDims> takeRearrangedExamples(mlir::Operation *op, llvm::MutableArrayRef<BatchDims> operands,
                                                  int64_t batch, std::string &reason);

} // namespace dgc

#endif // DGC_PASSES_ANALYSIS_BATCHDIMS_H
