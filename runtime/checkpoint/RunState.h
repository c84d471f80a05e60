// Where a run was when it was saved, as the metadata of a checkpoint has it.
#pragma once

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/data/Order.h"

#include <optional>

namespace dgc::rt {

/// Where the run was when it was saved, under "dgc.*" in the metadata. Every step ends an epoch or continues it, so
/// step >= cursor.epoch + cursor.step.
struct RunState {
  int64_t step = 0; // training steps done
  Cursor cursor;    // the batch that comes next
  uint64_t seed = 0;
  std::string planDigest; // hex; of the plan that wrote it
  std::string producer;   // "dgc 0.1.0"
  bool operator==(const RunState &) const = default;
};

/// The state under "dgc.*".
Metadata toMetadata(const RunState &state);

/// The state in `metadata`; nothing where there is no "dgc.*" but the digest. An error when one of these keys is unknown,
/// missing, out of range or contradicts another.
absl::StatusOr<std::optional<RunState>> stateIn(const Metadata &metadata);

} // namespace dgc::rt
