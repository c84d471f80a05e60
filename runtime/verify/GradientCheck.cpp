#include "runtime/verify/GradientCheck.h"

#include "runtime/base/Philox.h"
#include "runtime/base/Status.h"
#include "runtime/verify/Draw.h"
#include "runtime/verify/ExactConstants.h"
#include "runtime/verify/Interpreter.h"
#include "runtime/verify/Tangent.h"

#include <algorithm>
#include <cmath>

using namespace dgc;
using namespace dgc::verify;
using rt::str;

namespace {
/// A variable that the optimizer updates.
struct Weight {
  std::string name;
  uint32_t input, result; // numbers of its value before and after
};

class GradientChecker {
public:
  GradientChecker(const Model &model, const CheckOptions &options)
      : model(model), options(options), laws(LawSet::ofGradients().without(options.leftOut)) {}

  absl::Status prepare();
  /// Everything with values by one seed. True when all comparisons could be decided.
  absl::StatusOr<bool> run(uint64_t seed);
  GradientCheckResult take() { return std::move(verdict); }

private:
  absl::Status findWeights();
  absl::Status checkRun(int number, uint64_t seed);
  absl::StatusOr<std::vector<TensorRef>> drawInputs(int64_t validCount, int64_t step, const Functions &drawn,
                                                    uint64_t seed) const;
  absl::StatusOr<std::vector<TensorRef>> results(const std::vector<TensorRef> &inputs,
                                                 const std::vector<TensorRef> &directions, const Functions &functions);
  absl::StatusOr<std::string> wrongVariables(const std::vector<TensorRef> &inputs,
                                             const std::vector<TensorRef> &directions, const Functions &functions);
  void estimate();

  const Model &model;
  const CheckOptions &options;
  const LawSet laws;
  const ModelProgram *program = nullptr;
  std::vector<Weight> weights;
  uint32_t loss = 0; // number of the result
  int64_t batch = 1;
  bool hasCount = false;
  std::vector<uint8_t> bytes;       // of the kernel with tangents
  std::vector<TensorRef> constants; // its last inputs
  const reference::Kernel *kernel = nullptr;
  std::unique_ptr<Counts> counts;
  GradientCheckResult verdict;
};
} // namespace

static bool isTrained(const Model &model, const ModelInput &input) {
  return input.isVariable &&
         std::any_of(model.variables.begin(), model.variables.end(), [&](const ModelVariable &variable) {
           return variable.name == input.name && variable.role == artifact::VariableRole::Weight;
         });
}

/// The weights that the program gives new values, and the loss.
absl::Status GradientChecker::findWeights() {
  for (uint32_t i = 0; i < program->inputs.size(); ++i) {
    const ModelInput &input = program->inputs[i];
    if (!isTrained(model, input)) {
      if (!input.isVariable && input.batchDim >= 0)
        batch = input.shape[static_cast<size_t>(input.batchDim)];
      hasCount |= !input.isVariable && input.role == artifact::InputRole::ValidCount;
      continue;
    }
    for (uint32_t j = 0; j < program->results.size(); ++j)
      if (program->results[j].isVariable && program->results[j].name == input.name)
        weights.push_back({input.name, i, j});
  }
  for (loss = 0; loss < program->results.size(); ++loss)
    if (!program->results[loss].isVariable && program->results[loss].role == artifact::OutputRole::Loss)
      break;
  if (loss == program->results.size() || weights.empty())
    return absl::InvalidArgumentError("the model has no loss, or no variable that is trained");
  return absl::OkStatus();
}

