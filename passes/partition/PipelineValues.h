// What the rounds of a software-pipelined loop carry from one to the next.

#ifndef DGC_PASSES_PARTITION_PIPELINEVALUES_H
#define DGC_PASSES_PARTITION_PIPELINEVALUES_H

#include "passes/partition/PipelinePlaces.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SetVector.h"

#include <tuple>

namespace dgc {

/// Where the slots of a schedule compute and need the values of a loop over micro-batches.
class PipelineValues {
public:
  /// A value of the body of the loop, in a micro-batch.
  using Instance = std::pair<mlir::Value, int>;

  /// Rounds of slots that become a loop.
  struct Rounds {
    PipelineRounds at;
    llvm::SetVector<Instance> live; // what there is when a round begins, numbered as in the first one
  };

  PipelineValues(const PipelinePlaces &places, const SteadyState &state);

  /// The slot that computes a value for a micro-batch; none for what is computed wherever it is needed, and where there is no
  /// such slot.
  std::optional<size_t> positionOf(mlir::Value value, int microbatch) const;

  /// Whether a value is kept for a slot in an array with a row for each micro-batch: where the backward passes come after all
  /// forward passes, what these need of those.
  bool isStacked(mlir::Value value, PipelineSlot::Kind user) const;

  /// Rounds of so many micro-batches, and that begin where, it costs the least memory, without copies of what is carried if
  /// that costs little more. Nothing where a round does not give what the next one takes.
  std::optional<Rounds> chooseRounds(const PipelineRounds &steady) const;

private:
  struct Cost;
  std::optional<Rounds> findLive(const PipelineRounds &at) const;
  Cost costOf(const Rounds &rounds) const;
  void forEachNeeded(const SteadyState::Slot &slot, llvm::function_ref<void(mlir::Value)> see) const;

  const PipelinePlaces &places;
  const SteadyState &state;
  std::map<std::tuple<PipelineSlot::Kind, int, int>, size_t> position; // of slots: kind, stage, micro-batch
};

} // namespace dgc

#endif // DGC_PASSES_PARTITION_PIPELINEVALUES_H
