// Which bytes of the arenas may differ between the workers that run one program.
#pragma once

#include "runtime/artifact/Check.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace dgc::rt {

/// Axes of the mesh by number, as bits: a value that varies along none of them is the same on all workers.
using AxisMask = uint64_t;

/// What the bytes of an arena vary along; all axes, where nothing has written them.
class VaryingBytes {
public:
  /// All of [begin, end) vary along these axes from now on.
  void set(uint64_t begin, uint64_t end, AxisMask axes);
  /// The axes that some byte of [begin, end) varies along.
  AxisMask of(uint64_t begin, uint64_t end) const;
  /// f(begin, end, axes) for the parts of [begin, end) that vary along the same axes.
  template <typename F> void forEachPart(uint64_t begin, uint64_t end, F &&f) const {
    for (auto it = std::prev(ranges.upper_bound(begin)); it != ranges.end() && it->first < end; ++it)
      f(std::max(it->first, begin), std::next(it) == ranges.end() ? end : std::min(std::next(it)->first, end),
        it->second);
  }
  /// Each byte varies along what it does here or there. Returns whether that is more than before.
  bool join(const VaryingBytes &other);

private:
  /// Makes a range begin at `at`.
  std::map<uint64_t, AxisMask>::iterator split(uint64_t at);
  AxisMask at(uint64_t byte) const { return std::prev(ranges.upper_bound(byte))->second; }

  std::map<uint64_t, AxisMask> ranges = {{0, ~AxisMask{0}}}; // by begin; each ends where the next one begins
};

/// Proves that workers that communicate in a loop or a branch come to it equally often: what decides does not vary
/// between them. It is computed, in the same steps on all of them, from values that are whole on every worker. The
/// steps have been checked. The message names the step that makes it vary.
absl::Status checkUniform(const ProgramContext &context);

} // namespace dgc::rt
