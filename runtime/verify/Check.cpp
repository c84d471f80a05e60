#include "runtime/verify/Check.h"

#include "runtime/artifact/Enums.h"
#include "runtime/base/Status.h"
#include "runtime/device/reference/Scalar.h"
#include "runtime/verify/Compare.h"
#include "runtime/verify/Declarations.h"
#include "runtime/verify/Draw.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>

using namespace dgc;
using namespace dgc::verify;
using rt::str;

/// With fewer bits a check says nothing.
static constexpr double kLeastBits = 1;
/// A program with integers has so many times as many runs, if it takes few elements.
static constexpr int kRunsOfSamples = 4;
static constexpr int64_t kFewElements = 1 << 15;

namespace {
class Checker {
public:
  Checker(const rt::Artifact &artifact, const Model &model, const CheckOptions &options)
      : artifact(artifact), plan(artifact.plan()), model(model), options(options) {}

  /// Everything with values by one seed. True when all comparisons could be decided.
  absl::StatusOr<bool> run(uint64_t seed);
  /// Why they could not: where the model gives what is no finite number; empty where numbers are too close to each other.
  const std::string &undefined() const { return notFinite; }
  CheckResult take() { return std::move(verdict); }

private:
  absl::Status checkProgram(const ModelProgram &program, PlanRun &planRun, uint64_t seed, const Functions &functions);
  absl::Status checkRun(const ModelProgram &program, const reference::Kernel &kernel, PlanRun &planRun, int number,
                        uint64_t seed, const Functions &functions);
  /// What a run is called with. `isFirstStep`: slots of the optimizer are 0.
  Call callOf(const ModelProgram &program, int number, uint64_t seed, bool isFirstStep) const;
  absl::StatusOr<std::vector<TensorRef>> runModel(const ModelProgram &program, const reference::Kernel &kernel,
                                                  const Call &call, const Functions &functions) const;
  /// Runs both, and says what differs first.
  absl::StatusOr<Difference> compareRun(const ModelProgram &program, const reference::Kernel &kernel, const Call &call,
                                        PlanRun &planRun, const Functions &functions);
  /// Where a difference has no explanation: one for the same run without what the optimizer remembers.
  absl::StatusOr<std::string> explainFurther(const ModelProgram &program, const reference::Kernel &kernel,
                                             PlanRun &planRun, int number, uint64_t seed, const Functions &functions,
                                             const Difference &difference);
  bool takesWholeBatches(const std::string &name) const;
  int64_t batch() const { return static_cast<int64_t>(plan.global_batch()); }
  void estimate();

  const rt::Artifact &artifact;
  const artifact::Plan &plan;
  const Model &model;
  const CheckOptions &options;
  std::unique_ptr<Counts> counts;
  CheckResult verdict;
  std::string notFinite; // the result of the model that is no finite number, in the last run
  int narrow = 0;        // as drawInput has it
};
} // namespace

bool Checker::takesWholeBatches(const std::string &name) const {
  return std::any_of(plan.programs()->begin(), plan.programs()->end(), [&](const artifact::Program *each) {
    return each->name()->str() == name && each->whole_batches() && each->whole_batches()->size();
  });
}

Call Checker::callOf(const ModelProgram &program, int number, uint64_t seed, bool isFirstStep) const {
  Call call;
  call.program = program.name;
  const bool hasCount = std::any_of(program.inputs.begin(), program.inputs.end(), [](const ModelInput &input) {
    return !input.isVariable && input.role == artifact::InputRole::ValidCount;
  });
  const bool isFull = number % 2 == 0 || !hasCount || batch() < 2 || takesWholeBatches(program.name);
  call.validCount = isFull ? batch() : std::max<int64_t>(1, batch() - batch() / 3 - 1);
  call.step = number + 1;
  call.seed = static_cast<int64_t>(seed % 1000003);
  const uint64_t drawSeed = seed * 64 + static_cast<uint64_t>(number);
  const Functions drawn(drawSeed);
  for (const ModelVariable &variable : model.variables) {
    TensorRef value = drawVariable(variable, drawn, drawSeed, narrow);
    if (isFirstStep && variable.role == artifact::VariableRole::Slot)
      value = std::make_shared<Tensor>(value->type, value->count);
    call.variables[variable.name] = std::move(value);
  }
  for (const ModelInput &input : program.inputs)
    if (!input.isVariable && input.role == artifact::InputRole::Data)
      call.inputs[input.name] = drawInput(input, drawn, drawSeed, narrow);
  return call;
}

