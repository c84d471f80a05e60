// Kernels that add up slices at places that are known when the step runs. The updates are sorted by the slice that they
// are added to, so that each slice is written once, by what adds its updates in an order that depends on the indices
// alone. There are no atomics.
#pragma once

#include "runtime/device/cuda/Driver.h"

#include <cstdint>
#include <vector>

namespace dgc::rt::cuda {

/// The kernels as PTX, compiled when dgc was built; null if the host compiler could not. Their arguments are scalars,
/// addresses among them.
const char *scatterKernelsPtx();

/// The same kernels on the CPU, for comparisons; the last one has no name. A grid has blocks of `block` threads.
struct ScatterKernel {
  const char *name; // "dgc_scatter_keys"
  void (*run)(const uint64_t *arguments, bool backwards);
  uint32_t block;
};
extern const ScatterKernel scatterKernels[];

/// dst[o, indices[j] - offset, i] = sum over such j of updates[o, j, i], for o < outer, j < count, i < inner, as in
/// artifact::ScatterAdd; count > 0.
struct Scatter {
  Address dst = 0, updates = 0, indices = 0, offset = 0; // offset: 0, if there is none
  uint64_t indexBytes = 0;                               // of each index
  bool isSigned = false;                                 // indices are
  uint64_t elementBytes = 4;                             // 4: f32, 8: f64
  uint64_t outer = 1, count = 0, inner = 1, size = 1;

  uint64_t rowBytes() const { return outer * inner * elementBytes; }
};

struct ScatterLaunch {
  const ScatterKernel *kernel;
  uint32_t grid;
  std::vector<Argument> args;
};

/// What is launched, one after the other, when dst is zero. `workspace` has gpu::scatterWorkspaceBytes() bytes; its address
/// is a multiple of 256.
std::vector<ScatterLaunch> scatterLaunches(const Scatter &scatter, Address workspace);

} // namespace dgc::rt::cuda
