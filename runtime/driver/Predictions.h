// --predictions: the outputs of a program for all samples of a data set, in their order.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/base/OutputFile.h"
#include "runtime/driver/Gather.h"
#include "runtime/executor/Executor.h"

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
  struct Output {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape; // of a batch
    int batchDim;               // -1: none
    int64_t perSample;          // extent of the batch dimension for each sample
  };
  /// The part of an output that a worker gives.
  struct Part {
    size_t output;
    uint32_t rank;
    Slice slice;
  };

  Predictions(const ProgramRunner &runner, int rank) : runner(&runner), rank(static_cast<uint32_t>(rank)) {}
  void addOutput(const artifact::Plan &plan, const artifact::Program &program, const artifact::Output &output,
                 uint32_t rank);
  Slice real(const Part &part, int64_t valid) const;
  std::vector<int64_t> fileShape(const Output &output) const;
  void place(const Part &part, int64_t batch, const std::byte *&from, std::vector<std::byte> &to) const;

  const ProgramRunner *runner;
  uint32_t rank;
  int64_t samples = 0, globalBatch = 1;
  std::vector<Output> outputs;
  std::vector<OutputFile> files; // of the outputs, on rank 0
  std::vector<Part> parts;
  std::vector<int64_t> valids; // of the batches so far
  std::string mine;
};

} // namespace dgc::rt