absl::StatusOr<std::vector<TensorRef>> Checker::runModel(const ModelProgram &program, const reference::Kernel &kernel,
                                                         const Call &call, const Functions &functions) const {
  std::vector<TensorRef> inputs;
  for (const ModelInput &input : program.inputs) {
    if (input.isVariable) {
      inputs.push_back(call.variables.at(input.name));
      continue;
    }
    switch (input.role) {
    case artifact::InputRole::Data:
      inputs.push_back(call.inputs.at(input.name));
      break;
    case artifact::InputRole::ValidCount:
      inputs.push_back(scalarOf(input.dtype, call.validCount));
      break;
    case artifact::InputRole::Step:
      inputs.push_back(scalarOf(input.dtype, call.step));
      break;
    case artifact::InputRole::Seed:
      inputs.push_back(scalarOf(input.dtype, call.seed));
      break;
    case artifact::InputRole::AxisIndex:
      return absl::InvalidArgumentError("the model asks for the position of a worker");
    }
  }
  return interpret(kernel, inputs, {functions, *counts, options.threads});
}

/// The buffer that a nest copies, and does nothing else; none where it computes.
static std::optional<uint32_t> copiedBuffer(const reference::Nest &nest) {
  const bool isCopy = nest.body() && nest.body()->size() == 1 &&
                      nest.body()->Get(0)->opcode() == static_cast<uint8_t>(reference::Opcode::Load) && nest.loads() &&
                      nest.loads()->size() == 1;
  return isCopy ? std::optional(nest.loads()->Get(0)->buffer()) : std::nullopt;
}

/// For each result of a program the line of the model that computes it last; empty where unknown.
static std::vector<std::string> locationsOf(const ModelProgram &program, const reference::Kernel &kernel) {
  std::map<uint32_t, std::string> lines; // by buffer
  for (uint32_t i = 0; kernel.nests() && i < kernel.nests()->size() && i < program.locations.size(); ++i) {
    const reference::Nest &nest = *kernel.nests()->Get(i);
    const std::optional<uint32_t> copied = copiedBuffer(nest);
    const auto known = copied ? lines.find(*copied) : lines.end();
    const std::string line = known != lines.end() ? known->second : program.locations[i];
    for (uint32_t j = 0; nest.outputs() && j < nest.outputs()->size(); ++j)
      lines[nest.outputs()->Get(j)->access()->buffer()] = line;
  }
  std::vector<std::string> locations;
  for (uint32_t i = 0; i < program.results.size(); ++i)
    locations.push_back(lines[kernel.inputs() + i]);
  return locations;
}

/// What a run has, by name, for the explanation of differences.
static std::vector<std::pair<std::string, TensorRef>> valuesOf(const ModelProgram &program, const Call &call,
                                                               const std::vector<TensorRef> &expected) {
  std::vector<std::pair<std::string, TensorRef>> values;
  for (size_t i = 0; i < program.results.size(); ++i)
    values.emplace_back(str(program.results[i].isVariable ? "variable '" : "output '", program.results[i].name, "'"),
                        expected[i]);
  for (const auto &[name, value] : call.variables)
    values.emplace_back(str("variable '", name, "' before the run"), value);
  for (const auto &[name, value] : call.inputs)
    values.emplace_back(str("input '", name, "'"), value);
  return values;
}

