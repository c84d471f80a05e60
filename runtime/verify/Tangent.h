// Forward-mode differentiation of the bytecode.
#pragma once

#include "runtime/device/reference/Bytecode.h"

#include "absl/status/statusor.h"

#include <vector>

namespace dgc::verify {

/// Of which inputs there are tangents, and which results get one: floating-point buffers, in the order of the kernel.
struct Tangents {
  std::vector<uint32_t> inputs, results; // numbers of inputs, and of results counted from 0
};

/// The kernel with one more input for each of `tangents.inputs`, behind its own, and one more result for each of
/// `tangents.results`, the derivative of that in the direction of the inputs. Fails where an instruction on the way has no
/// derivative here.
///
/// The derivative is that of the formulas in the bytecode. Of equal operands of a maximum or minimum one has it: what is equal
/// as a polynomial has the same tangent. Roundings to integers have none.
absl::StatusOr<reference::KernelT> withTangents(const reference::KernelT &kernel, const Tangents &tangents);

} // namespace dgc::verify
