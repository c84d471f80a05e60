//===- PipelineSchedule.cpp - in which order the stages of a pipeline work --===//

#include "passes/partition/PipelineSchedule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace dgc {

using Kind = PipelineSlot::Kind;

static PipelineSchedule emptySchedule(int positions, int microbatches, int chunks) {
  PipelineSchedule schedule{positions, chunks, microbatches, {}};
  schedule.slots.resize(positions);
  return schedule;
}

PipelineSchedule scheduleGPipe(int positions, int microbatches) {
  PipelineSchedule schedule = emptySchedule(positions, microbatches, 1);
  for (auto &slots : schedule.slots) {
    for (int m = 0; m < microbatches; ++m) {
      slots.push_back({Kind::Forward, 0, m});
    }
    for (int m = 0; m < microbatches; ++m) {
      slots.push_back({Kind::Backward, 0, m});
    }
  }
  return schedule;
}

PipelineSchedule scheduleOneForwardOneBackward(int positions, int microbatches) {
  PipelineSchedule schedule = emptySchedule(positions, microbatches, 1);
  for (int i = 0; i < positions; ++i) {
    int next = 0;
    auto forward = [&] {
      if (next < microbatches) {
        schedule.slots[i].push_back({Kind::Forward, 0, next++});
      }
    };
    for (int m = 0; m < positions - 1 - i; ++m) {
      forward();
    }
    for (int m = 0; m < microbatches; ++m) {
      forward();
      schedule.slots[i].push_back({Kind::Backward, 0, m});
    }
  }
  return schedule;
}

PipelineSchedule scheduleInterleaved(int positions, int microbatches, int chunks) {
  PipelineSchedule schedule = emptySchedule(positions, microbatches, chunks);
  int total = microbatches * chunks;
  // Number k of the passes of a position: p micro-batches on each of its stages in turn.
  auto slotOf = [&](int k, bool forward) {
    int chunk = k / positions % chunks, microbatch = k / (positions * chunks) * positions + k % positions;
    return forward ? PipelineSlot{Kind::Forward, chunk, microbatch}
                   : PipelineSlot{Kind::Backward, chunks - 1 - chunk, microbatch};
  };
  for (int i = 0; i < positions; ++i) {
    int warmUp = std::min(2 * (positions - 1 - i) + (chunks - 1) * positions, total), next = 0;
    while (next < warmUp) {
      schedule.slots[i].push_back(slotOf(next++, true));
    }
    for (int k = 0; k < total; ++k) {
      if (next < total) {
        schedule.slots[i].push_back(slotOf(next++, true));
      }
      schedule.slots[i].push_back(slotOf(k, false));
    }
  }
  return schedule;
}

PipelineSchedule scheduleZeroBubbleH1(int positions, int microbatches) {
  PipelineSchedule schedule = emptySchedule(positions, microbatches, 1);
  for (int i = 0; i < positions; ++i) {
    auto &slots = schedule.slots[i];
    int next = 0, weights = 0;
    auto forward = [&] {
      if (next < microbatches) {
        slots.push_back({Kind::Forward, 0, next++});
      }
    };
    for (int m = 0; m < positions - 1 - i; ++m) {
      forward();
    }
    for (int m = 0; m < microbatches; ++m) {
      forward();
      slots.push_back({Kind::BackwardInput, 0, m});
      if (m >= i) {
        slots.push_back({Kind::BackwardWeight, 0, weights++});
      }
    }
    while (weights < microbatches) {
      slots.push_back({Kind::BackwardWeight, 0, weights++});
    }
  }
  return schedule;
}

double PipelineCosts::of(Kind kind) const {
  switch (kind) {
  case Kind::Forward:
    return forward;
  case Kind::Backward:
    return backwardInput + backwardWeight;
  case Kind::BackwardInput:
    return backwardInput;
  case Kind::BackwardWeight:
    return backwardWeight;
  }
  return 0;
}

double PipelineTimes::bubble() const { return end - *std::max_element(busy.begin(), busy.end()); }

