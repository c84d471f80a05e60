// Compares what workers hold with what the model has, and says what may be wrong.
#pragma once

#include "runtime/verify/PlanRun.h"

namespace dgc::verify {

/// A value of the model and the parts of it that workers have.
struct Comparison {
  std::string what; // "variable 'w1'"
  std::vector<int64_t> shape;
  TensorRef expected;
  TensorRef before; // of a variable: its value before the run; else null
  int batchDim = -1;
  int64_t validCount = 0; // examples of the batch that are real
};

/// Adds to `compared` the elements that were; the first difference as text, empty where there is none.
std::string compare(const Comparison &comparison, const std::vector<Part> &parts, const artifact::Plan &plan,
                    uint64_t &compared);

} // namespace dgc::verify
