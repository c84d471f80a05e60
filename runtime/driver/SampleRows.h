// Outputs of a program for all samples of a data set, in their order.
#pragma once

#include "runtime/driver/Gather.h"
#include "runtime/driver/OutputParts.h"

namespace dgc::rt {

/// Every worker keeps the rows that it gives; rank 0 puts them together. An output has a row for each sample along its batch
/// dimension; one without has an entry for each batch, along a new first dimension.
class SampleRows {
public:
  /// Of the outputs of a program; `runner` must outlive the object.
  SampleRows(OutputParts given, const ProgramRunner &runner, int rank)
      : given(std::move(given)), runner(&runner), rank(static_cast<uint32_t>(rank)) {}

  std::span<const WholeOutput> outputs() const { return given.outputs(); }

  /// Takes the outputs of the batch that ran last, `valid` samples of which are real.
  void add(int64_t valid);

  /// The shape of an output over the batches so far.
  std::vector<int64_t> shapeOf(const WholeOutput &output) const;

  /// Every rank calls it; rank 0 gets the elements of each output.
  absl::StatusOr<std::vector<std::vector<std::byte>>> gather(const GatherBytes &gather) const;

private:
  /// A batch: the number of it, the number of its first sample, and how many it has.
  struct Batch {
    int64_t number, first, valid;
  };
  void place(const OutputPart &part, const Batch &batch, const std::byte *&from, std::vector<std::byte> &to) const;

  OutputParts given;
  const ProgramRunner *runner;
  uint32_t rank;
  std::vector<Batch> batches; // so far
  std::string mine;
};

} // namespace dgc::rt
