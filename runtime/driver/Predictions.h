// --predictions: the outputs of a program for all samples of a data set, in their order.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/base/OutputFile.h"
#include "runtime/driver/Gather.h"
#include "runtime/driver/OutputParts.h"

#include <optional>

namespace dgc::rt {

/// The file of an output below --predictions FOLDER: NAME.npy, where what would make a path of NAME is a _.
std::string predictionPath(const std::string &folder, std::string name);

/// Every worker keeps the rows that it gives; rank 0 puts them together. An output has a row for each sample along its
/// batch dimension; one without has an entry for each batch, along a new first dimension.
class Predictions {
public:
  /// `samples` are those of the data set. An error when the program has no predictions.
  static absl::StatusOr<Predictions> create(const Artifact &artifact, const ProgramRunner &runner, int rank,
                                            int64_t samples);

  /// Makes this process the only one to write the files, on rank 0: before the work.
  absl::Status reserve(Disk &disk, const std::string &folder);

  /// Takes the outputs of the batch that ran last, `valid` samples of which are real.
  void add(int64_t valid);

  /// Every rank calls it; rank 0 writes NAME.npy for each output.
  absl::Status write(const GatherBytes &gather);

  /// "logits f32 [10000x10]", one after the other.
  std::string describe() const;

private:
  Predictions(const artifact::Plan &plan, const ProgramRunner &runner, int rank);
  std::vector<int64_t> fileShape(const WholeOutput &output) const;
  void place(const OutputPart &part, int64_t batch, const std::byte *&from, std::vector<std::byte> &to) const;

  const ProgramRunner *runner;
  uint32_t rank;
  int64_t samples = 0, globalBatch = 1;
  OutputParts given;
  std::vector<OutputFile> files; // of the outputs, on rank 0
  std::vector<int64_t> valids;   // of the batches so far
  std::string mine;
};

} // namespace dgc::rt
