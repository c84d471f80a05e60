//===- ArenaPlan.h - offsets for buffers with known lifetimes --------------===//
//
// The problem: buffers with a size and a lifetime, in steps; two buffers whose lifetimes overlap must not overlap
// in memory. A solution gives each an offset; its size is the largest end. `planArena` is greedy in several
// orders and keeps the best; on training steps that is within a few per cent of the bytes alive at the worst step,
// which no plan can go below.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_PASSES_SCHEDULE_ARENAPLAN_H
#define DGC_PASSES_SCHEDULE_ARENAPLAN_H

#include <cstdint>
#include <string>
#include <vector>

namespace dgc {

struct ArenaRequest {
  uint64_t size;      // bytes
  int64_t begin, end; // alive in the steps [begin, end]
};

struct ArenaProblem {
  std::vector<ArenaRequest> requests;
  uint64_t alignment = 64; // bytes, a power of two
  /// Says what is wrong with the input; empty when nothing is.
  std::string check() const;
};

struct ArenaPlan {
  std::vector<uint64_t> offsets; // one per request, in bytes
  uint64_t size = 0;             // bytes of the whole arena
  /// Says where the plan does not solve `problem`; empty when it does.
  std::string verify(const ArenaProblem &problem) const;
};

/// Places each request, in several orders, at the lowest offset that is free during its lifetime.
ArenaPlan planArena(const ArenaProblem &problem);

/// Bytes alive at the worst step, sizes rounded up to the alignment: a lower bound for every plan.
uint64_t liveBytes(const ArenaProblem &problem);

} // namespace dgc

#endif // DGC_PASSES_SCHEDULE_ARENAPLAN_H
