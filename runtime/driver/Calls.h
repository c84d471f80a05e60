// --feed and --fetch: calls of an entry on arrays from files.
#pragma once

#include "runtime/driver/CallInputs.h"
#include "runtime/driver/CallOutputs.h"
#include "runtime/driver/Worker.h"

namespace dgc::rt {

/// What a call gave, on rank 0.
struct CallReport {
  size_t index;
  int64_t step;     // of training; calls that write no variable do not count
  int64_t examples; // that are real
  double ms;
  std::optional<double> loss;
  std::span<const Metric> metrics; // the others
};

/// Every rank has one, and calls its methods at the same time.
class Calls {
public:
  /// Checks the files of options.feed. All arguments must outlive the result.
  static absl::StatusOr<Calls> create(const Artifact &artifact, Executor &executor, ProgramRunner &runner,
                                      const RunOptions &options, const WorkerContext &context);

  /// What the files hold, in a few bytes.
  const std::string &digest() const { return inputs.digest(); }

  /// Makes a call for each file; `step` is that of the next one. Behind each every worker does `behind`, with its index. On
  /// rank 0 `report` gets each.
  absl::Status run(int64_t &step, Clock &clock, const std::function<absl::Status(size_t index)> &behind,
                   const std::function<absl::Status(const CallReport &)> &report);

  /// Writes the results of the last call; rank 0 has `file`, which is null elsewhere.
  absl::Status fetch(OutputFile *file) { return outputs.write(valid, file, context->gather); }

private:
  Calls(CallInputs inputs, CallOutputs outputs, Executor &executor, ProgramRunner &runner, const WorkerContext &context)
      : inputs(std::move(inputs)), outputs(std::move(outputs)), executor(&executor), runner(&runner),
        context(&context) {}

  CallInputs inputs;
  CallOutputs outputs;
  Executor *executor;
  ProgramRunner *runner;
  const WorkerContext *context;
  int64_t valid = 0; // examples of the last call
};

} // namespace dgc::rt
