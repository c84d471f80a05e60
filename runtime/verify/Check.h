// The exact check: whether a plan computes what its model says.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/verify/Laws.h"
#include "runtime/verify/Model.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::verify {

/// A program with integers as inputs, or with metrics, has four times as many runs if the model is small: integers are sampled.
struct CheckOptions {
  int runs = 4; // of each program, each with new values; every other one with a batch that is not full
  int threads = 1;
  uint64_t seed = 0;                                 // of the values, and of the order in which workers go on
  LawSet leftOut;                                    // laws that are not used
  std::function<void(const std::string &)> progress; // called before each run; may be null
};

/// What was found.
struct CheckResult {
  std::string difference; // the first value that differs, and why that may be; empty: none
  bool isEqual() const { return difference.empty(); }

  // Of what was run, when nothing differs.
  struct Program {
    std::string name;
    int runs = 0;
    std::vector<int64_t> validCounts; // of the runs
  };
  std::vector<Program> programs;
  uint32_t workers = 0;
  uint64_t values = 0;    // elements that were compared
  uint64_t functions = 0; // evaluations of functions that are no operations of a field
  double degree = 0;      // the largest degree of a value that was compared
  uint64_t integersBelow =
      0;           // integer inputs were drawn below this, as the model gave no finite number for others; 0: not so
  double bits = 0; // the check misses a difference with a probability of at most 2^-bits
};

/// What a check found, as lines for a person: what differs, or what was compared and how sure the result is.
std::string describe(const CheckResult &verdict);

/// The record of a check with these options that found nothing, for rt::withRecord. `modelText`: the text of the model.
artifact::VerifiedT recordOf(const CheckResult &verdict, const CheckOptions &options, std::string_view modelText);

/// Runs every program of the model and of the plan on the same values, and compares outputs and variables. Fails where one of
/// them cannot be run so: for want of semantics, or where an operation has no meaning in the fields.
absl::StatusOr<CheckResult> check(const rt::Artifact &artifact, const Model &model, const CheckOptions &options);

} // namespace dgc::verify