absl::StatusOr<Difference> Checker::compareRun(const ModelProgram &program, const reference::Kernel &kernel,
                                               const Call &call, PlanRun &planRun, const Functions &functions) {
  DGC_ASSIGN_OR_RETURN(std::vector<TensorRef> expected, runModel(program, kernel, call, functions));
  const std::vector<std::string> locations = locationsOf(program, kernel);
  const auto others = valuesOf(program, call, expected);
  for (size_t i = 0; i < expected.size(); ++i)
    if (isUndefined(*expected[i])) {
      notFinite = str(others[i].first, locations[i].empty() ? "" : str(" (", locations[i], ")"), " of ", program.name);
      return Difference();
    }
  if (absl::Status status = planRun.run(call); !status.ok()) {
    if (status.code() != absl::StatusCode::kFailedPrecondition)
      return status;
    return Difference{"", "", std::string(status.message()), ""};
  }
  std::set<std::string> assigned;
  Difference first;
  auto compareOne = [&](const Comparison &comparison, const std::vector<Part> &parts) {
    if (first.isNone())
      first = compare(comparison, parts, plan, verdict.values);
    verdict.degree = std::max(verdict.degree, comparison.expected->degree);
    for (const Part &part : parts)
      if (part.value)
        verdict.degree = std::max(verdict.degree, part.value->degree);
  };
  // Outputs first: what differs in a variable has its cause before.
  for (bool variables : {false, true})
    for (size_t i = 0; i < program.results.size(); ++i) {
      const ModelResult &result = program.results[i];
      if (result.isVariable != variables)
        continue;
      Comparison comparison{.what = others[i].first,
                            .shape = result.shape,
                            .expected = expected[i],
                            .validCount = call.validCount,
                            .others = others,
                            .location = locations[i]};
      if (variables) {
        assigned.insert(result.name);
        comparison.before = call.variables.at(result.name);
        compareOne(comparison, planRun.variable(result.name));
      } else {
        comparison.batchDim = result.batchDim;
        compareOne(comparison, planRun.output(result.name));
      }
    }
  for (const ModelVariable &variable : model.variables)
    if (!assigned.contains(variable.name))
      compareOne({.what = str("variable '", variable.name, "', which the program does not assign,"),
                  .shape = variable.shape,
                  .expected = call.variables.at(variable.name),
                  .validCount = call.validCount,
                  .others = others},
                 planRun.variable(variable.name));
  return first;
}

absl::StatusOr<std::string> Checker::explainFurther(const ModelProgram &program, const reference::Kernel &kernel,
                                                    PlanRun &planRun, int number, uint64_t seed,
                                                    const Functions &functions, const Difference &difference) {
  const bool hasState = std::any_of(program.results.begin(), program.results.end(), [&](const ModelResult &result) {
    return result.isVariable && std::any_of(model.variables.begin(), model.variables.end(), [&](const auto &each) {
             return each.name == result.name && each.role == artifact::VariableRole::Slot;
           });
  });
  if (!difference.reason.empty() || !hasState)
    return std::string();
  const uint64_t ties = counts->nearTies;
  absl::StatusOr<Difference> again =
      compareRun(program, kernel, callOf(program, number, seed, /*isFirstStep=*/true), planRun, functions);
  counts->nearTies = ties;
  DGC_RETURN_IF_ERROR(again.status());
  return again->reason.empty() ? ""
                               : str("in a first step, with the state of the optimizer at 0: ",
                                     again->what == difference.what ? "" : again->what + ": ", again->reason);
}

absl::Status Checker::checkRun(const ModelProgram &program, const reference::Kernel &kernel, PlanRun &planRun,
                               int number, uint64_t seed, const Functions &functions) {
  const Call call = callOf(program, number, seed, /*isFirstStep=*/false);
  DGC_ASSIGN_OR_RETURN(Difference difference, compareRun(program, kernel, call, planRun, functions));
  if (!difference.isNone()) {
    DGC_ASSIGN_OR_RETURN(std::string further,
                         explainFurther(program, kernel, planRun, number, seed, functions, difference));
    std::string text = str(program.name, ", run ", number + 1, ": ", difference.text());
    if (!further.empty())
      text += "; " + further;
    if (number > 0 && call.validCount < batch())
      text += str("; with a full batch it is equal, here ", call.validCount, " of ", batch(),
                  " examples are real: padding counts");
    verdict.difference = text;
    return absl::OkStatus();
  }
  auto &ran = verdict.programs.back();
  ++ran.runs;
  ran.validCounts.push_back(call.validCount);
  return absl::OkStatus();
}

