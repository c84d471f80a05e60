// Files in memory that nobody can change once they are sealed: what is checked there is what is used.
#pragma once

#include "runtime/artifact/PlanSignature.h"
#include "runtime/artifact/Reader.h"
#include "runtime/artifact/Structure.h"

#include <memory>
#include <span>
#include <string_view>

namespace dgc::rt {

/// An artifact of the largest size, and its signature.
inline constexpr uint64_t kMaxFileBytes = maxArtifactBytes + kSignatureTrailerBytes;

/// A new anonymous file. The caller closes it.
absl::StatusOr<int> memoryFile(const char *name);

/// Writes all of `bytes` to `fd`.
absl::Status writeAll(int fd, std::span<const uint8_t> bytes);

/// From now on nobody can change the file in memory `fd`.
absl::Status seal(int fd);

/// Fills `bytes` from the open file `in`, as far as that goes. The number of bytes read.
absl::StatusOr<size_t> readFull(int in, std::span<uint8_t> bytes);

/// Copies the open file `in` to `out` until it ends or `limit` bytes are copied. The number of
/// bytes copied.
absl::StatusOr<uint64_t> copyFile(int in, int out, uint64_t limit);

/// Maps and checks a sealed file of `size` bytes, the signature before all else. Takes `fd`.
absl::StatusOr<std::unique_ptr<Artifact>> adoptSealed(int fd, uint64_t size, std::string_view name,
                                                      const Signers &signers);

} // namespace dgc::rt
