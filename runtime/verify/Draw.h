// The values that the exact check begins with: drawn in the fields, with f64 values of the size that they have in training.
#pragma once

#include "runtime/verify/Model.h"
#include "runtime/verify/PlanRun.h"

namespace dgc::verify {

TensorRef drawVariable(const ModelVariable &variable, const Functions &functions, uint64_t seed);
TensorRef drawInput(const ModelInput &input, const Functions &functions, uint64_t seed);

/// A scalar of a program: a count, a step, a seed.
TensorRef scalarOf(artifact::DType dtype, int64_t value);

} // namespace dgc::verify
