// Puts a slice into a tensor, at a place that is in memory of the GPU.
#include "runtime/device/cuda/KernelPlace.h"

#ifndef __NVPTX__
#include "runtime/device/cuda/SliceKernels.h"
#endif

namespace {

/// The first index of the slice: all of it is inside.
uint64_t placeOf(uint64_t start, uint64_t width, uint64_t isSigned, uint64_t last) {
  const auto *bytes = reinterpret_cast<const unsigned char *>(start);
  uint64_t wanted = 0;
  for (uint64_t i = 0; i < width; ++i)
    wanted |= uint64_t{bytes[i]} << 8 * i;
  if (isSigned && wanted >> (8 * width - 1))
    return 0;
  return wanted < last ? wanted : last;
}

/// dst[o, place * inner + i] = update[o, i], for o < outer, i < part, in units. A row of dst has `whole` of them.
template <class Unit>
void updateSlice(uint64_t dst, uint64_t update, uint64_t place, uint64_t outer, uint64_t part, uint64_t whole,
                 uint64_t inner) {
  auto *to = reinterpret_cast<Unit *>(dst);
  const auto *from = reinterpret_cast<const Unit *>(update);
  for (uint64_t i = firstPlace(); i < outer * part; i += places())
    to[i / part * whole + place * inner + i % part] = from[i];
}

using Unit1 = unsigned char;
using Unit2 = uint16_t;
using Unit4 = uint32_t;
using Unit8 = uint64_t;
using Unit16 = uint32_t __attribute__((vector_size(16)));

} // namespace

#define DGC_ALL(X) X(1) X(2) X(4) X(8) X(16)

#define DGC_UPDATE(bytes)                                                                                              \
  DGC_KERNEL(dgc_update_slice_##bytes)                                                                                 \
  (uint64_t dst, uint64_t update, uint64_t start, uint64_t width, uint64_t isSigned, uint64_t last, uint64_t outer,    \
   uint64_t part, uint64_t whole, uint64_t inner) {                                                                    \
    updateSlice<Unit##bytes>(dst, update, placeOf(start, width, isSigned, last), outer, part, whole, inner);           \
  }
DGC_ALL(DGC_UPDATE)

#ifndef __NVPTX__
#define DGC_ENTRY(bytes) {"dgc_update_slice_" #bytes, dgc_update_slice_##bytes},
const dgc::rt::cuda::SliceKernel dgc::rt::cuda::sliceKernels[] = {DGC_ALL(DGC_ENTRY){nullptr, nullptr}};
#endif
