// Worker threads: the pool of libgomp, which oneDNN uses too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace dgc::rt {

/// Threads that the calling thread has for parallelFor and for oneDNN; set once
/// per worker, before primitives are made.
void setThreads(int threads);
int threads();

/// At most `most` threads for the calling thread while this exists.
class ThreadLimit {
public:
  explicit ThreadLimit(int most) : before(threads()) { setThreads(most < before ? most : before); }
  ~ThreadLimit() { setThreads(before); }
  ThreadLimit(const ThreadLimit &) = delete;
  ThreadLimit &operator=(const ThreadLimit &) = delete;

private:
  int before;
};

/// One thread for the calling thread while this exists: primitives of oneDNN that are made then, and run then, add up
/// in an order that does not depend on the number of threads.
class OneThread : ThreadLimit {
public:
  OneThread() : ThreadLimit(1) {}
};

/// Calls body(context, begin, end) on disjoint ranges that cover [0, extent),
/// at most one range for each thread. On one thread it is a plain call.
void parallelFor(int64_t extent, void (*body)(void *, int64_t, int64_t), void *context);

template <typename F> void parallelFor(int64_t extent, F &&f) {
  parallelFor(
      extent,
      [](void *context, int64_t begin, int64_t end) {
        (*static_cast<std::remove_reference_t<F> *>(context))(begin, end);
      },
      &f);
}

/// Copies bytes, or sets them to 0, as std::memcpy and std::memset do: on all threads where there are many.
void copyBytes(void *dst, const void *src, size_t bytes);
void zeroBytes(void *dst, size_t bytes);

} // namespace dgc::rt
