// What collectives must give, by a plain program that adds in member order, and how the suite describes and runs them.
#pragma once

#include "runtime/collective/Transport.h"

#include <string>
#include <vector>

namespace dgc::rt::test {

/// What `rank` must find in dst, as bytes.
std::string expected(const CollectiveDesc &d, int rank);

/// Fills src, runs, and returns dst; `repeat` times, all of which must agree.
std::string perform(Transport &t, const CollectiveDesc &d, int repeat = 3);

/// The source of `rank`, as bytes.
std::string sourceOf(const CollectiveDesc &d, int rank);

/// All ranks, in order.
std::vector<uint32_t> everyone(int worldSize);

/// A collective with counts and offsets for `k` elements a member.
CollectiveDesc describe(CollectiveKind kind, DType type, std::vector<uint32_t> group, uint64_t k);

inline constexpr CollectiveKind kKinds[] = {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter,
                                            CollectiveKind::AllGather, CollectiveKind::AllToAll,
                                            CollectiveKind::Broadcast, CollectiveKind::Permute};

TransportOptions options(uint64_t bytes = 1 << 20);

/// An error, or how many bytes there are.
std::string brief(const std::string &bytes);

} // namespace dgc::rt::test
