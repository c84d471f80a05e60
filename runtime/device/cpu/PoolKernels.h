// The loops of pooling. PoolKernels.cpp is compiled once for each instruction
// set; Pool.cpp chooses.
#pragma once

#include "runtime/base/DType.h"

#include <cstdint>

namespace dgc::rt {

/// Pooling over [batch, in.., channels] to [batch, out.., channels]. Fewer than
/// three spatial dimensions are filled up in front with extents of 1.
struct PoolShape {
  int64_t batch = 1, channels = 1;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t window[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, low[3] = {0, 0, 0};
  bool countPad = false; // an average divides by the whole window
  /// Every input belongs to exactly one window.
  bool tiles = false;
};

/// Arguments of one call. `indices` has one entry of indexBytes (1 or 4) for
/// each output: the row-major position in its window of the first maximum; null
/// if there are none.
struct PoolArgs {
  const void *src = nullptr; // MaxForward, AvgForward; MaxBackward w/o indices
  void *dst = nullptr;       // MaxForward, AvgForward
  const void *diffDst = nullptr;
  void *diffSrc = nullptr;
  void *indices = nullptr;
  int indexBytes = 0;
  int32_t *positions = nullptr; ///< MaxBackward with windows that overlap: room for those of all outputs
};

/// Does the examples [begin, end). NaN counts as the maximum.
using PoolKernel = void (*)(const PoolShape &, const PoolArgs &, int64_t begin, int64_t end);

struct PoolKernels {
  PoolKernel maxForward = nullptr, maxBackward = nullptr, avgForward = nullptr, avgBackward = nullptr;
};

/// The kernels for f32, f64, bf16 or f16; null for others.
namespace baseline {
PoolKernels poolKernels(DType type);
} // namespace baseline
namespace avx2 {
PoolKernels poolKernels(DType type);
} // namespace avx2
namespace avx512 {
PoolKernels poolKernels(DType type);
} // namespace avx512

} // namespace dgc::rt
