// The structural check of an artifact: what has to hold before any accessor of
// the generated code may be called on it.
#pragma once

#include "absl/status/status.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace dgc::rt {

/// Largest artifact that is read.
inline constexpr uint64_t maxArtifactBytes = (uint64_t{1} << 31) - 1024;

/// Size, identifier, the FlatBuffers verifier under limits that follow from
/// the size, and no byte that belongs to two objects: tables, vectors and
/// strings are disjoint, so that whatever reads every object once does work in
/// proportion to the size of the file. (The verifier alone accepts files whose
/// offsets alias, in which a few bytes stand for millions of objects.)
absl::Status checkStructure(std::span<const uint8_t> bytes);

} // namespace dgc::rt
