// What collectives do to the arenas of their members, in the exact check.
#pragma once

#include "runtime/collective/Transport.h"
#include "runtime/verify/Clock.h"
#include "runtime/verify/Memory.h"

#include <span>

namespace dgc::verify {

/// A worker at a collective.
struct Member {
  rt::CollectiveDesc desc; // as this worker sees it
  uint32_t rank = 0;
  Memory *arena = nullptr; // the shared one
  Writer writer;
  uint32_t task = 0; // that does this member's part
  Clock clock;       // of the worker when it arrived; of the task afterwards
};

/// Performs the collective that all these are at. Fails where they disagree about it.
absl::Status exchange(std::vector<Member> &members, uint32_t worldSize, uint64_t arenaBytes, const Functions &functions,
                      Counts &counts);

} // namespace dgc::verify
