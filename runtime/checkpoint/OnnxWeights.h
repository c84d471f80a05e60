// Weights in ONNX models: the graph of a file is kept, and its initializers get new values.
#pragma once

#include "runtime/checkpoint/Checkpoint.h"

#include <memory>

namespace dgc::rt {

/// Whether weights that are saved under this path go into an ONNX model: its name ends in ".onnx".
bool isOnnxPath(std::string_view path);

/// A model that weights are saved into.
class OnnxWeights {
public:
  /// Reads the model. It must have an initializer of the same shape and element type for each variable of the plan that is
  /// neither a slot nor optional; one error lists all that it has not. An error, too, when model and weights together exceed
  /// the 2 GiB that a file of this format can have.
  static absl::StatusOr<OnnxWeights> open(Disk &disk, const std::string &path, std::span<const VariableSpec> plan);

  OnnxWeights(OnnxWeights &&) noexcept;
  OnnxWeights &operator=(OnnxWeights &&) noexcept;
  ~OnnxWeights();

  /// How many initializers are replaced.
  size_t size() const;

  /// Writes the model with the values of those variables that are initializers of it; other ones have no place there. A value
  /// that was in a file beside the model is in the model afterwards.
  absl::Status save(OutputFile &file, std::span<const Tensor> variables);

private:
  struct Model;
  explicit OnnxWeights(std::unique_ptr<Model> model);

  std::unique_ptr<Model> model;
};

} // namespace dgc::rt
