// Runs a plan in this process, every rank as a thread, on arrays in memory: for
// tests of the compiler and for dgc-run --call. Global arrays go in and come
// out; how they are cut over the ranks is the plan's business and is undone.
//
//   RunOnceOptions options;
//   options.program = "train";
//   auto result = runOnce(planBytes, {{"x", HostArray::of<float>({4, 2}, {..})}},
//                         options);
//   result->outputs.at("loss").as<float>()[0]
#pragma once

#include "runtime/base/DType.h"
#include "runtime/device/Device.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace dgc::rt {

/// A dense row-major array.
struct HostArray {
  DType dtype = DType::F32;
  std::vector<int64_t> shape; // empty: a scalar
  std::vector<std::byte> bytes;
  bool operator==(const HostArray &) const = default;

  /// i1 is given as uint8_t, bf16 and f16 as their bits in uint16_t.
  template <typename T> static HostArray of(std::vector<int64_t> shape, const std::vector<T> &values, DType dtype) {
    HostArray array{dtype, std::move(shape), {}};
    array.bytes.resize(values.size() * sizeof(T));
    std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
    return array;
  }
  static HostArray of(std::vector<int64_t> shape, const std::vector<float> &values) {
    return of(std::move(shape), values, DType::F32);
  }
  static HostArray of(std::vector<int64_t> shape, const std::vector<double> &values) {
    return of(std::move(shape), values, DType::F64);
  }
  static HostArray of(std::vector<int64_t> shape, const std::vector<int32_t> &values) {
    return of(std::move(shape), values, DType::I32);
  }
  static HostArray of(std::vector<int64_t> shape, const std::vector<int64_t> &values) {
    return of(std::move(shape), values, DType::I64);
  }

  template <typename T> std::vector<T> as() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
};

using NamedArrays = std::map<std::string, HostArray>;

struct RunOnceOptions {
  std::string program;    // empty: the only one of the plan
  uint32_t worldSize = 0; // 0: whatever the plan has; else they must agree
  uint64_t seed = 0;
  uint64_t firstStep = 0;
  int steps = 1;         // how often to run the program
  int threads = 1;       // of each rank
  bool ahead = false;    // each run is submitted before the one before it is collected, where the device can do that
  int validCount = -1;   // -1: the whole global batch
  NamedArrays variables; // instead of their initial values, by name; of stacked ones the parts
  /// Inputs of run number i (from 0); null: the same in every run.
  std::function<NamedArrays(int i)> inputsOfStep;
  /// Whether an output or variable that all ranks hold must have the same bits
  /// on all of them; a difference is an error that names it.
  bool checkReplicas = true;
  /// As in ExecutorOptions.
  uint64_t memoryLimit = 0;
  MakeDevice makeDevice;
};

struct RunOnceResult {
  NamedArrays outputs;   // of the last run
  NamedArrays variables; // after it
  /// outputs of every run, in order
  std::vector<NamedArrays> outputsOfStep;
};

/// `plan` is a whole artifact. `inputs` has every input of role Data by name,
/// in its global shape. Errors are those of loading and running, or say which
/// array is missing or of another shape.
absl::StatusOr<RunOnceResult> runOnce(std::span<const uint8_t> plan, const NamedArrays &inputs,
                                      const RunOnceOptions &options = {});

} // namespace dgc::rt
