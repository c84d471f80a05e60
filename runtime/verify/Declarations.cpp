#include "runtime/verify/Declarations.h"

#include "runtime/artifact/Enums.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/Numerics.h"
#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <set>

using namespace dgc;
using namespace dgc::verify;
using rt::str;

/// The element of a list that has a name and `holds`; null: there is none.
template <class List, class Holds>
static const List::value_type *find(const List &list, std::string_view name, Holds &&holds) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto &each) { return each.name == name && holds(each); });
  return found == list.end() ? nullptr : &*found;
}
template <class List> static const List::value_type *find(const List &list, std::string_view name) {
  return find(list, name, [](const auto &) { return true; });
}

/// Where the elements of a value are of another type or number in the plan.
static std::string compareTypes(const artifact::Buffer &buffer, const flatbuffers::Vector<int64_t> *shape,
                                const auto &other) {
  const std::string mine = rt::describe(rt::toDType(buffer.dtype()), rt::toVector(shape)),
                    its = rt::describe(rt::toDType(other.dtype), other.shape);
  return mine == its ? "" : str(" is ", mine, ", and in the model ", its);
}

static std::string compareVariable(const artifact::Plan &plan, const artifact::Variable &mine, const Model &model) {
  const ModelVariable *other = find(model.variables, mine.name()->string_view());
  if (!other)
    return " is not in the model";
  std::string type = compareTypes(*plan.variable_buffers()->Get(mine.buffer()), mine.global_shape(), *other);
  if (!type.empty())
    return type;
  if (mine.role() != other->role)
    return " has another role than in the model";
  const std::string file = mine.file() ? mine.file()->str() : "";
  const std::string beginsAs = mine.begins_as() ? mine.begins_as()->str() : "";
  const bool isSame = mine.init() == other->init && mine.a() == other->a && mine.b() == other->b &&
                      mine.rng_id() == other->rngId && rt::toVector(mine.rng_strides()) == other->rngStrides &&
                      file == other->file && beginsAs == other->beginsAs;
  return isSame ? "" : " has another initial value";
}

static std::string compareInput(const artifact::Program &program, const artifact::Input &mine,
                                const ModelProgram &model) {
  const ModelInput *other = find(model.inputs, mine.name()->string_view(), [](const ModelInput &each) {
    return !each.isVariable && each.role == artifact::InputRole::Data;
  });
  if (!other)
    return " is not in the model";
  std::string type = compareTypes(*program.buffers()->Get(mine.buffer()), mine.global_shape(), *other);
  if (!type.empty())
    return type;
  if (mine.index_limit() != other->indexLimit)
    return str(" has indices below ", mine.index_limit(), ", and in the model below ", other->indexLimit);
  return mine.batch_dim() == other->batchDim ? "" : " has the batch in another dimension than in the model";
}

static std::string compareOutput(const artifact::Program &program, const artifact::Output &mine,
                                 const ModelProgram &model) {
  if (rt::isNumericsOutput(mine))
    return ""; // no value of the model
  const ModelResult *other =
      find(model.results, mine.name()->string_view(), [](const ModelResult &each) { return !each.isVariable; });
  if (!other)
    return " is not in the model";
  std::string type = compareTypes(*program.buffers()->Get(mine.buffer()), mine.global_shape(), *other);
  if (!type.empty())
    return type;
  if (mine.role() != other->role)
    return " has another role than in the model";
  if ((mine.over() ? mine.over()->str() : "") != other->over || mine.function() != other->function)
    return " is reported in another way than in the model";
  return mine.batch_dim() == other->batchDim ? "" : " has the batch in another dimension than in the model";
}

static std::string compareProgram(const artifact::Program &mine, const Model &model) {
  const std::string name = mine.name()->str();
  const ModelProgram *other = find(model.programs, name);
  if (!other)
    return str("program '", name, "' is not in the model");
  auto of = [&](const char *what, const flatbuffers::String *value, const std::string &difference) {
    return difference.empty() ? "" : str(what, " '", value->str(), "' of program '", name, "'", difference);
  };
  std::string difference;
  for (uint32_t i = 0; mine.inputs() && i < mine.inputs()->size() && difference.empty(); ++i)
    if (const artifact::Input &input = *mine.inputs()->Get(i); input.role() == artifact::InputRole::Data)
      difference = of("input", input.name(), compareInput(mine, input, *other));
  for (uint32_t i = 0; mine.outputs() && i < mine.outputs()->size() && difference.empty(); ++i)
    difference = of("output", mine.outputs()->Get(i)->name(), compareOutput(mine, *mine.outputs()->Get(i), *other));
  return difference;
}

std::string dgc::verify::compareDeclarations(const artifact::Plan &plan, const Model &model) {
  std::set<std::string> names;
  for (uint32_t i = 0; plan.variables() && i < plan.variables()->size(); ++i) {
    const artifact::Variable &variable = *plan.variables()->Get(i);
    names.insert(variable.name()->str());
    if (const std::string difference = compareVariable(plan, variable, model); !difference.empty())
      return str("variable '", variable.name()->str(), "'", difference);
  }
  for (const ModelVariable &variable : model.variables)
    if (!names.contains(variable.name))
      return str("variable '", variable.name, "' of the model is not in the plan");
  for (uint32_t i = 0; plan.programs() && i < plan.programs()->size(); ++i)
    if (std::string difference = compareProgram(*plan.programs()->Get(i), model); !difference.empty())
      return difference;
  return "";
}
