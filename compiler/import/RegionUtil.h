// The regions of ops of StableHLO, which say how scalars are combined, applied to whole tensors.

#ifndef DGC_COMPILER_IMPORT_REGIONUTIL_H
#define DGC_COMPILER_IMPORT_REGIONUTIL_H

#include "compiler/import/Patterns.h"

namespace dgc::import {

/// Whether the region, of scalars, computes with elementwise ops alone; else says why not.
bool isElementwise(Region &region, std::string &reason);

/// Applies such a region to tensors of one shape, element by element, with ops of StableHLO.
SmallVector<Value> applyElementwise(TensorBuilder &b, Region &region, ValueRange arguments);

/// Combines all elements along a dimension, which is taken away, by the region: always two neighbours, in rounds.
SmallVector<Value> foldElements(TensorBuilder &b, Region &region, ValueRange values, int64_t dim);

/// The values combined with what a reduction begins with.
SmallVector<Value> withInitials(TensorBuilder &b, Region &region, ValueRange inits, ValueRange values);

/// Ops of StableHLO, which take elements of any type; `x` where they would change nothing.
namespace shlo {
Value broadcastScalar(TensorBuilder &b, Value x, ArrayRef<int64_t> shape);
Value concatenate(TensorBuilder &b, ValueRange parts, int64_t dim);
Value pad(TensorBuilder &b, Value x, Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
          ArrayRef<int64_t> interior);
Value reshape(TensorBuilder &b, Value x, ArrayRef<int64_t> shape);
Value reverse(TensorBuilder &b, Value x, int64_t dim);
Value select(TensorBuilder &b, Value pred, Value onTrue, Value onFalse);
Value slice(TensorBuilder &b, Value x, ArrayRef<int64_t> starts, ArrayRef<int64_t> limits, ArrayRef<int64_t> strides);
} // namespace shlo

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_REGIONUTIL_H
