// --predictions: the outputs of a program for all samples of a data set, in their order.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/base/OutputFile.h"
#include "runtime/driver/SampleRows.h"

#include <optional>

namespace dgc::rt {

/// The file of an output below --predictions FOLDER: NAME.npy, where what would make a path of NAME is a _.
std::string predictionPath(const std::string &folder, std::string name);

/// Every worker keeps the rows that it gives; rank 0 writes them.
class Predictions {
public:
  /// An error when the program has no predictions.
  static absl::StatusOr<Predictions> create(const Artifact &artifact, const ProgramRunner &runner, int rank);

  /// Makes this process the only one to write the files, on rank 0: before the work.
  absl::Status reserve(Disk &disk, const std::string &folder);

  /// Takes the outputs of the batch that ran last, `valid` samples of which are real.
  void add(int64_t valid) { rows.add(valid); }

  /// Every rank calls it; rank 0 writes NAME.npy for each output.
  absl::Status write(const GatherBytes &gather);

  /// "logits f32 [10000x10]", one after the other.
  std::string describe() const;

private:
  Predictions(SampleRows rows, int rank) : rows(std::move(rows)), rank(rank) {}

  SampleRows rows;
  int rank;
  std::vector<OutputFile> files; // of the outputs, on rank 0
};

} // namespace dgc::rt
