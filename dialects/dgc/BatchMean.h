//===- BatchMean.h - means over the real examples of a batch ----*- C++ -*-===//
//
// A global batch may end in padding: `valid`, an i32 scalar, says how many examples are real, and these are the
// first ones. The mean of a value of each example is sum(values * mask) / valid: as `valid` is the same on all
// devices, only the sum has to be added up over them. Without `valid` all examples are real.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_BATCHMEAN_H
#define DGC_DIALECTS_DGC_BATCHMEAN_H

#include "dialects/MLIR.h"
#include "dialects/dgc/CompositeBuilder.h"

namespace dgc {

/// True for the real examples: a tensor<..xi1> of `shape`, whose first dimension is the batch. Null without `valid`.
Value exampleMask(CompositeBuilder &b, Value valid, ArrayRef<int64_t> shape);

/// `values` ([batch, ..]) where the example is real, else 0.
Value maskExamples(CompositeBuilder &b, Value values, Value valid);

/// How many elements the mean over tensors [batch, ..] of `shape` is divided by: a scalar.
Value exampleCount(CompositeBuilder &b, Value valid, ArrayRef<int64_t> shape, Type element);

/// The mean over all elements of the real examples: a scalar.
Value batchMean(CompositeBuilder &b, Value values, Value valid);

/// The mean over all elements of `values`, of which `count` (an i64 scalar) are counted. Without it, of the real examples.
Value meanOver(CompositeBuilder &b, Value values, Value count, Value valid);

/// The sum of `numerators` divided by that of `denominators`, both [batch, ..] and over the real examples: a scalar; 0 where
/// the second sum is 0.
Value quotientOfSums(CompositeBuilder &b, Value numerators, Value denominators, Value valid);

/// What each element of [batch, ..] of `shape` adds to a mean whose gradient is the scalar `gradient`:
/// gradient / count for real examples, else 0.
Value batchMeanGradient(CompositeBuilder &b, Value gradient, Value valid, ArrayRef<int64_t> shape, Type element);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_BATCHMEAN_H
