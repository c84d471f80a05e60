// What a worker takes by its plan, in bytes, as it is allocated.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include <cstdint>
#include <string>

namespace dgc::rt {

struct PlannedMemory {
  uint64_t variables = 0;
  uint64_t values = 0;        // of one program at a time, beside what is communicated
  uint64_t communication = 0; // the shared arena, and what the transport on one host keeps beside it
  uint64_t scratch = 0;       // the inside of library calls
  /// What the transport between hosts takes beside all that.
  uint64_t staging = 0;
  /// Of a plan for GPUs, where the above is memory of the GPU, with the constants and the inputs of runs to come among the values, and a mirror of the
  /// shared arena: the memory of the host that values are exchanged through.
  uint64_t host = 0;

  /// On one host, or on the GPU.
  uint64_t total() const { return variables + values + communication + scratch; }
};

/// What the worker would take if it ran this program alone.
PlannedMemory plannedMemory(const artifact::Plan &plan, const artifact::Program &program);

/// What a worker of the group takes (-1: any, where there are no groups): its arenas are those of the programs that
/// need most of each.
PlannedMemory plannedMemory(const artifact::Plan &plan, int32_t group);

/// A table for people: a line for each program and one for the worker, of each group.
std::string describeMemory(const artifact::Plan &plan);

} // namespace dgc::rt
