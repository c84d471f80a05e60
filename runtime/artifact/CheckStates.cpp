// Which variables programs use, the positions of their arguments and results, and how results are reported.
#include "runtime/artifact/Check.h"

#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/Numerics.h"
#include "runtime/base/Status.h"

#include <map>
#include <string>
#include <unordered_set>

using namespace dgc::rt;
namespace a = dgc::artifact;

namespace {
/// No entry has more arguments or results.
constexpr int32_t mostPositions = 1 << 20;

/// No metric has more elements.
constexpr int64_t mostReported = 4096;

absl::Status bad(const std::string &message) { return absl::InvalidArgumentError(message); }

template <typename T> uint32_t lengthOf(const flatbuffers::Vector<T> *v) { return v ? v->size() : 0; }

/// Positions of one kind in one program: each is taken once.
class Positions {
public:
  explicit Positions(std::string_view what) : what(what) {}

  absl::Status take(int32_t position, const flatbuffers::String &name) {
    if (position < -1 || position >= mostPositions)
      return bad(
          str("'", name.str(), "' is ", what, " ", position, "; they are numbered from 0 to ", mostPositions - 1));
    if (position >= 0 && !taken.insert(position).second)
      return bad(str("'", name.str(), "' is the second ", what, " ", position));
    return absl::OkStatus();
  }

private:
  std::string_view what;
  std::unordered_set<int32_t> taken;
};

/// What is reported of a metric is on every worker, and no more than people read.
absl::Status checkReported(const a::Plan &plan, const a::Output &output) {
  int64_t elements = 1;
  for (int64_t extent : toVector(output.global_shape()))
    if (elements > 0 && __builtin_mul_overflow(elements, extent, &elements))
      elements = -1; // more than can be counted
  if (elements < 1 || elements > mostReported)
    return bad(str("a metric has from 1 to ", mostReported, " elements"));
  if (output.batch_dim() >= 0)
    return bad("a metric has no dimension of examples; it is their mean or sum");
  return isSplit(plan, output.sharding()) ? bad("a metric that is cut over the workers; each has all of it")
                                          : absl::OkStatus();
}

/// What a metric is divided by is another one of its shape; and so are the labels of an area under a curve.
absl::Status checkSecond(const a::Plan &plan, const a::Program &program, const a::Output &output) {
  const bool isArea = output.function() == a::MetricFunction::AreaUnderCurve;
  const std::string over = output.over()->str();
  for (uint32_t i = 0; i < lengthOf(program.outputs()); ++i) {
    const a::Output &second = *program.outputs()->Get(i);
    if (second.name()->string_view() != over)
      continue;
    if (second.role() != a::OutputRole::Metric || second.over() || second.function() != a::MetricFunction::Identity ||
        toVector(second.global_shape()) != toVector(output.global_shape()))
      return bad(str(isArea ? "its labels are '" : "it is divided by '", over,
                     "': both must be metrics of one shape, the second no quotient"));
    if (second.batch_dim() != output.batch_dim())
      return bad(str("it has its examples along dimension ", output.batch_dim(), ", and '", over, "' along ",
                     second.batch_dim()));
    return isArea ? absl::OkStatus() : annotate(checkReported(plan, second), str("'", over, "'"));
  }
  return bad(str(isArea ? "its labels are '" : "it is divided by '", over, "', which is no output of the program"));
}

/// Whether a metric of the program has the output as the labels of its examples.
bool isLabels(const a::Program &program, const a::Output &output) {
  for (uint32_t i = 0; i < lengthOf(program.outputs()); ++i) {
    const a::Output &area = *program.outputs()->Get(i);
    if (area.function() == a::MetricFunction::AreaUnderCurve && area.over() &&
        area.over()->string_view() == output.name()->string_view())
      return true;
  }
  return false;
}

/// What was found of values has a row for each of them.
absl::Status checkNumerics(const a::Program &program, const a::Output &output) {
  const a::Buffer &buffer = *program.buffers()->Get(output.buffer());
  const std::optional<std::vector<CheckedValue>> values = readChecks(output.over()->string_view());
  if (!values)
    return bad("what it checks cannot be read");
  const std::vector<int64_t> expected{static_cast<int64_t>(values->size()), kNumericsColumns};
  if (output.role() != a::OutputRole::Prediction || output.batch_dim() != -1 || buffer.dtype() != a::DType::I64 ||
      toVector(buffer.shape()) != expected)
    return bad(str("it tells of ", values->size(),
                   " values that are checked, so it must be a prediction without examples, of ", values->size(), "x",
                   int(kNumericsColumns), " i64"));
  return absl::OkStatus();
}

/// How an output is reported.
absl::Status checkReport(const a::Plan &plan, const a::Program &program, const a::Output &output) {
  if (isNumericsOutput(output) && output.role() != a::OutputRole::Metric)
    return output.function() == a::MetricFunction::Identity
               ? checkNumerics(program, output)
               : bad("only a metric is reported as a function of its mean");
  if (output.role() != a::OutputRole::Metric)
    return output.over() || output.function() != a::MetricFunction::Identity
               ? bad("only a metric is divided, or reported as a function of its mean")
               : absl::OkStatus();
  if (output.function() == a::MetricFunction::AreaUnderCurve)
    return output.over() ? checkSecond(plan, program, output) : bad("an area under a curve that has no labels");
  if (isLabels(program, output))
    return absl::OkStatus();
  DGC_RETURN_IF_ERROR(checkReported(plan, output));
  if (!output.over())
    return absl::OkStatus();
  if (output.function() == a::MetricFunction::Last)
    return bad("the last value is reported of it, which is not divided by another");
  return checkSecond(plan, program, output);
}

/// A variable that begins as another one is of the same type, and stacked as that is.
absl::Status checkBeginnings(const a::Plan &plan) {
  std::map<std::string, const a::Variable *> byName;
  for (uint32_t i = 0; i < lengthOf(plan.variables()); ++i)
    byName.emplace(plan.variables()->Get(i)->name()->str(), plan.variables()->Get(i));
  auto typeOf = [&](const a::Variable *v) { return plan.variable_buffers()->Get(v->buffer())->dtype(); };
  for (auto &[name, variable] : byName) {
    if (!variable->begins_as())
      continue;
    auto other = byName.find(variable->begins_as()->str());
    if (other == byName.end() || other->second->begins_as() || typeOf(other->second) != typeOf(variable) ||
        toVector(other->second->global_shape()) != toVector(variable->global_shape()) ||
        lengthOf(other->second->rng_strides()) != lengthOf(variable->rng_strides()))
      return annotate(bad(str("begins as '", variable->begins_as()->str(), "', which is no variable of its type")),
                      str("variable '", name, "'"));
  }
  return absl::OkStatus();
}

absl::Status checkProgram(const a::Plan &plan, const a::Program &program,
                          const std::unordered_set<std::string> &variables) {
  Positions arguments("argument"), results("result");
  for (uint32_t i = 0; i < lengthOf(program.inputs()); ++i) {
    const a::Input &input = *program.inputs()->Get(i);
    DGC_RETURN_IF_ERROR(arguments.take(input.argument(), *input.name()));
  }
  for (uint32_t i = 0; i < lengthOf(program.outputs()); ++i) {
    const a::Output &output = *program.outputs()->Get(i);
    DGC_RETURN_IF_ERROR(results.take(output.result(), *output.name()));
    if (absl::Status s = checkReport(plan, program, output); !s.ok())
      return annotate(s, str("output '", output.name()->str(), "'"));
  }
  std::unordered_set<std::string> used;
  for (uint32_t i = 0; i < lengthOf(program.states()); ++i) {
    const a::StateUse &state = *program.states()->Get(i);
    const std::string name = state.variable()->str();
    if (!variables.contains(name))
      return bad(str("it uses the variable '", name, "', which the plan does not have"));
    if (!used.insert(name).second)
      return bad(str("a second use of the variable '", name, "'"));
    DGC_RETURN_IF_ERROR(arguments.take(state.argument(), *state.variable()));
    DGC_RETURN_IF_ERROR(results.take(state.result(), *state.variable()));
  }
  return absl::OkStatus();
}
} // namespace

absl::Status dgc::rt::checkStates(const a::Plan &plan) {
  std::unordered_set<std::string> variables;
  for (uint32_t i = 0; i < lengthOf(plan.variables()); ++i) {
    const a::Variable &variable = *plan.variables()->Get(i);
    if (variable.role() == a::VariableRole::Total && variable.init() != a::InitKind::Zeros)
      return bad(str("variable '", variable.name()->str(), "' is a sum of an evaluation, and does not begin at 0"));
    variables.insert(variable.name()->str());
  }
  DGC_RETURN_IF_ERROR(checkBeginnings(plan));
  for (uint32_t i = 0; i < lengthOf(plan.programs()); ++i) {
    const a::Program &program = *plan.programs()->Get(i);
    if (absl::Status s = checkProgram(plan, program, variables); !s.ok())
      return annotate(s, str("program '", program.name()->str(), "'"));
  }
  return absl::OkStatus();
}
