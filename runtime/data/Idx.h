// IDX, the format of MNIST: a big-endian header (0, 0, type, rank, sizes as
// u32), then the elements.
#pragma once

#include "runtime/data/Array.h"

namespace dgc::rt {

/// An array from the bytes of an IDX file. `file` is for messages. Types: u8,
/// i8, i16, i32, f32, f64. The elements must fill the rest exactly.
absl::StatusOr<Array> parseIdx(Bytes bytes, std::string file);

} // namespace dgc::rt
