// The data that a program reads, bound to the rows that one worker holds.
#pragma once

#include "runtime/data/Feed.h"
#include "runtime/driver/RunOptions.h"
#include "runtime/executor/Executor.h"

#include <optional>

namespace dgc::rt {

/// The data inputs of a program, as a feed wants them; then, with no rows, those that only workers of other groups
/// read, so that all workers see the same data set.
std::vector<InputSpec> inputSpecs(const artifact::Plan &plan, const ProgramRunner &runner);

/// Whether the programs of this name, one of each group, form means over the batch: losses or metrics.
bool hasMeans(const artifact::Plan &plan, std::string_view name);

/// Why the padding of a batch that is not full would count in the programs of this name; empty where it does not.
std::string wholeBatchesOnly(const artifact::Plan &plan, std::string_view name);

/// How many tokens a sample of the programs of this name has: the elements of their input `tokens`; 0 where they have none.
double tokensPerSample(const artifact::Plan &plan, std::string_view name);

/// A program with the data that it reads.
struct FedProgram {
  ProgramRunner *runner = nullptr;
  std::optional<Feed> feed;
  std::vector<std::byte *> inputs;

  /// The next batch; returns how many of its samples are real.
  int64_t next() {
    int64_t valid = feed->next(inputs);
    runner->setValidCount(static_cast<int32_t>(valid));
    return valid;
  }
};

struct BindOptions {
  std::string split;
  LastBatch lastBatch = LastBatch::Weight;
  bool shuffle = false;
  uint64_t seed = 0;
  std::string wayOut; // flags for a user whose last batch is not full, as "use --evaluate=off, "
};

/// Null: --data was not given.
absl::StatusOr<FedProgram> bindInputs(const artifact::Plan &plan, ProgramRunner &runner, Dataset *dataset,
                                      const BindOptions &options);

/// What the order of the samples of a training is made of, as text.
std::string describeOrder(const Feed &feed, const artifact::Plan &plan, const RunOptions &options, uint64_t seed);

} // namespace dgc::rt
