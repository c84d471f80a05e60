// The algorithm that a library takes for a product, where that was measured: kept in a file next to the plan.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/base/OutputFile.h"
#include "runtime/device/cuda/Blas.h"

#include <map>
#include <optional>
#include <string>

namespace dgc::rt::cuda {

struct TuningOptions {
  std::string file;       // PLAN.tuning.json; empty: nothing is read or kept
  bool measures = false;  // products of which the file has nothing are measured
  bool keeps = true;      // whether this worker writes the file
  Clock *clock = nullptr; // null: that of the machine
};

/// What a choice is for: type, sizes, the memory layout of the operands and the epilogue.
std::string describeProduct(const Gemm &gemm);

class Tuning {
public:
  /// Reads the file. Choices for another GPU or another version of the library, and a file that is none, are ignored,
  /// with a reason in warning().
  Tuning(Disk &disk, TuningOptions options, std::string gpu, std::string library);

  bool measures() const { return options.measures; }
  const std::string &warning() const { return warning_; }
  /// The number of the algorithm in the library's list.
  std::optional<size_t> find(const std::string &product) const;
  void keep(const std::string &product, size_t choice);
  /// Writes the file where there is something new.
  absl::Status save();

private:
  void read();

  Disk &disk;
  TuningOptions options;
  std::string gpu, library, warning_;
  std::map<std::string, size_t> choices;
  std::string collectives; // what the file says of them, as it is (LaunchMode.h)
  bool changed = false;
};

} // namespace dgc::rt::cuda
