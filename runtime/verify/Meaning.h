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
///
/// Formulas and constants are those of the ops of the model: gelu and its gradient as dgc.gelu, an average as the sum times
/// one over the count, rounded, as dgc.avg_pool, attention as dgc.fused_attention, whose gradient reads the logarithms of
/// the forward pass. The mask that relu keeps for its gradient (Matmul.aux) has its bits: the low one of a byte first, rows
/// of whole multiples of 128 bits; they are integers, and as exact as the comparisons that they come from.
absl::StatusOr<Meaning> meaningOf(const artifact::Program &program, const artifact::Step &step);

} // namespace dgc::verify
