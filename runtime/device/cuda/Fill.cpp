// Patterns of fills.
#include "runtime/device/cuda/Fill.h"

#include "runtime/base/Status.h"

#include <cstring>

namespace dgc::rt::cuda {

/// The bits of `value` in a type.
static uint64_t bitsOf(DType dtype, double value) {
  uint64_t bits = 0;
  storeElement(dtype, &bits, 0, value);
  return bits;
}

absl::StatusOr<FillPattern> fillPattern(DType dtype, double value) {
  uint64_t bits = bitsOf(dtype, value);
  size_t size = sizeOf(dtype);
  if (size < 8)
    return FillPattern{static_cast<uint32_t>(bits), static_cast<uint32_t>(size), 1};
  auto low = static_cast<uint32_t>(bits), high = static_cast<uint32_t>(bits >> 32);
  if (low != high)
    return absl::UnimplementedError(str("filling ", nameOf(dtype), " with ", value, " on GPUs"));
  return FillPattern{low, 4, 2};
}

} // namespace dgc::rt::cuda
