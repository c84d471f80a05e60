//===- Geometry.h - the sizes of windows and convolutions -------*- C++ -*-===//
//
// What sliding-window ops compute, with all defaults filled in.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_GEOMETRY_H
#define DGC_DIALECTS_DGC_GEOMETRY_H

#include "dialects/MLIR.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace dgc {

/// One dimension over which a window slides. Output element o sees the elements
///   o * stride + k * dilation - low   for k in [0, window)
/// of the input after `inputDilation - 1` zeros were put between its elements.
struct WindowDim {
  int64_t input = 1, window = 1, output = 1;
  int64_t stride = 1, low = 0, high = 0, dilation = 1, inputDilation = 1;

  /// The extent of the dilated input and of the dilated window.
  int64_t dilatedInput() const { return input == 0 ? 0 : (input - 1) * inputDilation + 1; }
  int64_t dilatedWindow() const { return (window - 1) * dilation + 1; }

  /// True when each output element sees just the input element at its place.
  bool isPointwise() const { return window == 1 && stride == 1 && low == 0 && high == 0 && inputDilation == 1; }
  /// True when one window is the whole input.
  bool isWhole() const { return window == input && low == 0 && high == 0 && dilation == 1 && inputDilation == 1; }
  /// True when the windows are adjacent and cover the whole input.
  bool isTiled() const {
    return window == stride && low == 0 && high == 0 && dilation == 1 && inputDilation == 1 && input == output * window;
  }

  /// The same window over an input of another size; none where no window fits into that.
  std::optional<WindowDim> withInput(int64_t size) const;
  /// True when windows are at the same places at both ends: as many elements are left out, there are several windows or not, and
  /// one is without padding or not.
  bool hasEndsOf(const WindowDim &other) const;
};

struct ConvolutionGeometry {
  int64_t batch = 1, inputChannels = 1, outputChannels = 1, groups = 1;
  llvm::SmallVector<WindowDim> spatial;

  int64_t channelsPerGroup() const { return inputChannels / groups; }
  /// True when each channel of the output is made of one channel of the input.
  bool isDepthwise() const { return groups > 1 && groups == inputChannels && groups == outputChannels; }
};

/// The attributes of a sliding window: one entry per dimension (`padding`: low
/// and high), or none for the default.
struct WindowAttributes {
  llvm::ArrayRef<int64_t> strides, padding, dilation, inputDilation;
};

/// Combines sizes and attributes; the output sizes are computed. An attribute
/// that does not fit is reported at `location` (when there is one) as an error
/// of the op `opName`.
FailureOr<llvm::SmallVector<WindowDim>> inferWindow(std::optional<Location> location, llvm::StringRef opName,
                                                    llvm::ArrayRef<int64_t> input, llvm::ArrayRef<int64_t> window,
                                                    const WindowAttributes &attributes);

/// Where a tensor dimension occurs: for each operand and result its number, -1 for not at all.
struct DimOccurrence {
  llvm::SmallVector<int64_t> operands, results;
};

class ShardingRuleBuilder;

/// Adds the factor of a dimension that a window slides over. `input` and `output` say where the two sides of it are.
/// They are cut together, and elements move unless each output sees just the input at its place. `size` is that of the side whose parts
/// are computed. Dilation of the input rules cutting out; then there is a factor for each side.
void addSlidingFactor(ShardingRuleBuilder &rule, const WindowDim &dim, const DimOccurrence &input,
                      const DimOccurrence &output, int64_t size, bool isReduction = false);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_GEOMETRY_H
