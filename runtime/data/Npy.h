// NumPy's .npy, versions 1 to 3 (numpy.lib.format).
#pragma once

#include "runtime/base/OutputFile.h"
#include "runtime/data/Array.h"

namespace dgc::rt {

/// Little endian, C order, bool, integers and floats; anything else is an error that says how to save it instead. Elements
/// of two bytes without a type (V2) are bf16: so NumPy saves those of ml_dtypes.
extern const ArrayFormat npyFormat;

/// Magic and header of a version 1 file, padded so that the elements start at a
/// multiple of 64. NumPy has no bf16: an error.
absl::StatusOr<std::string> npyHeader(DType dtype, std::span<const int64_t> shape);

/// The type of the elements that a file gets for those of `dtype`: f32 for bf16, all of whose values it has.
DType npyType(DType dtype);

/// `bytes`, elements of `dtype`, as elements of npyType(dtype).
std::vector<std::byte> toNpyType(DType dtype, std::vector<std::byte> bytes);

/// Replaces `file` by a .npy file. `data` has the bytes of `shape`.
absl::Status writeNpy(OutputFile &file, DType dtype, std::span<const int64_t> shape, std::span<const std::byte> data);

/// The same under a path.
absl::Status writeNpy(Disk &disk, const std::string &path, DType dtype, std::span<const int64_t> shape,
                      std::span<const std::byte> data);

} // namespace dgc::rt
