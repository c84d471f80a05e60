// The check of gradients: the program `train` against forward mode.
#pragma once

#include "runtime/verify/Check.h"

namespace dgc::verify {

/// What was found.
struct GradientCheckResult {
  std::string difference; // which derivatives are wrong; empty: none
  bool isEqual() const { return difference.empty(); }

  std::vector<int64_t> validCounts; // of the runs
  std::vector<std::string> variables;
  uint64_t weights = 0;      // elements of the variables
  uint64_t functions = 0;    // evaluations of functions that are no operations of a field
  uint64_t exponentials = 0; // of these, exponentials
  uint64_t inverses = 0;     // numbers whose inverse was taken, in one run
  double degree = 0;         // the largest degree of what was compared
  double bits = 0;           // the check misses a difference with a probability of at most 2^-bits
};

/// Compares, for a program `train` whose optimizer is w - gradient, the derivative of the loss by forward mode in a random
/// direction u with the sum over all weights of gradient times u: <v, J u> = <J' v, u>. Where they differ, names the
/// variables for which they do. Fails where the program has no such check: without weights, or where an operation has no
/// derivative in forward mode.
absl::StatusOr<GradientCheckResult> checkGradient(const Model &model, const CheckOptions &options);

} // namespace dgc::verify
