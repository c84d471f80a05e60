#include "runtime/verify/Check.h"

#include "runtime/base/Status.h"
#include "runtime/verify/Compare.h"
#include "runtime/verify/Draw.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace dgc;
using namespace dgc::verify;
using rt::str;

namespace {
class Checker {
public:
  Checker(const rt::Artifact &artifact, const Model &model, const CheckOptions &options)
      : artifact(artifact), plan(artifact.plan()), model(model), options(options) {}

  /// Everything with values by one seed. True when all comparisons could be decided.
  absl::StatusOr<bool> run(uint64_t seed);
  Verdict take() { return std::move(verdict); }

private:
  absl::Status checkVariables();
  absl::Status checkProgram(const ModelProgram &program, PlanRun &planRun, uint64_t seed, const Functions &functions);
  absl::Status checkRun(const ModelProgram &program, const reference::Kernel &kernel, PlanRun &planRun, int number,
                        uint64_t seed, const Functions &functions);
  bool takesWholeBatches(const std::string &name) const;
  int64_t batch() const { return static_cast<int64_t>(plan.global_batch()); }
  void found(const std::string &difference) {
    if (verdict.difference.empty())
      verdict.difference = difference;
  }
  void estimate();

  const rt::Artifact &artifact;
  const artifact::Plan &plan;
  const Model &model;
  const CheckOptions &options;
  std::unique_ptr<Counts> counts;
  Verdict verdict;
};
} // namespace

/// The variables of both are the same, with the same initial values.
absl::Status Checker::checkVariables() {
  std::set<std::string> names;
  for (const ModelVariable &variable : model.variables)
    names.insert(variable.name);
  for (uint32_t i = 0; plan.variables() && i < plan.variables()->size(); ++i) {
    const artifact::Variable &mine = *plan.variables()->Get(i);
    const std::string name = mine.name()->str();
    auto same = std::find_if(model.variables.begin(), model.variables.end(),
                             [&](const ModelVariable &each) { return each.name == name; });
    if (same == model.variables.end()) {
      found(str("variable '", name, "' is not in the model"));
      return absl::OkStatus();
    }
    names.erase(name);
    if (mine.init() != same->init || mine.a() != same->a || mine.b() != same->b || mine.rng_id() != same->rngId)
      found(str("variable '", name, "' has another initial value"));
  }
  if (!names.empty())
    found(str("variable '", *names.begin(), "' of the model is not in the plan"));
  return absl::OkStatus();
}

bool Checker::takesWholeBatches(const std::string &name) const {
  for (const artifact::Program *each : *plan.programs())
    if (each->name()->str() == name && each->whole_batches() && each->whole_batches()->size())
      return true;
  return false;
}

absl::Status Checker::checkRun(const ModelProgram &program, const reference::Kernel &kernel, PlanRun &planRun,
                               int number, uint64_t seed, const Functions &functions) {
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
  for (const ModelVariable &variable : model.variables)
    call.variables[variable.name] = drawVariable(variable, drawn, drawSeed);
  std::vector<TensorRef> inputs;
  for (const ModelInput &input : program.inputs) {
    if (input.isVariable) {
      inputs.push_back(call.variables.at(input.name));
      continue;
    }
    switch (input.role) {
    case artifact::InputRole::Data:
      inputs.push_back(call.inputs[input.name] = drawInput(input, drawn, drawSeed));
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
  DGC_ASSIGN_OR_RETURN(std::vector<TensorRef> expected,
                       interpret(kernel, inputs, {functions, *counts, options.threads}));
  if (absl::Status status = planRun.run(call); !status.ok()) {
    if (status.code() != absl::StatusCode::kFailedPrecondition)
      return status;
    found(str(program.name, ", run ", number + 1, ": ", absl::string_view(status.message())));
    return absl::OkStatus();
  }
  std::set<std::string> assigned;
  auto compareOne = [&](const Comparison &comparison, const std::vector<Part> &parts) {
    if (std::string text = compare(comparison, parts, plan, verdict.values); !text.empty())
      found(str(program.name, ", run ", number + 1, ": ", text));
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
      if (variables) {
        assigned.insert(result.name);
        compareOne({str("variable '", result.name, "'"), result.shape, expected[i], call.variables.at(result.name)},
                   planRun.variable(result.name));
      } else {
        compareOne(
            {str("output '", result.name, "'"), result.shape, expected[i], nullptr, result.batchDim, call.validCount},
            planRun.output(result.name));
      }
    }
  for (const ModelVariable &variable : model.variables)
    if (!assigned.contains(variable.name))
      compareOne({str("variable '", variable.name, "', which the program does not assign,"), variable.shape,
                  call.variables.at(variable.name), nullptr},
                 planRun.variable(variable.name));
  auto &ran = verdict.programs.back();
  ++ran.runs;
  ran.validCounts.push_back(call.validCount);
  return absl::OkStatus();
}

absl::Status Checker::checkProgram(const ModelProgram &program, PlanRun &planRun, uint64_t seed,
                                   const Functions &functions) {
  if (!artifact.program(program.name))
    return absl::OkStatus(); // the plan lacks it, and nobody can run it
  DGC_ASSIGN_OR_RETURN(const reference::Kernels *kernels,
                       reference::readKernels(std::as_bytes(std::span(program.kernel))));
  verdict.programs.push_back({program.name, 0, {}});
  for (int i = 0; i < options.runs && verdict.isEqual(); ++i) {
    if (options.progress)
      options.progress(str(program.name, ", run ", i + 1, " of ", options.runs));
    DGC_RETURN_IF_ERROR(checkRun(program, *kernels->kernels()->Get(0), planRun, i, seed, functions));
  }
  return absl::OkStatus();
}

/// A difference is missed where polynomials that differ have the same value, or functions of arguments that differ.
void Checker::estimate() {
  verdict.functions = counts->functions;
  verdict.exponentials = counts->exponentials;
  const double p = static_cast<double>(kP), q = static_cast<double>(kQ), n = static_cast<double>(verdict.functions);
  const double missed = std::max(1.0, verdict.degree) / p + n * n / 2 * std::max(1.0, counts->argumentDegree) / p / q;
  verdict.bits = -std::log2(missed);
}

absl::StatusOr<bool> Checker::run(uint64_t seed) {
  verdict = Verdict();
  verdict.workers = plan.world_size();
  counts = std::make_unique<Counts>();
  const Functions functions(seed, LawSet::ofPlans().without(options.leftOut));
  DGC_RETURN_IF_ERROR(checkVariables());
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<PlanRun> planRun,
                       PlanRun::create(artifact, {functions, *counts, options.threads, seed}));
  for (const ModelProgram &program : model.programs)
    if (verdict.isEqual())
      DGC_RETURN_IF_ERROR(checkProgram(program, *planRun, seed, functions));
  estimate();
  return counts->nearTies == 0;
}

absl::StatusOr<Verdict> dgc::verify::check(const rt::Artifact &artifact, const Model &model,
                                           const CheckOptions &options) {
  Checker checker(artifact, model, options);
  constexpr int tries = 4;
  for (int i = 0; i < tries; ++i) {
    DGC_ASSIGN_OR_RETURN(bool isDecided, checker.run(options.seed * tries + static_cast<uint64_t>(i) + 1));
    if (isDecided)
      return checker.take();
  }
  return absl::FailedPreconditionError(
      "numbers are compared that are too close to each other to say which is larger, for each of 4 choices of values");
}
