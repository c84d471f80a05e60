// Semantic checks of stacked variables, and of all variables together.
#include "runtime/artifact/Check.h"

#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/VariableParts.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

using namespace dgc::rt;
namespace a = dgc::artifact;

namespace {
/// No variable has more parts.
constexpr uint64_t maxParts = uint64_t{1} << 20;

/// The names of all parts of a plan take no more memory than this, each with `partBytes` for itself.
constexpr uint64_t maxPartNames = uint64_t{1} << 27;
constexpr uint64_t partBytes = 64;

absl::Status bad(const std::string &message) { return absl::InvalidArgumentError(message); }

template <typename T> uint32_t lengthOf(const flatbuffers::Vector<T> *v) { return v ? v->size() : 0; }

std::string text(const flatbuffers::String *s) { return s ? s->str() : ""; }

/// Blocks of one name are alike and have each row of the variable once.
absl::Status checkBlocks(const a::Plan &plan) {
  std::map<std::string, std::vector<const a::Variable *>> byName;
  for (uint32_t i = 0; i < lengthOf(plan.variables()); ++i)
    byName[text(plan.variables()->Get(i)->name())].push_back(plan.variables()->Get(i));
  for (auto &[name, blocks] : byName) {
    auto typeOf = [&](const a::Variable *v) { return plan.variable_buffers()->Get(v->buffer())->dtype(); };
    auto shapeOf = [](const a::Variable *v) { return toVector(v->global_shape()); };
    const a::Variable *first = blocks.front();
    if (blocks.size() == 1 && !first->row_count())
      continue;
    std::sort(blocks.begin(), blocks.end(), [](auto *x, auto *y) { return x->first_row() < y->first_row(); });
    uint64_t end = 0;
    for (const a::Variable *block : blocks) {
      bool alike = block->row_count() && typeOf(block) == typeOf(first) && shapeOf(block) == shapeOf(first) &&
                   block->role() == first->role() && block->init() == first->init() && block->a() == first->a() &&
                   block->b() == first->b() && block->rng_id() == first->rng_id() &&
                   text(block->file()) == text(first->file()) && text(block->begins_as()) == text(first->begins_as());
      if (!alike)
        return annotate(bad("a second variable of this name"), str("variable '", name, "'"));
      if (block->first_row() != end)
        return annotate(bad(str("its blocks have row ", std::min(end, block->first_row()), " never, or twice")),
                        str("variable '", name, "'"));
      end += block->row_count();
    }
    if (end != static_cast<uint64_t>(first->global_shape()->Get(0)))
      return annotate(bad(str("its blocks end at row ", end)), str("variable '", name, "'"));
  }
  return absl::OkStatus();
}

/// Variables live side by side for the whole run.
absl::Status checkVariablesDisjoint(const a::Plan &plan) {
  struct Range {
    int32_t group;
    a::Space space;
    uint64_t begin, end;
    const a::Variable *variable;
    auto operator<=>(const Range &) const = default;
  };
  std::vector<Range> ranges;
  for (uint32_t i = 0; i < lengthOf(plan.variables()); ++i) {
    const a::Variable *variable = plan.variables()->Get(i);
    const a::Buffer *b = plan.variable_buffers()->Get(variable->buffer());
    uint64_t bytes = *checkedBytes(b->shape(), b->dtype());
    if (bytes)
      ranges.push_back({variable->group(), b->space(), b->offset(), b->offset() + bytes, variable});
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].group == ranges[i - 1].group && ranges[i].space == ranges[i - 1].space &&
        ranges[i].begin < ranges[i - 1].end)
      return bad(str("variables '", text(ranges[i - 1].variable->name()), "' and '", text(ranges[i].variable->name()),
                     "' overlap in memory"));
  return absl::OkStatus();
}

/// Each part has a name that no other variable has.
absl::Status checkPartNames(const a::Plan &plan) {
  std::vector<const a::Variable *> stacked;
  std::unordered_set<std::string> names; // blocks share theirs
  for (uint32_t i = 0; i < lengthOf(plan.variables()); ++i)
    if (const a::Variable *variable = plan.variables()->Get(i); countStackedDims(*variable) > 0)
      stacked.push_back(variable);
    else
      names.insert(text(variable->name()));
  uint64_t bytes = 0;
  for (const a::Variable *variable : stacked) {
    bytes += countParts(*variable) * (partBytes + text(variable->name()).size() + text(variable->begins_as()).size());
    if (bytes > maxPartNames)
      return annotate(bad("with it, the names of the parts of stacked variables take more than 128 MiB"),
                      str("variable '", text(variable->name()), "'"));
    for (VariablePart &part : partsOf(*variable))
      if (auto [name, isNew] = names.insert(std::move(part.name)); !isNew)
        return annotate(bad(str("its part '", *name, "' is a second variable of this name")),
                        str("variable '", text(variable->name()), "'"));
  }
  return absl::OkStatus();
}
} // namespace

absl::Status dgc::rt::checkStacked(const a::Variable &variable) {
  const uint32_t stacked = lengthOf(variable.rng_strides()), rank = lengthOf(variable.global_shape());
  if (stacked == 0)
    return absl::OkStatus();
  if (stacked > rank)
    return bad(str("it is stacked along ", stacked, " dimensions, and has ", rank));
  for (const flatbuffers::String *name : {variable.name(), variable.begins_as()}) {
    const std::string pattern = text(name);
    if (const auto stars = std::count(pattern.begin(), pattern.end(), '*'); name && stars != stacked)
      return bad(str("it is stacked along ", stacked, " dimensions, and '", pattern, "' has ", stars, " of '*'"));
  }
  if (variable.row_count() || variable.first_row())
    return bad("it is stacked, and rows of it are a block");
  uint64_t parts = 1;
  for (uint32_t d = 0; d < stacked; ++d) {
    const int64_t extent = variable.global_shape()->Get(d);
    if (extent < 1)
      return bad(str("it is stacked along dimension ", d, ", of which the extent is ", extent));
    if (static_cast<uint64_t>(extent) > maxParts / parts)
      return bad(str("it is stacked of more than ", maxParts, " parts"));
    parts *= static_cast<uint64_t>(extent);
  }
  const auto *dims = variable.sharding() ? variable.sharding()->dims() : nullptr;
  for (uint32_t d = 0; d < std::min(stacked, lengthOf(dims)); ++d)
    if (lengthOf(dims->Get(d)->axes()) > 0)
      return bad(str("it is stacked along dimension ", d, ", which is cut over workers"));
  return absl::OkStatus();
}

absl::Status dgc::rt::checkVariables(const a::Plan &plan) {
  DGC_RETURN_IF_ERROR(checkBlocks(plan));
  DGC_RETURN_IF_ERROR(checkPartNames(plan));
  return checkVariablesDisjoint(plan);
}
