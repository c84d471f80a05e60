//===- Bytes.h - numbers of bytes as people write them ----------*- C++ -*-===//

#ifndef DGC_RUNTIME_BASE_BYTES_H
#define DGC_RUNTIME_BASE_BYTES_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace dgc::rt {

/// What parseBytes takes, for errors and help.
inline constexpr std::string_view kBytesSyntax =
    "a number of bytes, as in 1000000, 800MiB, 8GiB (powers of 1024) or 10GB (powers of 1000)";

/// The number of bytes of "1000000", "1.5 GiB" or "10GB": decimal digits, perhaps a fraction, and a unit out of B, kB,
/// MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers of 1024), in any case. A fraction of a byte is cut off.
/// Nothing when the text is not of this form, or above 2^63 - 1.
std::optional<int64_t> parseBytes(std::string_view text);

} // namespace dgc::rt

#endif // DGC_RUNTIME_BASE_BYTES_H
