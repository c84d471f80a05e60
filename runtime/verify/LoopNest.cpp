#include "runtime/verify/LoopNest.h"

#include <algorithm>
#include <cstdlib>

using namespace dgc;
using namespace dgc::verify;
using reference::Opcode;

static LoopAccess decoded(const reference::Access &access) {
  LoopAccess result{access.buffer(), access.offset(), {}};
  if (access.strides())
    result.strides.assign(access.strides()->begin(), access.strides()->end());
  return result;
}

LoopNest::LoopNest(const reference::Nest &nest) {
  if (nest.extents())
    extents.assign(nest.extents()->begin(), nest.extents()->end());
  first.resize(extents.size());
  for (uint32_t i = 0; i < extents.size(); ++i)
    reduces.push_back(nest.reduces()->Get(i));
  if (nest.loads())
    for (const reference::Access *access : *nest.loads())
      loads.push_back(decoded(*access));
  if (nest.outputs())
    for (const reference::Output *output : *nest.outputs())
      outputs.push_back(decoded(*output->access()));
  std::vector<bool> isIndexed(extents.size());
  for (uint32_t i = 0; nest.body() && i < nest.body()->size(); ++i)
    if (const reference::Instruction &op = *nest.body()->Get(i); static_cast<Opcode>(op.opcode()) == Opcode::Index)
      isIndexed[op.a()] = true;
  merge(std::move(isIndexed));
}

/// Whether every access goes on from the end of the next loop with the next index of this one.
bool LoopNest::canMerge(size_t loop) const {
  auto goesOn = [&](const LoopAccess &access) {
    return access.strides[loop] == access.strides[loop + 1] * extents[loop + 1];
  };
  return reduces[loop] == reduces[loop + 1] && std::all_of(loads.begin(), loads.end(), goesOn) &&
         std::all_of(outputs.begin(), outputs.end(), goesOn);
}

void LoopNest::remove(size_t loop) {
  const auto at = static_cast<ptrdiff_t>(loop);
  extents.erase(extents.begin() + at);
  first.erase(first.begin() + at);
  reduces.erase(reduces.begin() + at);
  for (std::vector<LoopAccess> *accesses : {&loads, &outputs})
    for (LoopAccess &access : *accesses)
      access.strides.erase(access.strides.begin() + at);
  for (size_t &each : loopOf)
    each -= each > loop;
}

void LoopNest::merge(std::vector<bool> isIndexed) {
  for (size_t i = 0; i < extents.size(); ++i)
    loopOf.push_back(i);
  for (size_t i = extents.size(); i-- > 0;)
    if (extents[i] == 1 && !isIndexed[i]) {
      remove(i);
      isIndexed.erase(isIndexed.begin() + static_cast<ptrdiff_t>(i));
    }
  for (size_t i = extents.size(); i-- > 1;)
    if (!isIndexed[i - 1] && !isIndexed[i] && canMerge(i - 1)) {
      extents[i] *= extents[i - 1];
      remove(i - 1);
    }
}

bool LoopNest::isEmpty() const { return std::find(extents.begin(), extents.end(), 0) != extents.end(); }

LoopNest LoopNest::part(size_t loop, int64_t begin, int64_t end) const {
  LoopNest result = *this;
  result.extents[loop] = end - begin;
  result.first[loop] += begin;
  for (std::vector<LoopAccess> *accesses : {&result.loads, &result.outputs})
    for (LoopAccess &access : *accesses)
      access.offset += begin * access.strides[loop];
  return result;
}

bool LoopNest::isInjective(const LoopAccess &output) const {
  std::vector<std::pair<int64_t, int64_t>> loops; // strides and extents
  for (size_t i = 0; i < extents.size(); ++i)
    if (!reduces[i] && extents[i] > 1)
      loops.emplace_back(std::abs(output.strides[i]), extents[i]);
  std::sort(loops.begin(), loops.end());
  int64_t reached = 0; // the largest distance of the loops so far
  for (auto [stride, extent] : loops) {
    if (stride <= reached)
      return false;
    reached += stride * (extent - 1);
  }
  return true;
}

bool LoopNest::covers(const LoopAccess &output, uint64_t count) const {
  std::vector<std::pair<int64_t, int64_t>> loops; // strides and extents
  for (size_t i = 0; i < extents.size(); ++i)
    if (output.strides[i] != 0 && extents[i] > 1)
      loops.emplace_back(output.strides[i], extents[i]);
  std::sort(loops.begin(), loops.end());
  int64_t written = 1;
  for (auto [stride, extent] : loops) {
    if (stride != written)
      return false;
    written *= extent;
  }
  return output.offset == 0 && !isEmpty() && static_cast<uint64_t>(written) == count;
}

double LoopNest::iterations(bool reducing) const {
  double result = 1;
  for (size_t i = 0; i < extents.size(); ++i)
    if (reduces[i] == reducing)
      result *= static_cast<double>(extents[i]);
  return result;
}

bool dgc::verify::isParallel(const NestContext &context, const LoopNest &loops) {
  for (size_t i = 0; i < loops.outputs.size(); ++i) {
    const uint32_t buffer = loops.outputs[i].buffer;
    auto isSame = [&](const LoopAccess &access) { return access.buffer == buffer; };
    if (!loops.isInjective(loops.outputs[i]) ||
        std::any_of(loops.outputs.begin(), loops.outputs.begin() + static_cast<ptrdiff_t>(i), isSame) ||
        std::any_of(loops.loads.begin(), loops.loads.end(), isSame))
      return false;
    if (context.nest.body())
      for (const reference::Instruction *op : *context.nest.body())
        if (static_cast<Opcode>(op->opcode()) == Opcode::LoadAt && op->a() == buffer)
          return false;
  }
  return true;
}
