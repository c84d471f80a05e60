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

  /// Takes the scalar outputs and the metrics of the call that ran last, of `valid` examples; on rank 0 all of them are there.
  absl::Status readReported(int64_t valid, const GatherBytes &gather);
  std::optional<double> loss() const { return lossValue; }
  std::span<const Metric> metrics() const { return values; } // the others; names and shapes are those of this object

  /// Writes the results of the call that ran last, of `valid` examples, as out0, out1 and so on, and under their names
  /// where no other result has the name. Rank 0 has `file`, which is null elsewhere.
  absl::Status write(int64_t valid, OutputFile *file, const GatherBytes &gather);

private:
  /// A result on rank 0.
  struct Whole {
    DType dtype;
    std::vector<int64_t> shape;
    std::vector<std::byte> bytes;
  };
  /// Takes the outputs that are reported apart: the loss, and the others as metrics.
  void report(const std::vector<Whole> &outputs);
  Metric metricOf(const WholeOutput &output, const std::vector<Whole> &outputs, int64_t element) const;
  absl::StatusOr<std::vector<Whole>> gatherOutputs(const OutputParts &parts, int64_t valid,
                                                   const GatherBytes &gather) const;
  NamedArray arrayOf(const Parameter &result, const std::vector<Whole> &outputs, const WholeVariables &variables,
                     std::deque<std::vector<std::byte>> &converted) const;

  const Artifact *artifact;
  Executor *executor;
  const ProgramRunner *runner;
  uint32_t rank;
  std::vector<Parameter> results;
  OutputParts given, reported; // all, and the scalars and metrics
  std::optional<double> lossValue;
  std::vector<Metric> values;
};

} // namespace dgc::rt
