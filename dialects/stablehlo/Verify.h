// What the verifiers of several ops check.

#ifndef DGC_DIALECTS_STABLEHLO_VERIFY_H
#define DGC_DIALECTS_STABLEHLO_VERIFY_H

#include "dialects/stablehlo/StableHLO.h"

namespace dgc::stablehlo {

inline RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Checks that `dims` are dimensions of a tensor of the rank, none of them twice.
LogicalResult checkDims(Operation *op, StringRef name, ArrayRef<int64_t> dims, int64_t rank);

/// Checks that the list has one number for each of `count` dimensions, each at least `least`.
LogicalResult checkPerDim(Operation *op, StringRef name, ArrayRef<int64_t> list, int64_t count,
                          int64_t least = std::numeric_limits<int64_t>::min());

/// Checks that the shape of a result is the one that follows from the operands.
LogicalResult checkShape(Operation *op, Value result, ArrayRef<int64_t> expected);

/// Checks that the region is one block with arguments of the types, and ends in a stablehlo.return of the results.
LogicalResult checkRegion(Operation *op, Region &region, StringRef name, TypeRange arguments, TypeRange results);

/// Scalar types of the element types.
SmallVector<Type> scalarsOf(ValueRange values);

/// The size of a dimension with `interior` elements between each two of its own and others on its sides; nothing where it is too
/// large for a number.
std::optional<int64_t> paddedSize(int64_t size, int64_t interior, int64_t low, int64_t high);

/// The sizes of a window along one dimension.
struct WindowSize {
  int64_t window, stride = 1, low = 0, high = 0, baseDilation = 1, windowDilation = 1;
  bool reversed = false;
  /// How many windows there are over a dimension of the size; -1 where the numbers are too large.
  int64_t count(int64_t size) const;
};

/// The attributes of a window for `rank` dimensions, with defaults for those that are absent.
FailureOr<SmallVector<WindowSize>> windowOf(Operation *op, ArrayRef<int64_t> window,
                                            std::optional<ArrayRef<int64_t>> strides,
                                            std::optional<ArrayRef<int64_t>> baseDilations,
                                            std::optional<ArrayRef<int64_t>> windowDilations,
                                            std::optional<DenseIntElementsAttr> padding);

} // namespace dgc::stablehlo

#endif // DGC_DIALECTS_STABLEHLO_VERIFY_H
