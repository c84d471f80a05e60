// Which copies of a job's state each worker has (Replicas.h), and which of them make a whole.
#pragma once

#include "absl/status/statusor.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// The copies of one worker, in two slots, of its own share and of that of the rank before it. Of one generation: all
/// workers of a generation had the same numbers of workers and ranks when they made them.
struct HeldCopies {
  uint32_t generation = 0;
  uint32_t world = 0, rank = 0;                      // of the worker in that generation
  std::array<int64_t, 2> own{-1, -1}, other{-1, -1}; // steps, by slot; -1: none
  std::array<std::string, 2> texts;                  // with the share of rank 0: what the run has beside variables

  uint32_t before() const { return (rank + world - 1) % world; }
  /// The slot with the share that rank `of` had, at this step.
  std::optional<size_t> slotOf(uint32_t of, int64_t step) const;
  /// Some copy is there.
  bool any() const;
};

/// As one text, for the control plane; and back.
std::string toText(const std::vector<HeldCopies> &held);
std::optional<std::vector<HeldCopies>> heldCopiesOf(std::string_view text);

/// A step of which every share is with some worker.
struct WholeCopy {
  uint32_t generation = 0, world = 0;
  int64_t step = 0;
  std::vector<uint32_t> holders; // by rank in that generation: the rank, now, of who has its share
  std::string text;
};
/// The newest one, by what the workers say that there are now, by rank. An error where one has said what is no such text.
absl::StatusOr<std::optional<WholeCopy>> newestWhole(const std::vector<std::string> &said);

} // namespace dgc::rt
