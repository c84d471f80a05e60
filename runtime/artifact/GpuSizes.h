// What a worker takes on a GPU that does not depend on the plan: the device allocates it, plans count it.
#pragma once

#include <cstdint>

namespace dgc::rt::gpu {

/// Variables are copied in pieces of this size through pinned memory.
inline constexpr uint64_t transferBytes = uint64_t{4} << 20;

/// What products have to work in.
inline constexpr uint64_t productWorkspaceBytes = uint64_t{32} << 20;

/// What a convolution may have to work in; engines that need more are not taken.
inline constexpr uint64_t convolutionWorkspaceBytes = uint64_t{256} << 20;

} // namespace dgc::rt::gpu
