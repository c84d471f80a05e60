// Checkpoints: the variables of a run under their names, and where the run was.
//
// A checkpoint is a safetensors file of whole tensors, or a folder that workers
// wrote together (ShardedCheckpoint.h). It does not depend on how variables were
// cut over workers: each worker reads its block of the whole.
#pragma once

#include "runtime/checkpoint/RunState.h"
#include "runtime/checkpoint/TensorSource.h"

#include <map>
#include <memory>
#include <optional>

namespace dgc::rt {

/// A variable that a plan has, as a checkpoint must have it.
struct VariableSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> globalShape;
  /// State of the optimizer. A file that has none at all of it is accepted:
  /// these variables keep their initial value.
  bool slot = false;
  /// A file without it is accepted, whatever else it has: the variable keeps its initial value.
  bool optional = false;
  /// The variable whose value it takes from a file that has none of its own; empty: none.
  std::string beginsAs;
};

/// What a run takes from a checkpoint.
enum class Restore {
  All,     // every variable, and where the run was
  Weights, // what is neither a slot nor optional; the run begins anew
};

/// Writes a checkpoint, as a whole or not at all. Called on one rank, with
/// whole tensors.
absl::Status saveCheckpoint(OutputFile &file, std::span<const Tensor> variables, const RunState &state);

/// What is compared with digests when a checkpoint is opened.
enum class Verify {
  All,      // every file
  Manifest, // no file but the manifest of a folder: workers share that work, by verifyShard()
};

/// Where the run was that wrote the file or folder; nothing when it was not written by dgc: no "dgc.*". An error when one
/// of these keys is unknown, missing, out of range or contradicts another. The digests of files are not compared.
absl::StatusOr<std::optional<RunState>> readRunState(Disk &disk, const std::string &path);

/// A checkpoint that fits the plan.
class Checkpoint {
public:
  /// Opens a file or a folder, verifies its digests, and compares it with the variables of the plan. One error
  /// lists everything that is missing, that the plan does not have, and that
  /// has another shape or element type.
  /// With Restore::Weights what else the file has does not count.
  static absl::StatusOr<Checkpoint> open(Disk &disk, const std::string &path, std::span<const VariableSpec> plan,
                                         Restore restore = Restore::All, Verify verify = Verify::All);

  /// Nothing when the file was not written by dgc, or the weights alone are taken.
  const std::optional<RunState> &state() const { return state_; }

  /// Whether the variable is taken from the file: false for slots of a file without slots.
  bool has(const std::string &variable) const { return taken.contains(variable); }

  /// A sentence that names what the file has and is not taken, and which variables of the plan keep their initial
  /// value. Empty where there is neither.
  const std::string &leftOut() const { return leftOut_; }

  /// The strings that who saved the folder gave; none of a file.
  const std::map<std::string, std::string> &extra() const { return source->extra(); }

  /// How many files there are, and whether file `i`, below that, matches its digest. The error names it.
  size_t numShards() const { return source->numShards(); }
  absl::Status verifyShard(size_t i) const { return source->verifyShard(i); }

  /// Reads the block of `size` per dimension from `start` on, dense and
  /// row-major.
  absl::Status read(const std::string &variable, std::span<const int64_t> start, std::span<const int64_t> size,
                    std::span<std::byte> out) const;

private:
  explicit Checkpoint(std::unique_ptr<TensorSource> source) : source(std::move(source)) {}

  std::unique_ptr<TensorSource> source;
  std::map<std::string, std::string> taken; // variables, and the tensors that they are read from
  std::string leftOut_;
  std::optional<RunState> state_;
};

} // namespace dgc::rt
