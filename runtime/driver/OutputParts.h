// The outputs of a program as wholes, and which worker gives which part of them.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/executor/Executor.h"

#include <functional>

namespace dgc::rt {

/// An output over all workers.
struct WholeOutput {
  std::string name;
  artifact::OutputRole role = artifact::OutputRole::Metric;
  DType dtype = DType::F32;
  std::vector<int64_t> shape; // of a batch
  int batchDim = -1;          // -1: none
  int64_t perSample = 1;      // extent of the batch dimension for each sample
  std::string over;           // of a quotient: the name of its divisor; of an area under a curve: of its labels
  artifact::MetricFunction function = artifact::MetricFunction::Identity;
};

/// The part of an output that a worker gives.
struct OutputPart {
  size_t output; // index into OutputParts::outputs
  uint32_t rank;
  Slice slice;
};

class OutputParts {
public:
  /// The outputs of the programs of this name, one of each group; without what they find of values that they check.
  OutputParts(const artifact::Plan &plan, std::string_view program);

  /// Leaves out the outputs that are not wanted.
  void keep(const std::function<bool(const WholeOutput &)> &wanted);

  /// Whether an output has the logits or the labels of an area under a curve.
  bool isOfArea(const WholeOutput &output) const;

  std::span<const WholeOutput> outputs() const { return outputs_; }
  /// Every element of each output is in one of them.
  std::span<const OutputPart> parts() const { return parts_; }
  /// Whether rank 0 gives all of them.
  bool areOnFirstRank() const;

  /// What of a part is no padding of a batch of `valid` samples.
  Slice real(const OutputPart &part, int64_t valid) const;

  /// Appends the real elements of each part that `rank`, which has run `runner`, gives.
  void append(const ProgramRunner &runner, uint32_t rank, int64_t valid, std::string &to) const;

private:
  void add(const artifact::Plan &plan, const artifact::Program &program, const artifact::Output &output, uint32_t rank);

  int64_t globalBatch;
  std::vector<WholeOutput> outputs_;
  std::vector<OutputPart> parts_;
};

} // namespace dgc::rt
