// The values that the exact check begins with: drawn in the fields, with f64 values of the size that they have in training.
#pragma once

#include "runtime/verify/Model.h"
#include "runtime/verify/PlanRun.h"

namespace dgc::verify {

/// `narrow`: 0, or how often the model gave no finite number for what was drawn before. Then the integers of which nobody
/// knows what they may be are smaller, and numbers are positive.
TensorRef drawVariable(const ModelVariable &variable, const Functions &functions, uint64_t seed, int narrow = 0);
TensorRef drawInput(const ModelInput &input, const Functions &functions, uint64_t seed, int narrow = 0);

/// Integers of which nobody knows what they may be are below this.
uint64_t integersBelow(int narrow);

/// A scalar of a program: a count, a step, a seed.
TensorRef scalarOf(artifact::DType dtype, int64_t value);

} // namespace dgc::verify
