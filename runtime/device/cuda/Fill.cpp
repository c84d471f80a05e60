// Patterns of fills.
#include "runtime/device/cuda/Fill.h"

#include "runtime/base/Status.h"

#include <cstring>

namespace dgc::rt::cuda {

/// The bits of `value` in a type.
static uint64_t bitsOf(DType dtype, double value) {
  uint64_t bits = 0;
  auto put = [&](auto v) { std::memcpy(&bits, &v, sizeof v); };
  switch (dtype) {
  case DType::F32:
    put(static_cast<float>(value));
    break;
  case DType::F64:
    put(value);
    break;
  case DType::F16:
    put(toF16(static_cast<float>(value)));
    break;
  case DType::BF16:
    put(toBF16(static_cast<float>(value)));
    break;
  case DType::I1:
    bits = value != 0;
    break;
  case DType::U8:
  case DType::U16:
  case DType::U32:
  case DType::U64:
    bits = static_cast<uint64_t>(value);
    break;
  default:
    bits = static_cast<uint64_t>(static_cast<int64_t>(value));
  }
  size_t size = sizeOf(dtype);
  return size == 8 ? bits : bits & ((uint64_t{1} << (8 * size)) - 1);
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
