// What a worker takes on a GPU that does not depend on the plan: the device allocates it, plans count it.
#pragma once

#include <cstdint>

namespace dgc::rt::gpu {

/// Variables are copied in pieces of this size through pinned memory.
inline constexpr uint64_t transferBytes = uint64_t{4} << 20;

/// What products have to work in.
inline constexpr uint64_t productWorkspaceBytes = uint64_t{32} << 20;

/// What a convolution with so many bytes of operands may have to work in; engines that need more are not taken.
constexpr uint64_t convolutionWorkspaceBytes(uint64_t operandBytes) {
  constexpr uint64_t most = uint64_t{256} << 20, least = uint64_t{4} << 20;
  return operandBytes > most ? most : 2 * operandBytes + least < most ? 2 * operandBytes + least : most;
}

} // namespace dgc::rt::gpu
