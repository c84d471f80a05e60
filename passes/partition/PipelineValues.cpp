// What the rounds of a software-pipelined loop carry from one to the next.

#include "passes/partition/PipelineValues.h"

using namespace mlir;
using namespace dgc;
using SlotKind = PipelineSlot::Kind;

/// A round is that many times as long as one of the schedule, at most.
static constexpr int kMostUnrolled = 8;

/// Of one choice of rounds, in bits: what is copied for each micro-batch, and the most that micro-batches hold.
struct PipelineValues::Cost {
  int64_t copied = 0, held = 0;
  /// Memory first: a copy takes much less time than what computes the value.
  std::pair<int64_t, int64_t> weighed() const { return {2 * held + copied, copied}; }
};

static int64_t bitsOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  return type.getNumElements() * (element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 128);
}

PipelineValues::PipelineValues(const PipelinePlaces &places, const SteadyState &state) : places(places), state(state) {
  for (auto [at, slot] : llvm::enumerate(state.slots))
    position[{slot.kind, slot.stage, slot.microbatch}] = at;
}

std::optional<size_t> PipelineValues::positionOf(Value value, int microbatch) const {
  std::optional<PipelinePlace> place = places.placeOf(value);
  if (!place)
    return std::nullopt;
  auto it = position.find({place->first, place->second, microbatch});
  return it == position.end() ? std::nullopt : std::optional(it->second);
}

bool PipelineValues::isStacked(Value value, SlotKind user) const {
  return state.loops.size() > 1 && user != SlotKind::Forward && places.placeOf(value)->first == SlotKind::Forward;
}

/// Calls `see` for each value of another slot that one needs, but those in arrays.
void PipelineValues::forEachNeeded(const SteadyState::Slot &slot, llvm::function_ref<void(Value)> see) const {
  for (Operation *op : places.opsOf({slot.kind, slot.stage}))
    for (Value value : places.neededBy(op))
      if (!isStacked(value, slot.kind))
        see(value);
}

std::optional<PipelineValues::Rounds> PipelineValues::chooseRounds(const PipelineRounds &steady) const {
  std::optional<std::pair<Cost, Rounds>> best;
  for (int times = 1; times <= kMostUnrolled && !(best && best->first.copied == 0); ++times) {
    std::optional<PipelineRounds> unrolled = steady.unrolled(times);
    if (!unrolled)
      break;
    for (size_t delay = 0; delay < steady.length; ++delay) {
      std::optional<PipelineRounds> delayed = unrolled->delayed(delay);
      if (!delayed)
        break;
      std::optional<Rounds> rounds = findLive(*delayed);
      if (!rounds)
        continue;
      if (Cost cost = costOf(*rounds); !best || cost.weighed() < best->first.weighed())
        best = {cost, *std::move(rounds)};
    }
  }
  return best ? std::optional(std::move(best->second)) : std::nullopt;
}

PipelineValues::Cost PipelineValues::costOf(const Rounds &rounds) const {
  const PipelineRounds &at = rounds.at;
  const size_t end = at.first + at.length;
  llvm::DenseMap<Instance, size_t> lastUse; // in a round
  for (size_t i = at.first; i < end; ++i)
    forEachNeeded(state.slots[i], [&](Value value) { lastUse[{value, state.slots[i].microbatch}] = i; });
  Cost cost;
  llvm::DenseSet<Instance> placed; // where what is carried is
  for (auto [value, microbatch] : rounds.live) {
    cost.held += bitsOf(value); // all the time
    const Instance following(value, microbatch + at.period);
    auto last = lastUse.find({value, microbatch});
    const size_t next = *positionOf(value, following.second);
    const bool isCarried = next < at.first;
    if (!isCarried && (last == lastUse.end() || last->second < next)) {
      placed.insert(following);
      continue;
    }
    cost.copied += bitsOf(value);
    if (!isCarried)
      lastUse[following] = end - 1; // where it is copied
  }
  SmallVector<int64_t> change(at.length + 1); // of what else is held
  for (auto [instance, last] : lastUse) {
    const size_t made = *positionOf(instance.first, instance.second);
    if (made < at.first || placed.contains(instance))
      continue;
    change[made - at.first] += bitsOf(instance.first);
    change[last + 1 - at.first] -= bitsOf(instance.first);
  }
  int64_t now = 0, most = 0;
  for (int64_t each : change)
    most = std::max(most, now += each);
  return {cost.copied / at.period, cost.held + most};
}

/// Which values of which micro-batches there are at the beginning of a round.
std::optional<PipelineValues::Rounds> PipelineValues::findLive(const PipelineRounds &at) const {
  Rounds rounds{at, {}};
  auto need = [&](size_t begin, size_t end, int shift) {
    for (const SteadyState::Slot &slot : ArrayRef(state.slots).slice(begin, end - begin))
      forEachNeeded(slot, [&](Value value) {
        if (*positionOf(value, slot.microbatch) < begin)
          rounds.live.insert({value, slot.microbatch - shift});
      });
  };
  need(at.first, at.first + at.length, 0);
  need(at.end(), state.slots.size(), at.rounds * at.period);
  for (size_t i = 0; i < rounds.live.size(); ++i) {
    auto [value, microbatch] = rounds.live[i];
    std::optional<size_t> now = positionOf(value, microbatch), next = positionOf(value, microbatch + at.period);
    if (!now || *now >= at.first || !next || *next >= at.first + at.length)
      return std::nullopt;
    if (*next < at.first)
      rounds.live.insert({value, microbatch + at.period});
  }
  return rounds;
}
