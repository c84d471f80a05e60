// A number as the driver fills memory with it.
#pragma once

#include "runtime/base/DType.h"

#include "absl/status/statusor.h"

#include <cstdint>

namespace dgc::rt::cuda {

struct FillPattern {
  uint32_t value = 0, width = 1; // bytes: 1, 2 or 4
  uint64_t perElement = 1;       // patterns
};

/// An element of 8 bytes has two patterns, which are equal or it is refused.
absl::StatusOr<FillPattern> fillPattern(DType dtype, double value);

} // namespace dgc::rt::cuda