absl::Status GradientChecker::prepare() {
  for (const ModelProgram &each : model.programs)
    if (each.name == "train")
      program = &each;
  if (!program)
    return absl::InvalidArgumentError("the model has no program 'train': its gradient is that of a loss");
  DGC_RETURN_IF_ERROR(findWeights());
  DGC_ASSIGN_OR_RETURN(const reference::Kernels *kernels,
                       reference::readKernels(std::as_bytes(std::span(program->kernel))));
  Tangents tangents{{}, {loss}};
  for (const Weight &weight : weights)
    tangents.inputs.push_back(weight.input);
  reference::KernelT unpacked;
  kernels->kernels()->Get(0)->UnPackTo(&unpacked);
  DGC_ASSIGN_OR_RETURN(reference::KernelT differentiated, withTangents(unpacked, tangents));
  constants = useExactConstants(differentiated, laws);
  reference::KernelsT all;
  all.kernels.push_back(std::make_unique<reference::KernelT>(std::move(differentiated)));
  flatbuffers::FlatBufferBuilder builder;
  reference::FinishKernelsBuffer(builder, reference::Kernels::Pack(builder, &all));
  bytes.assign(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  DGC_ASSIGN_OR_RETURN(kernels, reference::readKernels(std::as_bytes(std::span(bytes))));
  kernel = kernels->kernels()->Get(0);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TensorRef>> GradientChecker::drawInputs(int64_t validCount, int64_t step,
                                                                   const Functions &drawn, uint64_t seed) const {
  std::vector<TensorRef> inputs;
  for (const ModelInput &input : program->inputs) {
    if (input.isVariable) {
      auto variable = std::find_if(model.variables.begin(), model.variables.end(),
                                   [&](const ModelVariable &each) { return each.name == input.name; });
      inputs.push_back(drawVariable(*variable, drawn, seed));
      continue;
    }
    switch (input.role) {
    case artifact::InputRole::Data:
      inputs.push_back(drawInput(input, drawn, seed));
      break;
    case artifact::InputRole::ValidCount:
      inputs.push_back(scalarOf(input.dtype, validCount));
      break;
    case artifact::InputRole::Step:
      inputs.push_back(scalarOf(input.dtype, step));
      break;
    case artifact::InputRole::Seed:
      inputs.push_back(scalarOf(input.dtype, static_cast<int64_t>(seed % 1000003)));
      break;
    case artifact::InputRole::AxisIndex:
      return absl::InvalidArgumentError("the model asks for the position of a worker");
    }
  }
  return inputs;
}

static TensorRef drawDirection(const Tensor &of, uint64_t name, const Functions &drawn, uint64_t seed) {
  auto tensor = std::make_shared<Tensor>(of.type, of.count);
  const rt::Philox random(seed, ~name);
  for (size_t i = 0; i < of.count; ++i)
    tensor->set(i, drawn.draw(~name, i, 2 * random.uniformF64(i) - 1));
  tensor->degree = 1;
  return tensor;
}

absl::StatusOr<std::vector<TensorRef>> GradientChecker::results(const std::vector<TensorRef> &inputs,
                                                                const std::vector<TensorRef> &directions,
                                                                const Functions &functions) {
  std::vector<TensorRef> all = inputs;
  all.insert(all.end(), directions.begin(), directions.end());
  all.insert(all.end(), constants.begin(), constants.end());
  return interpret(*kernel, all, {functions, *counts, options.threads});
}

/// The sum of (before - after) times the direction.
static Number along(const Tensor &before, const Tensor &after, const Tensor &direction) {
  Number sum;
  for (size_t i = 0; i < before.count; ++i)
    sum = add(sum, multiply(subtract(before.number(i), after.number(i)), direction.number(i)));
  return sum;
}

/// Elements of F_p alone: an identity by the law of exp holds there.
static bool agree(const Number &a, const Number &b) { return a.p == b.p; }

/// The variables whose gradient differs: each with a direction of its own.
absl::StatusOr<std::string> GradientChecker::wrongVariables(const std::vector<TensorRef> &inputs,
                                                            const std::vector<TensorRef> &directions,
                                                            const Functions &functions) {
  std::string names;
  for (size_t i = 0; i < weights.size(); ++i) {
    std::vector<TensorRef> one;
    for (size_t j = 0; j < weights.size(); ++j)
      one.push_back(i == j ? directions[j] : std::make_shared<Tensor>(directions[j]->type, directions[j]->count));
    DGC_ASSIGN_OR_RETURN(std::vector<TensorRef> values, results(inputs, one, functions));
    const Number forward = values.back()->number(0);
    const Number backward = along(*inputs[weights[i].input], *values[weights[i].result], *directions[i]);
    if (!agree(forward, backward))
      names += str(names.empty() ? "" : ", ", "'", weights[i].name, "' (", backward.f, " along a direction, ",
                   forward.f, " by forward mode)");
  }
  return names;
}

absl::Status GradientChecker::checkRun(int number, uint64_t seed) {
  const bool isFull = number % 2 == 0 || !hasCount || batch < 2;
  const int64_t validCount = isFull ? batch : std::max<int64_t>(1, batch - batch / 3 - 1);
  const uint64_t drawSeed = seed * 64 + static_cast<uint64_t>(number);
  const Functions drawn(drawSeed), functions(seed, laws);
  DGC_ASSIGN_OR_RETURN(std::vector<TensorRef> inputs, drawInputs(validCount, number + 1, drawn, drawSeed));
  std::vector<TensorRef> directions;
  verdict.weights = 0;
  for (const Weight &weight : weights) {
    directions.push_back(drawDirection(*inputs[weight.input], weight.input, drawn, drawSeed));
    verdict.weights += directions.back()->count;
  }
  DGC_ASSIGN_OR_RETURN(std::vector<TensorRef> values, results(inputs, directions, functions));
  Number backward;
  for (size_t i = 0; i < weights.size(); ++i) {
    const Tensor &after = *values[weights[i].result];
    backward = add(backward, along(*inputs[weights[i].input], after, *directions[i]));
    verdict.degree = std::max(verdict.degree, after.degree + 1);
  }
  verdict.degree = std::max(verdict.degree, values.back()->degree);
  verdict.inverses = std::max(verdict.inverses, functions.inverses());
  verdict.validCounts.push_back(validCount);
  const Number forward = values.back()->number(0);
  if (!std::isfinite(forward.f))
    return absl::FailedPreconditionError("the derivative of the loss is no finite number, which proves nothing");
  if (agree(forward, backward))
    return absl::OkStatus();
  DGC_ASSIGN_OR_RETURN(std::string names, wrongVariables(inputs, directions, functions));
  verdict.difference = str("run ", number + 1, " with ", rt::counted(validCount, "example"),
                           ": the gradient is not the derivative of the loss for ", names);
  return absl::OkStatus();
}

/// As for a plan, but quotients are not drawn: a difference is multiplied by the denominators before it is a polynomial.
void GradientChecker::estimate() {
  verdict.functions = counts->functions;
  verdict.exponentials = counts->exponentials;
  const double p = static_cast<double>(kP), q = static_cast<double>(kQ), n = static_cast<double>(verdict.functions);
  const double argument = std::max(1.0, counts->argumentDegree.load());
  const double missed = std::max(1.0, verdict.degree) * (1 + static_cast<double>(verdict.inverses) * argument) / p +
                        n * n / 2 * argument / p / q;
  verdict.bits = std::max(0.0, -std::log2(missed));
}

absl::StatusOr<bool> GradientChecker::run(uint64_t seed) {
  verdict = GradientCheckResult();
  for (const Weight &weight : weights)
    verdict.variables.push_back(weight.name);
  counts = std::make_unique<Counts>();
  for (int i = 0; i < options.runs && verdict.isEqual(); ++i) {
    if (options.progress)
      options.progress(str("gradient, run ", i + 1, " of ", options.runs));
    DGC_RETURN_IF_ERROR(checkRun(i, seed));
  }
  estimate();
  return counts->nearTies == 0;
}

absl::StatusOr<GradientCheckResult> dgc::verify::checkGradient(const Model &model, const CheckOptions &options) {
  GradientChecker checker(model, options);
  DGC_RETURN_IF_ERROR(checker.prepare());
  constexpr int tries = 4;
  for (int i = 0; i < tries; ++i) {
    DGC_ASSIGN_OR_RETURN(bool isDecided, checker.run(options.seed * tries + static_cast<uint64_t>(i) + 1));
    if (isDecided)
      return checker.take();
  }
  return absl::FailedPreconditionError(
      "numbers are compared that are too close to each other to say which is larger, for each of 4 choices of values");
}
