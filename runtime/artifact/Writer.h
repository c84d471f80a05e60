// Turns a plan into the bytes of an artifact. Used by compiler/package and by
// tests.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <span>
#include <vector>

namespace dgc::rt {

/// Value of Plan.format that this reader and writer understand.
inline constexpr uint32_t artifactFormat = 6;

/// Serializes `plan`, after setting `format`, the digest of every section and
/// the digest of the file. The same plan gives the same bytes. Only sizes are
/// checked (2 GiB at most); load() says whether the plan makes sense. A record
/// of the exact check stays as it is: load() refuses it where the plan changed.
absl::StatusOr<std::vector<uint8_t>> finishPlan(artifact::PlanT plan);

/// The same plan with a record of what the exact check found, in the place of
/// an older one. The digest of the record is filled in.
absl::StatusOr<std::vector<uint8_t>> withRecord(const artifact::Plan &plan, artifact::VerifiedT record);

/// What Verified.digest of an artifact with a record should be: it covers the
/// plan and the record.
artifact::Digest digestOfRecord(std::span<const uint8_t> bytes);

/// The file digest of serialized bytes whose digest field lies at `offset`.
artifact::Digest digestOfFile(const uint8_t *data, size_t size, size_t offset);

/// SHA-256.
artifact::Digest digestOf(const uint8_t *data, size_t size);

} // namespace dgc::rt
