// IDX, the format of MNIST: a big-endian header (0, 0, type, rank, sizes as
// u32), then the elements.
#pragma once

#include "runtime/data/Array.h"

namespace dgc::rt {

/// Types: u8, i8, i16, i32, f32, f64.
extern const ArrayFormat idxFormat;

} // namespace dgc::rt
