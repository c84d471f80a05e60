#pragma once

#include <cstdint>
#include <functional>

namespace dgc::verify {

/// Calls `work` with each number from 0 to `count` - 1, on up to `threads` threads of which the calling one is one. Where the
/// system starts no more, fewer do it. Throws what `work` throws.
void inThreads(int64_t count, int threads, const std::function<void(int64_t)> &work);

} // namespace dgc::verify
