// What a program finds of a value that it checks, in dgc ops.

#ifndef DGC_PASSES_COMMUNICATE_NUMERICSROWS_H
#define DGC_PASSES_COMMUNICATE_NUMERICSROWS_H

#include "dialects/dgc/CompositeBuilder.h"

namespace dgc {

/// How many elements are wrong, and 4 * i + k of the first of them: its row-major index and what it is, as in dgcx.fbs.
/// Both are tensor<i64>; what the second is where there is none means nothing.
struct NumericsRow {
  mlir::Value count, first;
};

/// Of those elements for which `isWrong`, an i1 tensor of the shape of `x`, holds.
NumericsRow buildRow(CompositeBuilder &b, mlir::Value x, mlir::Value isWrong);

/// Of all elements that are not finite.
NumericsRow buildRowOfNotFinite(CompositeBuilder &b, mlir::Value x);

/// The rows of a value, of `length` elements one after the other, that have elements that are not finite.
struct WrongRows {
  mlir::Value count; // of these elements
  mlir::Value first; // the first row that has one; where there is none the last row
  int64_t length = 0;
};

/// How long the rows are by which a value is looked at; 0: it is so small that all of it is, at once.
int64_t rowLengthOf(mlir::Value x);

/// Goes over all of a value once, in the fewest operations for each element.
WrongRows findWrongRows(CompositeBuilder &b, mlir::Value x);

/// Of the elements of one row that are not finite. The count is that of `rows` if these are of the value itself, else that of
/// the row alone.
NumericsRow buildRowOfFirst(CompositeBuilder &b, mlir::Value x, const WrongRows &rows, bool isItself);

/// i1 tensors of the shape of `x`.
mlir::Value isNaN(CompositeBuilder &b, mlir::Value x);
mlir::Value isFinite(CompositeBuilder &b, mlir::Value x);
mlir::Value both(CompositeBuilder &b, mlir::Value x, mlir::Value y);
mlir::Value either(CompositeBuilder &b, mlir::Value x, mlir::Value y);
mlir::Value negated(CompositeBuilder &b, mlir::Value x);

/// Puts tensors of [.., n, ..] one after the other along dimension 0.
mlir::Value joined(CompositeBuilder &b, mlir::ArrayRef<mlir::Value> parts, int64_t dim = 0);

} // namespace dgc

#endif // DGC_PASSES_COMMUNICATE_NUMERICSROWS_H