std::optional<PipelineTimes> simulate(const PipelineSchedule &schedule, const PipelineCosts &costs) {
  PipelineTimes times;
  times.begin.resize(schedule.positions);
  times.busy.assign(schedule.positions, 0);
  times.peakActivations.assign(schedule.positions, 0);
  // When the pass of a micro-batch through a stage ends: forward, backward to its input.
  std::map<std::tuple<bool, int, int>, double> done;
  std::vector<double> now(schedule.positions, 0);
  std::vector<int> held(schedule.positions, 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < schedule.positions; ++i) {
      while (times.begin[i].size() < schedule.slots[i].size()) {
        const PipelineSlot &slot = schedule.slots[i][times.begin[i].size()];
        int stage = schedule.stageOf(i, slot);
        bool forward = slot.kind == Kind::Forward, last = stage + 1 == schedule.stages();
        double ready = 0;
        if (forward ? stage > 0 : slot.kind != Kind::BackwardWeight && !last) {
          auto it = done.find({forward, forward ? stage - 1 : stage + 1, slot.microbatch});
          if (it == done.end()) {
            break;
          }
          ready = it->second;
        }
        double begin = std::max(now[i], ready), cost = costs.of(slot.kind);
        times.begin[i].push_back(begin);
        times.busy[i] += cost;
        now[i] = begin + cost;
        if (slot.kind != Kind::BackwardWeight) {
          done[{forward, stage, slot.microbatch}] = now[i];
        }
        held[i] += forward ? 1 : slot.kind == Kind::BackwardInput ? 0 : -1;
        times.peakActivations[i] = std::max(times.peakActivations[i], held[i]);
        times.end = std::max(times.end, now[i]);
        changed = true;
      }
    }
  }
  for (int i = 0; i < schedule.positions; ++i) {
    if (times.begin[i].size() < schedule.slots[i].size()) {
      return std::nullopt;
    }
  }
  return times;
}

/// The longest part of slots[begin, end) in which each comes again `length` later and `period` micro-batches further.
static std::optional<PipelineRounds> findRounds(const std::vector<SteadyState::Slot> &slots, size_t begin, size_t end,
                                                size_t length, int period) {
  PipelineRounds found;
  found.length = length;
  found.period = period;
  auto comesAgain = [&](size_t at) {
    SteadyState::Slot later = slots[at];
    later.microbatch += period;
    return slots[at + length] == later;
  };
  for (size_t at = begin; at + length < end; ++at) {
    if (!comesAgain(at)) {
      begin = at + 1;
    } else if (at + 1 - begin > found.repeating) {
      found.repeating = at + 1 - begin;
      found.first = begin;
    }
  }
  return found.delayed(0);
}

std::optional<SteadyState> findSteadyState(const PipelineSchedule &schedule, const PipelineTimes &times) {
  SteadyState state;
  std::vector<std::pair<double, SteadyState::Slot>> order;
  for (int i = 0; i < schedule.positions; ++i) {
    for (size_t k = 0; k < schedule.slots[i].size(); ++k) {
      const PipelineSlot &slot = schedule.slots[i][k];
      order.push_back({times.begin[i][k], {slot.kind, schedule.stageOf(i, slot), slot.microbatch}});
    }
  }
  std::stable_sort(order.begin(), order.end(), [](auto &a, auto &b) { return a.first < b.first; });
  for (auto &[begin, slot] : order) {
    state.slots.push_back(slot);
  }
  // Interleaved positions take as many micro-batches through a stage as there are positions.
  state.hasChunks = schedule.chunks > 1;
  const int period = state.hasChunks ? schedule.positions : 1;
  auto isForward = [](const SteadyState::Slot &slot) { return slot.kind == Kind::Forward; };
  const auto turn = std::find_if_not(state.slots.begin(), state.slots.end(), isForward);
  const bool isApart = std::none_of(turn, state.slots.end(), isForward);
  const size_t middle = isApart ? turn - state.slots.begin() : 0;
  for (auto [begin, end] : {std::pair<size_t, size_t>(0, middle), {middle, state.slots.size()}}) {
    if (begin == end) {
      continue;
    }
    std::optional<PipelineRounds> loop =
        findRounds(state.slots, begin, end, (end - begin) / schedule.microbatches * period, period);
    if (!loop) {
      return std::nullopt;
    }
    state.loops.push_back(*loop);
  }
  return state;
}

bool SteadyState::canUnroll(int times) const {
  return std::all_of(loops.begin(), loops.end(), [&](const PipelineRounds &loop) { return loop.unrolled(times); });
}

std::optional<PipelineRounds> PipelineRounds::unrolled(int times) const {
  PipelineRounds longer = *this;
  longer.length *= times;
  longer.period *= times;
  if (repeating + length < longer.length) {
    return std::nullopt;
  }
  longer.repeating = repeating + length - longer.length;
  return longer.delayed(0);
}

std::optional<PipelineRounds> PipelineRounds::delayed(size_t slots) const {
  if (repeating < slots + length) {
    return std::nullopt;
  }
  PipelineRounds later = *this;
  later.first += slots;
  later.repeating -= slots;
  later.rounds = static_cast<int>(later.repeating / length) + 1;
  return later;
}

