// The order in which a run takes the samples of its data.
#pragma once

#include <cstdint>
#include <vector>

namespace dgc::rt {

/// Streams of Philox from here on (id = kOrderStream + epoch) order the data;
/// variables and ops have ids below.
inline constexpr uint64_t kOrderStream = uint64_t{0xFFFFFF} << 40;
/// Streams from here on draw windows of token sequences.
inline constexpr uint64_t kWindowStream = uint64_t{0xFFFFFE} << 40;

/// Makes `order` the permutation of 0 .. count-1 of an epoch; the same on every
/// machine. Fisher-Yates: from the identity, for i = count-1 down to 1, swap
/// entries i and j with j = floor(w * (i + 1) / 2^64), where w is the 64-bit
/// word of element i of the Philox stream kOrderStream + epoch of `seed`.
/// Allocates nothing when `order` has the capacity.
void permute(std::vector<uint32_t> &order, uint32_t count, uint64_t seed, uint64_t epoch);

/// What happens to the samples that do not fill a batch at the end of an epoch.
enum class LastBatch {
  Drop,   // they are left out
  Weight, // one more batch, padded with its last sample; its valid count says
          // how many are real
};

/// Batches of one epoch.
int64_t stepsPerEpoch(int64_t samples, int64_t globalBatch, LastBatch last);

/// Where a run is in its data: the next batch is `step` of `epoch`, both from
/// 0.
struct Cursor {
  int64_t epoch = 0;
  int64_t step = 0;
  bool operator==(const Cursor &) const = default;
};

} // namespace dgc::rt
