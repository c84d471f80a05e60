//===- ChooseRecompute.cpp - what to compute again so that a plan fits -----===//

#include "compiler/driver/ChooseRecompute.h"
#include "compiler/driver/MemoryLimit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace dgc {

/// The strategies with these patterns for `recompute`; without it when there are none.
static StrategyOptions withPatterns(StrategyOptions strategies, ArrayRef<std::string> patterns) {
  strategies.recompute = patterns.empty() ? std::nullopt : std::optional(NamePatterns{patterns.vec()});
  return strategies;
}

/// The pattern for the block that a value of the model is in, or for its name where it is in none. Empty for a value
/// without a name, and for names that are not plain text in a pattern.
static std::string patternOf(const HeldValue &value) {
  auto location = value.location->findInstanceOf<NameLoc>();
  StringRef name = location ? location.getName().getValue() : "";
  if (!llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || StringRef("_.-/").contains(c); }))
    return "";
  StringRef block = name.rsplit('.').first;
  return block == name ? name.str() : (block + ".*").str();
}

/// Adds patterns for what is held at the worst step, that first which holds most for longest: what was made just
/// before, as what the backward pass computes, would not go away, and what is needed last in the backward pass is
/// computed again when less of the rest is still held. Returns true when there are new ones.
static bool addCandidates(const MemoryPeak &peak, SmallVectorImpl<std::string> &candidates) {
  SmallVector<std::pair<std::string, uint64_t>> held;
  llvm::StringMap<size_t> places;
  for (const HeldValue &value : peak.largest) {
    std::string pattern = patternOf(value);
    if (value.isVariable || pattern.empty() || llvm::is_contained(candidates, pattern))
      continue;
    auto [place, isNew] = places.try_emplace(pattern, held.size());
    if (isNew)
      held.push_back({pattern, 0});
    held[place->second].second += value.bytes * static_cast<uint64_t>(value.age);
  }
  llvm::stable_sort(held, [](auto &a, auto &b) { return a.second > b.second; });
  for (auto &[pattern, cost] : held)
    candidates.push_back(pattern);
  return !held.empty();
}

std::optional<NamePatterns> chooseRecompute(ModuleOp original, const CompileOptions &options) {
  const StrategyOptions without = withPatterns(options.strategy, {});
  std::optional<MemoryPeak> kept = planWith(original, options, without, SIZE_MAX);
  if (!kept)
    return std::nullopt; // and the error will be said
  auto limit = static_cast<uint64_t>(options.memoryLimit.bytes);
  if (kept->bytes <= limit) {
    original.emitRemark() << "recompute: everything is kept, as " << formatBytes(kept->bytes) << " fit in the limit of "
                          << formatBytes(limit);
    return std::nullopt;
  }
  SmallVector<std::string> candidates;
  auto planned = [&](size_t count, size_t values) {
    return planWith(original, options, withPatterns(options.strategy, ArrayRef(candidates).take_front(count)), values);
  };
  // Once what one program holds at its worst step is computed again, another step, or the program of another stage,
  // may be the worst.
  std::optional<MemoryPeak> peak = kept;
  while (peak && peak->bytes > limit && addCandidates(*peak, candidates))
    peak = planned(candidates.size(), SIZE_MAX);
  if (!peak || peak->bytes > limit)
    return NamePatterns{{candidates.begin(), candidates.end()}}; // and what is too large will be said
  auto bytesWith = [&](size_t count) {
    std::optional<MemoryPeak> peak = planned(count, 0);
    return peak ? peak->bytes : UINT64_MAX;
  };
  size_t most = candidates.size();
  uint64_t bytes = peak->bytes;
  for (size_t least = 0; least + 1 < most;) { // with `least` it does not fit, with `most` it does
    size_t middle = (least + most) / 2;
    uint64_t needed = bytesWith(middle);
    if (needed <= limit) {
      most = middle;
      bytes = needed;
    } else {
      least = middle;
    }
  }
  StrategyOptions chosen = withPatterns(options.strategy, ArrayRef(candidates).take_front(most));
  original.emitRemark() << "recompute: " << most << " of " << candidates.size()
                        << " candidates are computed again, so that a worker needs " << formatBytes(bytes)
                        << " and not " << formatBytes(kept->bytes) << ": --strategy " << chosen.text();
  return chosen.recompute;
}

} // namespace dgc
