// Kernels that put a slice into a tensor, at a place that is known when the step runs.
#pragma once

#include <cstdint>

namespace dgc::rt::cuda {

/// The kernels as PTX, compiled when dgc was built; null if the host compiler could not. Their arguments are scalars:
/// addresses of the tensor, of the slice and of its first index, which has `width` bytes; `last` is the largest index that it
/// may be. Sizes are in units of as many bytes as the name of the kernel says: `outer` rows, in each of which the slice has
/// `part` units of `whole`; an index is `inner` of them.
const char *sliceKernelsPtx();

/// The same kernels on the CPU, for comparisons; the last one has no name.
struct SliceKernel {
  const char *name; // "dgc_update_slice_16"
  void (*run)(uint64_t dst, uint64_t update, uint64_t start, uint64_t width, uint64_t isSigned, uint64_t last,
              uint64_t outer, uint64_t part, uint64_t whole, uint64_t inner);
};
extern const SliceKernel sliceKernels[];

} // namespace dgc::rt::cuda
