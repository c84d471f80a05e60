// A model, a plan for it and numbers to run both with: what mutants are made of and judged by.
#pragma once

#include "runtime/verify/Check.h"
#include "test/unit/support/Execute.h"
#include "test/unit/verify/Mutations.h"

#include <memory>
#include <string>
#include <vector>

namespace dgc::testing {

/// How a plan is made.
struct SubjectText {
  std::string name, model; // the text
  ExecuteOptions options;  // from "input"
};

/// Small models under the strategies that communicate in different ways.
const std::vector<SubjectText> &subjects();

/// What becomes of a mutant.
enum class Fate : uint8_t {
  Refused,    // by the check of artifacts
  Found,      // the exact check says what differs
  Equivalent, // the exact check finds it equal, and numbers agree up to rounding
  Equal,      // the exact check finds it equal, and there is no device to run it
  Missed,     // the exact check finds it equal, and numbers do not agree
};

struct Judgement {
  Fate fate = Fate::Refused;
  std::string why;      // what the check said
  double distance = 0;  // of variables and outputs after two steps in f32, relative; infinite where it did not run
  std::string farthest; // which of them
};

class Subject {
public:
  /// Fails where the text does not compile, or the plan itself is not equal to the model.
  static absl::StatusOr<std::unique_ptr<Subject>> create(const SubjectText &text);

  const std::vector<uint8_t> &plan() const { return bytes; }
  const std::string &name() const { return text.name; }
  const verify::Model &modelOf() const { return model; }
  Judgement judge(const Mutant &mutant) const;
  /// The exact check of the plan itself against a model, without some laws.
  absl::StatusOr<verify::CheckResult> check(const verify::Model &against, verify::LawSet leftOut) const;

private:
  explicit Subject(SubjectText text) : text(std::move(text)) {}
  absl::StatusOr<verify::CheckResult> check(const std::vector<uint8_t> &plan, bool &isRefused) const;
  /// Whether this process can run the plan.
  bool isRunnable() const { return text.options.target == "reference"; }
  absl::StatusOr<std::vector<NamedArrays>> run(const std::vector<uint8_t> &plan) const;
  NamedArrays inputsOf(int step) const;
  double distanceOf(const std::vector<uint8_t> &plan, std::string &farthest) const;

  SubjectText text;
  verify::Model model;
  std::vector<uint8_t> bytes;
  std::vector<NamedArrays> expected;
};

} // namespace dgc::testing
