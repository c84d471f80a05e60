// Initial values of variables: a function of (seed, Variable.rng_id, global
// element) alone, so that they do not depend on how a variable is cut, nor on
// how many threads write them. Of stacked variables each part has its own rng_id
// and its own elements.
#pragma once

#include "runtime/base/Philox.h"
#include "runtime/executor/Executor.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace dgc::rt {

/// What the initializer of a variable that is not stacked, or of a part, gives to its memory; File is not one of those
/// that this can do. With u the uniform number of the element (f64 bits for f64, else f32), n and t its normal and
/// truncated normal (see base/Philox.h), all computed in f64 and rounded to the type once:
///   Uniform          a + (b - a) u
///   Normal           a + b n                TruncatedNormal  a + b t
///   GlorotUniform    (2 u - 1) sqrt(6 / (a + b))      HeUniform  ... 6 / a
///   GlorotNormal     t sqrt(2 / (a + b)) / s          HeNormal   ... 2 / a
/// where s = .87962566103423978 is the standard deviation of t.
class InitialValues {
public:
  /// `part` and `stored`, the section of initial values, must outlive it.
  static absl::StatusOr<InitialValues> of(const VariableView &part, uint64_t seed, std::span<const std::byte> stored);

  /// The value of all elements, where they have the same; padding has it, too.
  std::optional<double> constant() const { return value; }

  /// Writes what belongs at byte `offset` of the memory and behind it, on the threads of the caller. Padding becomes 0.
  /// `out` and `offset` have whole elements.
  void write(uint64_t offset, std::span<std::byte> out) const;

private:
  /// scale * draw + shift, for one of three kinds of draw.
  struct Formula {
    enum { Uniform, Normal, Truncated } draw = Uniform;
    double scale = 1, shift = 0;
  };
  explicit InitialValues(const VariableView &part) : part(part), philox(0, 0) {}
  static std::optional<Formula> formulaOf(const artifact::Variable &variable);
  void draw(uint64_t element, std::span<double> out) const;
  void writeRun(uint64_t element, uint64_t count, std::byte *out) const;

  const VariableView &part;
  std::optional<double> value;
  const std::byte *elements = nullptr; // stored ones, of the whole
  Formula formula;
  Philox philox;
};

} // namespace dgc::rt
