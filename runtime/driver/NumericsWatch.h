// The values that are not finite which a plan finds (dgc-compile --check-numerics): the first one, over all workers.
#pragma once

#include "runtime/artifact/Numerics.h"
#include "runtime/driver/Gather.h"
#include "runtime/executor/Executor.h"

#include <map>

namespace dgc::rt {

/// Of one worker. It looks at what each run has found; the workers compare that where all of them are at the same place, so
/// that they agree on what came first and none waits for one that has stopped.
class NumericsWatch {
public:
  /// Whether a program of the plan checks values, on any worker.
  static bool isNeeded(const artifact::Plan &plan);

  /// `gather` as in WorkerContext.
  NumericsWatch(const artifact::Plan &plan, int rank, GatherBytes gather);

  /// Looks at what the run of a program has found that was collected last. `number` grows from run to run; `run` names it:
  /// "step 3 of train". True for the first one that has found something.
  bool look(const ProgramRunner &runner, int64_t number, const std::string &run);

  /// Whether this worker has found something that has not been compared.
  bool hasFound() const { return !mine.key.empty(); }

  struct First {
    int rank;
    std::string message;
  };
  /// What was found first, the same on all workers; nothing where none has found anything. Every worker calls it at the same
  /// place.
  absl::StatusOr<std::optional<First>> compare();

private:
  /// What a program checks, of a row each.
  const std::vector<CheckedValue> &checksOf(const OutputView &view);

  struct Finding {
    std::vector<int64_t> key; // what is less was first; empty: nothing was found
    std::string message;
  };
  std::string describe(const CheckedValue &value, const int64_t *row, const std::string &run) const;

  int rank;
  bool isWhole; // there is one worker
  std::string remedy;
  GatherBytes gather;
  std::map<const OutputView *, std::vector<CheckedValue>> checks;
  Finding mine;
};

} // namespace dgc::rt
