// Gzip (RFC 1952): one or several members, which expand to one file.
#pragma once

#include "runtime/data/Array.h"

namespace dgc::rt {

/// Deflate expands no more than so many times.
inline constexpr uint64_t mostGzipExpansion = 1032;

/// The first bytes that `in` expands to, at most `count`, without expanding more than that. `in` may be the beginning
/// of a file: what follows is not missed.
absl::StatusOr<Bytes> gunzipPrefix(std::span<const std::byte> in, size_t count, const std::string &path);

/// Expands all members into `out`. Returns the bytes that they have; an error of ResourceExhausted when they have more
/// than `out`, none of which are made.
absl::StatusOr<uint64_t> gunzipInto(std::span<const std::byte> in, std::span<std::byte> out, const std::string &path);

/// Expands all members of what nothing says the size of before; an error when they have more than `limit` bytes.
absl::StatusOr<Bytes> gunzip(std::span<const std::byte> in, const std::string &path, uint64_t limit);

} // namespace dgc::rt