static std::string textOf(const PipelineSlot &slot) {
  const char *names[] = {"forward", "backward", "backward to the input", "backward to the weights"};
  return std::string(names[slot.kind]) + " of micro-batch " + std::to_string(slot.microbatch) + " on stage " +
         std::to_string(slot.chunk) + " of its position";
}

std::string PipelineSchedule::verify() const {
  if (static_cast<int>(slots.size()) != positions) {
    return "there are slots for " + std::to_string(slots.size()) + " of " + std::to_string(positions) + " positions";
  }
  for (int i = 0; i < positions; ++i) {
    // 1: forward, 2: backward to the input, 4: to the weights.
    std::map<std::pair<int, int>, int> state;
    for (const PipelineSlot &slot : slots[i]) {
      std::string what = "position " + std::to_string(i) + ": " + textOf(slot);
      if (slot.chunk < 0 || slot.chunk >= chunks || slot.microbatch < 0 || slot.microbatch >= microbatches) {
        return what + ", which there is not";
      }
      int &now = state[{slot.chunk, slot.microbatch}];
      const int adds[] = {1, 6, 2, 4}, needs[] = {0, 1, 1, 3};
      if (now & adds[slot.kind]) {
        return what + " happens twice";
      }
      if ((now & needs[slot.kind]) != needs[slot.kind]) {
        return what + " comes before what it needs";
      }
      now |= adds[slot.kind];
    }
    if (static_cast<int>(state.size()) != chunks * microbatches ||
        std::any_of(state.begin(), state.end(), [](auto &entry) { return entry.second != 7; })) {
      return "position " + std::to_string(i) + " does not do all passes";
    }
  }
  return simulate(*this, {}) ? "" : "positions wait for each other";
}

std::string chartOf(const PipelineSchedule &schedule, const PipelineCosts &costs) {
  std::optional<PipelineTimes> times = simulate(schedule, costs);
  if (!times) {
    return "positions wait for each other\n";
  }
  double unit = std::min({costs.forward, costs.backwardInput, costs.backwardWeight});
  auto column = [&](double time) { return static_cast<size_t>(std::lround(time / unit)); };
  const std::string digits = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string text;
  for (int i = 0; i < schedule.positions; ++i) {
    std::string line(2 * column(times->end), ' ');
    for (size_t k = 0; k < schedule.slots[i].size(); ++k) {
      const PipelineSlot &slot = schedule.slots[i][k];
      size_t begin = column(times->begin[i][k]), end = column(times->begin[i][k] + costs.of(slot.kind));
      const char *marks = schedule.chunks > 1 ? (slot.chunk % 2 ? "GC" : "FB") : "FB";
      for (size_t at = begin; at < end; ++at) {
        line[2 * at] = slot.kind == Kind::Forward ? marks[0] : slot.kind == Kind::BackwardWeight ? 'W' : marks[1];
        line[2 * at + 1] = digits[slot.microbatch % digits.size()];
      }
    }
    text +=
        "  stage " + std::to_string(i) + " |" + line + "| holds " + std::to_string(times->peakActivations[i]) + "\n";
  }
  long percent = std::lround(100 * times->bubble() / times->end);
  return text + "  F forward, B backward" + (schedule.chunks > 1 ? ", G and C of the second stage of a position" : "") +
         ", W gradient of weights alone; idle " + std::to_string(percent) + " % of the time\n";
}

std::optional<PipelineSchedule> schedulePipeline(PipelineScheduleKind kind, int positions, int microbatches, int chunks,
                                                 std::string &error) {
  if (kind != PipelineScheduleKind::Interleaved && chunks != 1) {
    error = "the schedule " + nameOf(kind).str() + " has one stage for each position; there are " +
            std::to_string(positions * chunks) + " stages for " + std::to_string(positions) +
            " positions: use interleaved";
    return std::nullopt;
  }
  if (kind == PipelineScheduleKind::Interleaved && microbatches % positions) {
    error = "the schedule interleaved needs a multiple of " + std::to_string(positions) + " micro-batches, not " +
            std::to_string(microbatches);
    return std::nullopt;
  }
  switch (kind) {
  case PipelineScheduleKind::GPipe:
    return scheduleGPipe(positions, microbatches);
  case PipelineScheduleKind::OneForwardOneBackward:
    return scheduleOneForwardOneBackward(positions, microbatches);
  case PipelineScheduleKind::Interleaved:
    return scheduleInterleaved(positions, microbatches, chunks);
  case PipelineScheduleKind::ZeroBubbleH1:
    return scheduleZeroBubbleH1(positions, microbatches);
  }
  return std::nullopt;
}

} // namespace dgc
