// Initial values of variables: a function of (seed, Variable.rng_id, global
// element) alone, so that they do not depend on how a variable is cut. Of stacked
// variables each part has its own rng_id and its own elements.
#pragma once

#include "runtime/executor/Executor.h"

#include "absl/status/status.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace dgc::rt {

/// Fills the memory of a variable that is not stacked, or of a part, by its initializer; File is
/// not one of those that this can do. `stored` is the section of initial values. With u the uniform number of the element
/// (f64 bits for f64, else f32), n and t its normal and truncated normal (see
/// base/Philox.h), all computed in f64 and rounded to the type once:
///   Uniform          a + (b - a) u
///   Normal           a + b n                TruncatedNormal  a + b t
///   GlorotUniform    (2 u - 1) sqrt(6 / (a + b))      HeUniform  ... 6 / a
///   GlorotNormal     t sqrt(2 / (a + b)) / s          HeNormal   ... 2 / a
/// where s = .87962566103423978 is the standard deviation of t.
absl::Status initializeVariable(const VariableView &part, uint64_t seed, std::span<const std::byte> stored);

} // namespace dgc::rt
