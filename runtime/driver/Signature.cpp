// Collects arguments and results, and numbers them.
#include "runtime/driver/Signature.h"

#include "runtime/artifact/Numerics.h"
#include "runtime/artifact/VariableParts.h"

#include <algorithm>
#include <map>

using namespace dgc;
using namespace dgc::rt;

template <typename T> static uint32_t count(const flatbuffers::Vector<T> *v) { return v ? v->size() : 0; }

/// How the programs of an entry use a variable.
namespace {
struct Use {
  bool isResult = false; // written, or handed back as it is
  int argument = -1, result = -1;
};
} // namespace

/// Adds a parameter unless one of its kind and name is there.
static void addNew(std::vector<Parameter> &all, Parameter parameter) {
  const bool isKnown = std::any_of(all.begin(), all.end(), [&](const Parameter &other) {
    return other.name == parameter.name && other.isVariable == parameter.isVariable;
  });
  parameter.hasPosition = parameter.position >= 0;
  if (!isKnown)
    all.push_back(std::move(parameter));
}

/// Those without a position come behind the others, in their order.
static void number(std::vector<Parameter> &all) {
  int next = 0;
  for (const Parameter &parameter : all)
    next = std::max(next, parameter.position + 1);
  for (Parameter &parameter : all)
    if (!parameter.hasPosition)
      parameter.position = next++;
  std::stable_sort(all.begin(), all.end(),
                   [](const Parameter &a, const Parameter &b) { return a.position < b.position; });
}

template <typename Value>
static Parameter describeValue(const artifact::Plan &plan, const artifact::Program &program, const Value &value,
                               int position) {
  Parameter parameter;
  parameter.name = value.name()->str();
  parameter.dtype = toDType(program.buffers()->Get(value.buffer())->dtype());
  parameter.shape = toVector(value.global_shape());
  const int dim = value.batch_dim();
  const int64_t batch = static_cast<int64_t>(plan.global_batch());
  if (dim >= 0 && batch > 0 && parameter.shape[static_cast<size_t>(dim)] == batch)
    parameter.batchDim = dim;
  parameter.position = position;
  return parameter;
}

static void addProgram(const artifact::Plan &plan, const artifact::Program &program, Signature &signature,
                       std::map<std::string_view, Use> &uses) {
  for (uint32_t i = 0; i < count(program.inputs()); ++i)
    if (const artifact::Input &input = *program.inputs()->Get(i); input.role() == artifact::InputRole::Data)
      addNew(signature.arguments, describeValue(plan, program, input, input.argument()));
  for (uint32_t i = 0; i < count(program.outputs()); ++i) {
    const artifact::Output &output = *program.outputs()->Get(i);
    if (isNumericsOutput(output))
      continue;
    addNew(signature.results, describeValue(plan, program, output, output.result()));
  }
  for (uint32_t i = 0; i < count(program.states()); ++i) {
    const artifact::StateUse &state = *program.states()->Get(i);
    Use &use = uses[{state.variable()->c_str(), state.variable()->size()}];
    use.isResult |= state.is_written() || state.result() >= 0;
    use.argument = std::max(use.argument, state.argument());
    use.result = std::max(use.result, state.result());
  }
}

Signature dgc::rt::signatureOf(const artifact::Plan &plan, std::string_view entry) {
  Signature signature;
  std::map<std::string_view, Use> uses;
  for (const artifact::Program *program : *plan.programs())
    if (program->name()->string_view() == entry)
      addProgram(plan, *program, signature, uses);
  for (uint32_t i = 0; i < count(plan.variables()); ++i) {
    const artifact::Variable &variable = *plan.variables()->Get(i);
    auto entry = uses.find({variable.name()->c_str(), variable.name()->size()});
    Use use = entry == uses.end() ? Use() : entry->second;
    if (countStackedDims(variable) > 0) // several parts have no one position
      use.argument = use.result = -1;
    for (const VariablePart &part : partsOf(variable)) {
      Parameter parameter{part.name, /*isVariable=*/true,
                          toDType(plan.variable_buffers()->Get(variable.buffer())->dtype()), part.shape};
      parameter.hasInitial = variable.init() != artifact::InitKind::Zeros;
      parameter.position = use.argument;
      addNew(signature.arguments, parameter);
      parameter.position = use.result;
      if (use.isResult)
        addNew(signature.results, parameter);
    }
  }
  number(signature.arguments);
  number(signature.results);
  return signature;
}
