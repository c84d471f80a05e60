//===- PipelineSchedule.h - in which order the stages of a pipeline work ----===//
//
// A pipeline has `positions` groups of devices. Each holds `chunks` stages: stage s is at position s mod positions. A
// schedule is data: for each position the list of slots that it works off, each the forward or backward pass of one
// micro-batch through one of its stages. A slot begins when the one before it at its position has ended and the values
// that it needs from neighbouring stages are there. Plain algorithms on numbers: nothing here knows of programs.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_PASSES_PARTITION_PIPELINESCHEDULE_H
#define DGC_PASSES_PARTITION_PIPELINESCHEDULE_H

#include "passes/analysis/OptionTypes.h"
#include <optional>
#include <string>
#include <vector>

namespace dgc {

struct PipelineSlot {
  /// Backward is BackwardInput and BackwardWeight in one.
  enum Kind { Forward, Backward, BackwardInput, BackwardWeight };
  Kind kind;
  int chunk;      // which of the stages of its position
  int microbatch; // from 0
  bool operator==(const PipelineSlot &) const = default;
};

struct PipelineSchedule {
  int positions = 1, chunks = 1, microbatches = 1;
  std::vector<std::vector<PipelineSlot>> slots; // by position, in order

  int stages() const { return positions * chunks; }
  int stageOf(int position, const PipelineSlot &slot) const { return slot.chunk * positions + position; }
  /// Says what is wrong; empty when every stage does each micro-batch forward and backward exactly once, and all
  /// positions come to an end.
  std::string verify() const;
};

/// All forward passes, then all backward passes. Holds the activations of all micro-batches; bubble (p - 1)(f + b).
/// Huang et al., GPipe, 2019.
PipelineSchedule scheduleGPipe(int positions, int microbatches);

/// After a warm-up of p - 1 - i forward passes, position i does one forward and one backward pass in turn. Holds
/// min(p - i, m) activations; bubble (p - 1)(f + b). Narayanan et al., PipeDream-Flush, 2021.
PipelineSchedule scheduleOneForwardOneBackward(int positions, int microbatches);

/// Each position has several stages, v of them, and does p micro-batches on one before it continues with the next. The
/// number of micro-batches must be a multiple of p. Bubble (p - 1)(f + b) / v, where f and b are the times of all
/// stages of a position; holds min(2 (p - 1 - i) + (v - 1) p + 1, v m) activations of a stage. Narayanan et al.,
/// Megatron-LM, 2021.
PipelineSchedule scheduleInterleaved(int positions, int microbatches, int chunks);

/// 1F1B with the backward pass in two: position i does the gradient of the weights i micro-batches later, when it
/// would wait otherwise. Bubble (p - 1)(f + b - 2w) in times of the whole backward pass b and of its second part w;
/// holds min(p, m) activations. Qi et al., Zero Bubble Pipeline Parallelism (ZB-H1), 2023.
PipelineSchedule scheduleZeroBubbleH1(int positions, int microbatches);

/// Times of the slots of one stage.
struct PipelineCosts {
  double forward = 1, backwardInput = 1, backwardWeight = 1;
  double of(PipelineSlot::Kind kind) const;
};

struct PipelineTimes {
  std::vector<std::vector<double>> begin; // of each slot, by position
  double end = 0;                         // of the last slot of all
  std::vector<double> busy;               // by position: time in slots
  /// By position: the most activations of one stage and micro-batch that it holds at a time: from the forward pass to
  /// the end of the backward pass.
  std::vector<int> peakActivations;
  /// The time that the position with most work does not work.
  double bubble() const;
};

/// When each slot begins, transfers taking no time. Nothing when some position waits for ever.
std::optional<PipelineTimes> simulate(const PipelineSchedule &schedule, const PipelineCosts &costs);

/// A part of a list of slots in which the same ones come again and again, each time `period` micro-batches later.
struct PipelineRounds {
  size_t first = 0, length = 0; // slots[first] begins the first round, which has `length` of them
  int period = 1;
  int rounds = 0;
  size_t repeating = 0;                                  // from slots[first] on: how many come again `length` later
  size_t end() const { return first + length * rounds; } // of the last round
  /// The same with rounds that begin `slots` later. Nothing where there are fewer than two then.
  std::optional<PipelineRounds> delayed(size_t slots) const;
  /// The same with rounds of `times` as many micro-batches. Nothing where there are fewer than two then.
  std::optional<PipelineRounds> unrolled(int times) const;
};

/// The slots of all positions by their begin, and where these are in a steady state: in one part in the middle, or, where all
/// forward passes come before all backward passes, in a part of each.
struct SteadyState {
  struct Slot {
    PipelineSlot::Kind kind;
    int stage, microbatch;
    bool operator==(const Slot &) const = default;
  };
  std::vector<Slot> slots;
  std::vector<PipelineRounds> loops; // in order
  bool hasChunks = false;            // several stages at a position
  /// Whether each loop has at least two rounds of `times` as many micro-batches.
  bool canUnroll(int times) const;
};

/// The longest such parts. Nothing where there are fewer than two rounds.
std::optional<SteadyState> findSteadyState(const PipelineSchedule &schedule, const PipelineTimes &times);

/// A line for each position, a column for each unit of time: `0` to `9`, `a` to `z` for micro-batches (then again from
/// `0`), forward as they are, backward marked; and a line that says bubble and activations.
std::string chartOf(const PipelineSchedule &schedule, const PipelineCosts &costs);

/// The schedule of a kind. Fails with a text that says what would be accepted.
std::optional<PipelineSchedule> schedulePipeline(PipelineScheduleKind kind, int positions, int microbatches, int chunks,
                                                 std::string &error);

} // namespace dgc

#endif // DGC_PASSES_PARTITION_PIPELINESCHEDULE_H
