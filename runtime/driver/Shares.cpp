// Distributes the parts of variables over the workers that hold them.
#include "runtime/driver/Shares.h"

#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/VariableParts.h"
#include "runtime/base/Shape.h"
#include "runtime/driver/State.h"

#include <algorithm>
#include <map>

using namespace dgc;
using namespace dgc::rt;

Shares::Shares(const artifact::Plan &plan) : plan(plan), load(plan.world_size()) {
  std::set<std::string> saved;
  for (const VariableSpec &spec : variableSpecs(plan))
    saved.insert(spec.name);
  for (uint32_t v = 0; plan.variables() && v < plan.variables()->size(); ++v)
    for (uint32_t number = 0; const VariablePart &part : partsOf(*plan.variables()->Get(v))) {
      if (saved.contains(part.name))
        parts.push_back({v, number, part.name});
      ++number;
    }
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const Part &a, const Part &b) { return bytesOf(a.variable) > bytesOf(b.variable); });
  for (const Part &part : parts)
    choose(part);
  std::sort(all.begin(), all.end(), [](const Given &a, const Given &b) {
    return std::tie(a.rank, a.variable, a.part) < std::tie(b.rank, b.variable, b.part);
  });
}

uint64_t Shares::bytesOf(uint32_t v) const {
  const artifact::Variable &variable = variableOf(v);
  const DType dtype = toDType(plan.variable_buffers()->Get(variable.buffer())->dtype());
  const std::optional<uint64_t> bytes = byteSize(dtype, toVector(variable.global_shape()));
  return bytes.value_or(0) / countParts(variable);
}

void Shares::choose(const Part &part) {
  const artifact::Variable &variable = variableOf(part.variable);
  uint32_t first = 0, ranks = plan.world_size();
  if (const int32_t group = variable.group(); group >= 0) {
    first = plan.groups()->Get(static_cast<uint32_t>(group))->first_rank();
    ranks = plan.groups()->Get(static_cast<uint32_t>(group))->rank_count();
  }
  std::map<std::vector<int64_t>, uint32_t> chosen; // by where the slice begins
  for (uint32_t rank = first; rank < first + ranks; ++rank) {
    const Slice slice = localSlice(plan, variable, rank);
    if (slice.numElements() == 0)
      continue;
    auto [there, isNew] = chosen.try_emplace(slice.offsets, rank);
    if (!isNew && load[rank] < load[there->second])
      there->second = rank;
  }
  for (const auto &[offsets, rank] : chosen) {
    load[rank] += bytesOf(part.variable) / chosen.size();
    givers.insert({&variable, part.name, rank});
    const DType dtype = toDType(plan.variable_buffers()->Get(variable.buffer())->dtype());
    const int64_t elements =
        localSlice(plan, variable, rank).numElements() / static_cast<int64_t>(countParts(variable));
    all.push_back({rank, part.variable, part.number, offsets, static_cast<uint64_t>(elements) * sizeOf(dtype)});
  }
}

std::vector<VariableView> dgc::rt::shareOf(const artifact::Plan &plan, const Executor &executor, uint32_t rank) {
  const Shares shares(plan);
  std::vector<VariableView> share;
  for (VariableView &view : partsOf(executor.variables()))
    if (shares.gives(rank, view.variable, view.name))
      share.push_back(std::move(view));
  return share;
}

std::span<const std::byte> dgc::rt::elementsOf(const VariableView &part, std::vector<std::byte> &copy) {
  if (part.slice.block.empty())
    return {part.memory.data(), static_cast<size_t>(part.slice.numElements()) * sizeOf(part.dtype)};
  copy = packed(part.memory.data(), part.slice, sizeOf(part.dtype));
  return copy;
}
