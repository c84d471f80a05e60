// Checkpoints: the variables of a run under their names, and where the run was.
//
// A checkpoint is a safetensors file. It does not depend on how variables were
// cut over workers: it holds whole tensors, and each worker reads its block.
#pragma once

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/data/Order.h"

#include <map>
#include <optional>

namespace dgc::rt {

/// Where the run was when it was saved, under "dgc.*" in the metadata. Every step ends an epoch or continues it, so
/// step >= cursor.epoch + cursor.step.
struct RunState {
  int64_t step = 0; // training steps done
  Cursor cursor;    // the batch that comes next
  uint64_t seed = 0;
  std::string planDigest; // hex; of the plan that wrote it
  std::string producer;   // "dgc 0.1.0"
  bool operator==(const RunState &) const = default;
};

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

/// Where the run was that wrote the file; nothing when it was not written by dgc: no "dgc.*". An error when one of
/// these keys is unknown, missing, out of range or contradicts another. The digest is not compared.
absl::StatusOr<std::optional<RunState>> readRunState(Disk &disk, const std::string &path);

/// A checkpoint that fits the plan.
class Checkpoint {
public:
  /// Opens a file, verifies its digest, and compares it with the variables of the plan. One error
  /// lists everything that is missing, that the plan does not have, and that
  /// has another shape or element type.
  /// With Restore::Weights what else the file has does not count.
  static absl::StatusOr<Checkpoint> open(Disk &disk, const std::string &path, std::span<const VariableSpec> plan,
                                         Restore restore = Restore::All);

  /// Nothing when the file was not written by dgc, or the weights alone are taken.
  const std::optional<RunState> &state() const { return state_; }

  /// Whether the variable is taken from the file: false for slots of a file without slots.
  bool has(const std::string &variable) const { return taken.contains(variable); }

  /// A sentence that names what the file has and is not taken, and which variables of the plan keep their initial
  /// value. Empty where there is neither.
  const std::string &leftOut() const { return leftOut_; }

  /// Reads the block of `size` per dimension from `start` on, dense and
  /// row-major.
  absl::Status read(const std::string &variable, std::span<const int64_t> start, std::span<const int64_t> size,
                    std::span<std::byte> out) const;

private:
  explicit Checkpoint(SafetensorsFile file) : file(std::move(file)) {}

  SafetensorsFile file;
  std::map<std::string, std::string> taken; // variables, and the tensors of the file that they are read from
  std::string leftOut_;
  std::optional<RunState> state_;
};

} // namespace dgc::rt
