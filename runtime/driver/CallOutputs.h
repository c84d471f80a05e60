// --fetch: the results of calls of an entry.
#pragma once

#include "runtime/data/Npz.h"
#include "runtime/driver/OutputParts.h"
#include "runtime/driver/Signature.h"
#include "runtime/driver/State.h"
#include "runtime/telemetry/Progress.h"

#include <deque>
#include <optional>

namespace dgc::rt {

/// Every rank has one, and calls its methods at the same time; `artifact`, `executor` and `runner` must outlive it.
class CallOutputs {
public:
  CallOutputs(const Artifact &artifact, Executor &executor, const ProgramRunner &runner, int rank);

  /// Whether the entry writes variables: its calls are steps of a training then.
  bool writesVariables() const;

  /// Whether there is anything to fetch.
  bool isEmpty() const { return results.empty(); }

  /// Takes the scalar outputs of the call that ran last; on rank 0 all of them are there.
  absl::Status readScalars(const GatherBytes &gather);
  std::optional<double> loss() const { return lossValue; }
  std::span<const Metric> scalars() const { return values; } // the others

  /// Writes the results of the call that ran last, of `valid` examples, as out0, out1 and so on, and under their names
  /// where no other result has the name. Rank 0 has `file`, which is null elsewhere.
  absl::Status write(int64_t valid, OutputFile *file, const GatherBytes &gather);

private:
  /// Takes the scalar outputs apart: the loss, and the others as metrics.
  void report(std::span<const std::pair<const WholeOutput *, double>> scalars);
  /// A result on rank 0.
  struct Whole {
    DType dtype;
    std::vector<int64_t> shape;
    std::vector<std::byte> bytes;
  };
  absl::StatusOr<std::vector<Whole>> gatherOutputs(int64_t valid, const GatherBytes &gather) const;
  NamedArray arrayOf(const Parameter &result, const std::vector<Whole> &outputs, const WholeVariables &variables,
                     std::deque<std::vector<std::byte>> &converted) const;

  const Artifact *artifact;
  Executor *executor;
  const ProgramRunner *runner;
  uint32_t rank;
  std::vector<Parameter> results;
  OutputParts given;
  std::optional<double> lossValue;
  std::deque<std::string> names; // of values
  std::vector<Metric> values;
};

} // namespace dgc::rt
