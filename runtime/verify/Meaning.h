// What actions that are no kernels compute, as kernels of the bytecode.
#pragma once

#include "runtime/artifact/Actions.h"
#include "runtime/device/reference/Bytecode.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <vector>

namespace dgc::verify {

/// `kernel` computes from the buffers `inputs` of a program the buffers `results`, in this order. A buffer that an action
/// updates is among both.
struct Meaning {
  reference::KernelT kernel;
  std::vector<uint32_t> inputs, results;
};

/// The meaning of a local action that is no kernel call. `program` has passed the artifact check. Fails where an action has
/// something that the bytecode cannot say.
absl::StatusOr<Meaning> meaningOf(const artifact::Program &program, const artifact::Step &step);

} // namespace dgc::verify
