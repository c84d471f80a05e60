// What ONNX ops have in common that slide windows over images. In ONNX channels are dimension 1, in dgc the last one.

#ifndef DGC_COMPILER_IMPORT_ONNX_WINDOW_H
#define DGC_COMPILER_IMPORT_ONNX_WINDOW_H

#include "compiler/import/onnx/Node.h"

namespace dgc::import {

/// From [n, c, ..] to [n, .., c], and back.
Value channelsLast(Node &n, Value x);
Value channelsSecond(Node &n, Value x);

/// What an op says of its window, with a number for each dimension of space. `padding` is low, high, low, high, ..
struct Window {
  SmallVector<int64_t> sizes, strides, dilations, padding;
  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t extent(int64_t i) const { return (sizes[i] - 1) * dilations[i] + 1; }
};

/// The window of a node whose operand is [n, c, ..]. Fails with a diagnostic.
FailureOr<Window> windowOf(Node &n, SmallVector<int64_t> sizes, bool hasPadding = true);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_ONNX_WINDOW_H
