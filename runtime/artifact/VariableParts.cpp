// Names and keys of the parts of stacked variables.
#include "runtime/artifact/VariableParts.h"

#include "runtime/artifact/Mesh.h"
#include "runtime/base/Status.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::rt;

size_t dgc::rt::countStackedDims(const artifact::Variable &variable) {
  return variable.rng_strides() ? variable.rng_strides()->size() : 0;
}

uint64_t dgc::rt::countParts(const artifact::Variable &variable) {
  uint64_t parts = 1;
  for (uint32_t d = 0; d < countStackedDims(variable); ++d)
    parts *= static_cast<uint64_t>(variable.global_shape()->Get(d));
  return parts;
}

/// The pattern with an index in the place of each `*`.
static std::string nameAt(const flatbuffers::String *pattern, const std::vector<int64_t> &index) {
  std::string name;
  auto next = index.begin();
  for (char c : pattern ? pattern->string_view() : "")
    if (c == '*' && next != index.end())
      name += str(*next++);
    else
      name += c;
  return name;
}

std::vector<VariablePart> dgc::rt::partsOf(const artifact::Variable &variable) {
  const size_t stacked = countStackedDims(variable);
  const std::vector<int64_t> shape = toVector(variable.global_shape());
  const std::vector<int64_t> inner(shape.begin() + static_cast<int64_t>(stacked), shape.end());
  std::vector<VariablePart> parts(countParts(variable));
  std::vector<int64_t> index(stacked, 0);
  for (VariablePart &part : parts) {
    part = {nameAt(variable.name(), index), nameAt(variable.begins_as(), index), inner, variable.rng_id()};
    for (size_t d = 0; d < stacked; ++d)
      part.rngId += static_cast<uint64_t>(index[d]) * variable.rng_strides()->Get(static_cast<uint32_t>(d));
    for (size_t d = stacked; d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
  return parts;
}

bool dgc::rt::hasVariable(const artifact::Plan &plan, std::string_view name) {
  for (uint32_t i = 0; plan.variables() && i < plan.variables()->size(); ++i) {
    const std::vector<VariablePart> parts = partsOf(*plan.variables()->Get(i));
    if (std::any_of(parts.begin(), parts.end(), [&](const VariablePart &part) { return part.name == name; }))
      return true;
  }
  return false;
}
