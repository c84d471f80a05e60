// Sizes of memory that do not depend on the plan.
#pragma once

#include <cstdint>

namespace dgc::rt::cuda {

/// Variables are copied in pieces of this size through pinned memory.
inline constexpr uint64_t transferBytes = uint64_t{4} << 20;

/// What products have to work in.
inline constexpr uint64_t productWorkspaceBytes = uint64_t{32} << 20;

} // namespace dgc::rt::cuda
