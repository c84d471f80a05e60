// Which variables programs use, the positions of their arguments and results, and how results are reported.
#include "runtime/artifact/Check.h"

#include "runtime/artifact/Mesh.h"
#include "runtime/base/Status.h"

#include <map>
#include <string>
#include <unordered_set>

using namespace dgc::rt;
namespace a = dgc::artifact;

namespace {
/// No entry has more arguments or results.
constexpr int32_t mostPositions = 1 << 20;

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

/// What a metric is divided by is another one, and both are scalars.
absl::Status checkReport(const a::Program &program, const a::Output &output) {
  if (output.role() != a::OutputRole::Metric && (output.over() || output.function() != a::MetricFunction::Identity))
    return bad("only a metric is divided, or reported as a function of its mean");
  if (!output.over())
    return absl::OkStatus();
  if (output.function() == a::MetricFunction::Last)
    return bad("the last value is reported of it, which is not divided by another");
  const std::string over = output.over()->str();
  for (uint32_t i = 0; i < lengthOf(program.outputs()); ++i) {
    const a::Output &divisor = *program.outputs()->Get(i);
    if (divisor.name()->string_view() != over)
      continue;
    if (divisor.role() != a::OutputRole::Metric || divisor.over() || lengthOf(divisor.global_shape()) != 0 ||
        lengthOf(output.global_shape()) != 0)
      return bad(str("it is divided by '", over, "': both must be scalar metrics, the second no quotient"));
    return absl::OkStatus();
  }
  return bad(str("it is divided by '", over, "', which is no output of the program"));
}

/// A variable that begins as another one is of the same type.
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
        toVector(other->second->global_shape()) != toVector(variable->global_shape()))
      return annotate(bad(str("begins as '", variable->begins_as()->str(), "', which is no variable of its type")),
                      str("variable '", name, "'"));
  }
  return absl::OkStatus();
}

absl::Status checkProgram(const a::Program &program, const std::unordered_set<std::string> &variables) {
  Positions arguments("argument"), results("result");
  for (uint32_t i = 0; i < lengthOf(program.inputs()); ++i) {
    const a::Input &input = *program.inputs()->Get(i);
    DGC_RETURN_IF_ERROR(arguments.take(input.argument(), *input.name()));
  }
  for (uint32_t i = 0; i < lengthOf(program.outputs()); ++i) {
    const a::Output &output = *program.outputs()->Get(i);
    DGC_RETURN_IF_ERROR(results.take(output.result(), *output.name()));
    if (absl::Status s = checkReport(program, output); !s.ok())
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
    if (absl::Status s = checkProgram(program, variables); !s.ok())
      return annotate(s, str("program '", program.name()->str(), "'"));
  }
  return absl::OkStatus();
}