/// How often a program runs. Integers are sampled: what is done wrong for a label may have no effect for the one that was drawn,
/// and a number of examples for which something holds, as an accuracy, is often the same. A program that has these runs more
/// often, unless it assigns variables of a model that is large.
static int runsOf(const ModelProgram &program, int runs) {
  const bool hasMetrics = std::any_of(program.results.begin(), program.results.end(), [](const ModelResult &result) {
    return !result.isVariable && result.role == artifact::OutputRole::Metric;
  });
  const bool assigns = std::any_of(program.results.begin(), program.results.end(),
                                   [](const ModelResult &result) { return result.isVariable; });
  bool hasIntegers = false;
  int64_t elements = 0;
  for (const ModelInput &input : program.inputs) {
    hasIntegers |= !input.isVariable && input.role == artifact::InputRole::Data &&
                   !reference::isFloat(reference::typeOf(rt::toDType(input.dtype)));
    elements += std::accumulate(input.shape.begin(), input.shape.end(), int64_t{1}, std::multiplies<>());
  }
  const bool isCheap = elements <= kFewElements;
  return (isCheap && (hasMetrics || hasIntegers)) || (hasMetrics && !assigns) ? runs * kRunsOfSamples : runs;
}

absl::Status Checker::checkProgram(const ModelProgram &program, PlanRun &planRun, uint64_t seed,
                                   const Functions &functions) {
  if (!artifact.program(program.name))
    return absl::OkStatus(); // the plan lacks it, and nobody can run it
  DGC_ASSIGN_OR_RETURN(const reference::Kernels *kernels,
                       reference::readKernels(std::as_bytes(std::span(program.kernel))));
  verdict.programs.push_back({program.name, 0, {}});
  const int runs = runsOf(program, options.runs);
  for (int i = 0; i < runs && verdict.isEqual() && notFinite.empty(); ++i) {
    if (options.progress)
      options.progress(str(program.name, ", run ", i + 1, " of ", runs));
    DGC_RETURN_IF_ERROR(checkRun(program, *kernels->kernels()->Get(0), planRun, i, seed, functions));
  }
  return absl::OkStatus();
}

/// A difference is missed where polynomials that differ have the same value, or functions of arguments that differ.
void Checker::estimate() {
  verdict.functions = counts->functions;
  const double p = static_cast<double>(kP), q = static_cast<double>(kQ), n = static_cast<double>(verdict.functions);
  const double missed =
      std::max(1.0, verdict.degree) / p + n * n / 2 * std::max(1.0, counts->argumentDegree.load()) / p / q;
  verdict.bits = -std::log2(missed);
}

absl::StatusOr<bool> Checker::run(uint64_t seed) {
  verdict = CheckResult();
  narrow += !notFinite.empty();
  notFinite.clear();
  verdict.integersBelow = narrow > 0 ? integersBelow(narrow) : 0;
  verdict.workers = plan.world_size();
  counts = std::make_unique<Counts>();
  const Functions functions(seed, LawSet::ofPlans().without(options.leftOut));
  verdict.difference = compareDeclarations(plan, model);
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<PlanRun> planRun,
                       PlanRun::create(artifact, {functions, *counts, options.threads, seed}));
  for (const ModelProgram &program : model.programs)
    if (verdict.isEqual() && notFinite.empty())
      DGC_RETURN_IF_ERROR(checkProgram(program, *planRun, seed, functions));
  estimate();
  return notFinite.empty() && counts->nearTies == 0;
}

absl::StatusOr<CheckResult> dgc::verify::check(const rt::Artifact &artifact, const Model &model,
                                               const CheckOptions &options) {
  Checker checker(artifact, model, options);
  constexpr int tries = 4;
  for (int i = 0; i < tries; ++i) {
    DGC_ASSIGN_OR_RETURN(bool isDecided, checker.run(options.seed * tries + static_cast<uint64_t>(i) + 1));
    if (!isDecided)
      continue;
    CheckResult verdict = checker.take();
    if (verdict.isEqual() && (verdict.values == 0 || !(verdict.bits >= kLeastBits)))
      return absl::FailedPreconditionError(str("nothing differs, which proves nothing: ", verdict.values,
                                               " values were compared, which are polynomials of a degree up to ",
                                               verdict.degree));
    return verdict;
  }
  if (!checker.undefined().empty())
    return absl::FailedPreconditionError(
        str("the model itself gives something that is no finite number, which proves nothing: ", checker.undefined(),
            ", for each of ", tries, " choices of values"));
  return absl::FailedPreconditionError(
      "numbers are compared that are too close to each other to say which is larger, for each of 4 choices of values");
}
