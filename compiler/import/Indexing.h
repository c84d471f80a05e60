// What gathers and scatters have in common: which elements of a tensor index vectors choose.

#ifndef DGC_COMPILER_IMPORT_INDEXING_H
#define DGC_COMPILER_IMPORT_INDEXING_H

#include "compiler/import/Patterns.h"

namespace dgc::import {

/// Masks of more elements than this for each element of the result are not made.
inline constexpr int64_t kMostMasked = 1 << 16;

/// A tensor of the shape whose dimension `dims[i]` is dimension i of `x`, in any order.
Value spread(TensorBuilder &b, Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims);

/// The index along `dim` of each element of a tensor of the shape.
Value indicesAlong(TensorBuilder &b, ArrayRef<int64_t> shape, Type element, int64_t dim);

/// Integers between 0 and `most`, as elements of the type: what is below is 0, what is above `most`.
Value clampIndex(TensorBuilder &b, Value x, int64_t most, Type element);

/// A type for indices of so many elements.
Type indexType(TensorBuilder &b, int64_t count);

/// Slices along a dimension; those of booleans as well.
Value gatherAlong(TensorBuilder &b, Value x, Value indices, int64_t dim);

Value flatten(TensorBuilder &b, Value x);

/// The updates, whose dimensions from `at` on are those of the indices, combined in a dimension of `size` places: where an
/// index is no place its update is left out. What is no sum compares each place with each index.
Value combineAt(TensorBuilder &b, ReductionKind kind, Value indices, Value updates, int64_t at, int64_t size);

/// A tensor that is indexed, index vectors, and for each of these a window.
struct Indexing {
  RankedTensorType operand;
  Value indices;
  int64_t vectorDim;
  SmallVector<int64_t> map;     // the dimension of the operand that each number of a vector is for
  SmallVector<int64_t> removed; // dimensions of the operand that windows lack, batches left aside
  SmallVector<int64_t> batching, indexBatching;
  SmallVector<int64_t> windowDims; // of the result, or the updates
  RankedTensorType window;         // the result, or the updates

  /// The dimensions of the result, or the updates, that those of the indices without the vectors are.
  SmallVector<int64_t> batchDims() const;

  /// The dimensions of the operand that windows have, in the order of windowDims.
  SmallVector<int64_t> operandWindowDims() const;

  /// The place of a dimension of the indices among those that are no vectors.
  int64_t batchPlace(int64_t indexDim) const { return indexDim - (indexDim > vectorDim ? 1 : 0); }

  /// Number `i` of all vectors.
  Value component(TensorBuilder &b, int64_t i) const;

  /// The one dimension that is indexed, if windows have all of the other ones; else -1.
  int64_t soleDim() const;

  /// For each element of the window its number in the operand; with `mask` also whether it is in it, else each vector is
  /// moved so that its window is.
  Value linearIndices(TensorBuilder &b, Value *mask) const;
};

inline SmallVector<int64_t> copy(ArrayRef<int64_t> list) { return SmallVector<int64_t>(list); }

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_INDEXING_H
