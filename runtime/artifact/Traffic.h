// What one rank communicates in a step, in numbers: one definition for the compiler, which explains it, and the
// runtime, which reads it from a plan. It includes neither MLIR nor the artifact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace dgc::rt {

/// The payload of a collective on one rank, in bytes, from what the rank gives and what it gets: the size of the whole
/// value, as the literature counts it. All-reduce: the value; reduce-scatter: the value before it is scattered;
/// all-gather: the value after it is gathered; all-to-all, permute and broadcast: the value on one rank. Padding that
/// makes a dimension divisible is part of the value, alignment between values is not. What an algorithm sends for it is
/// a multiple: of P bytes over N ranks, a ring sends P (N - 1) / N for a reduce-scatter or an all-gather, and twice
/// that for an all-reduce.
constexpr uint64_t payloadBytes(uint64_t given, uint64_t received) { return std::max(given, received); }

/// Collectives and transfers of one rank in one run of a program. Bytes of collectives are payloads; those of transfers
/// are the sizes of the values that are sent or received. What a loop does in each round counts as often as it has rounds,
/// and both sides of a branch count.
struct Traffic {
  uint64_t collectives = 0, collectiveBytes = 0;
  uint64_t sends = 0, sentBytes = 0;
  uint64_t receives = 0, receivedBytes = 0;

  bool isLowerBound = false; ///< the number of rounds of a loop that communicates is unknown, and counts as one

  void addCollective(uint64_t bytes, uint64_t times = 1) { collectives += times, collectiveBytes += times * bytes; }
  void addSend(uint64_t bytes, uint64_t times = 1) { sends += times, sentBytes += times * bytes; }
  void addReceive(uint64_t bytes, uint64_t times = 1) { receives += times, receivedBytes += times * bytes; }
  bool operator==(const Traffic &) const = default;
};

/// "2 collectives of 814160 B, 1 send of 4 B"; "at least 2 collectives of 814160 B"; "no communication".
std::string describe(const Traffic &traffic);

} // namespace dgc::rt
