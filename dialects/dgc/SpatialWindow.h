//===- SpatialWindow.h - windows of convolutions and pools ------*- C++ -*-===//

#ifndef DGC_DIALECTS_DGC_SPATIALWINDOW_H
#define DGC_DIALECTS_DGC_SPATIALWINDOW_H

#include "dialects/MLIR.h"
#include "dialects/dgc/DGC.h"

namespace dgc {

/// The clauses of a window op as they are written.
struct WindowClauses {
  ArrayRef<int64_t> size;
  std::optional<ArrayRef<int64_t>> strides;
  std::optional<PaddingAttr> padding;
  std::optional<ArrayRef<int64_t>> dilation;
  bool stridesAreWindow = false; // where none are given; else 1
};

/// The spatial dimensions of a window op, clauses filled in.
struct SpatialWindow {
  SmallVector<int64_t, 3> size, strides, dilation, low, high, result;

  int64_t numDims() const { return int64_t(size.size()); }
  int64_t extent(int64_t dim) const { return (size[dim] - 1) * dilation[dim] + 1; }
  /// The padding as primitive ops have it: low and high of each dimension.
  SmallVector<int64_t> padding() const;
};

/// `[n, height, width, channels]`, for messages about activations with so many spatial dimensions.
StringRef activationsOf(int64_t spatialDims);
/// `one number`, `two numbers`, ..
std::string countOf(int64_t number, StringRef noun);

/// Works out strides, padding and the size of the result over `input`, [n, spatial dimensions, channels]; reports what does
/// not fit.
FailureOr<SpatialWindow> computeWindow(std::optional<Location> location, StringRef name, RankedTensorType input,
                                       int64_t spatialDims, const WindowClauses &clauses);

/// The same for a transposed convolution, whose result has the size of what a convolution makes `input` of; `more` is added
/// to it at the high end.
FailureOr<SpatialWindow> computeTransposedWindow(std::optional<Location> location, StringRef name,
                                                 RankedTensorType input, int64_t spatialDims,
                                                 const WindowClauses &clauses, std::optional<ArrayRef<int64_t>> more);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_SPATIALWINDOW_H
