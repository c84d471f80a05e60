// Parallel loops on libgomp, called through its own interface: the code is
// compiled by clang, whose OpenMP would bring a second pool of threads.
#include "runtime/device/cpu/Parallel.h"

#include <algorithm>
#include <cstring>

extern "C" {
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
int omp_get_thread_num();
int omp_get_num_threads();
int omp_get_max_threads();
void omp_set_num_threads(int threads);
void omp_set_dynamic(int dynamic);
}

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define DGC_THREAD_SANITIZER
extern "C" {
void __tsan_acquire(void *address);
void __tsan_release(void *address);
}
#endif
#endif

using namespace dgc::rt;

/// What happened before a release of an address happens before what follows an acquire of it. libgomp orders threads so
/// where they begin and end a loop, but is not instrumented: the thread sanitizer does not see it.
static void release([[maybe_unused]] void *address) {
#ifdef DGC_THREAD_SANITIZER
  __tsan_release(address);
#endif
}
static void acquire([[maybe_unused]] void *address) {
#ifdef DGC_THREAD_SANITIZER
  __tsan_acquire(address);
#endif
}

void dgc::rt::setThreads(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
}

int dgc::rt::threads() { return omp_get_max_threads(); }

void dgc::rt::parallelFor(int64_t extent, void (*body)(void *, int64_t, int64_t), void *context) {
  const int64_t n = std::min<int64_t>(threads(), extent);
  if (n <= 1) {
    body(context, 0, extent);
    return;
  }
  struct Region {
    int64_t extent;
    void (*body)(void *, int64_t, int64_t);
    void *context;
  } region{extent, body, context};
  release(&region);
  GOMP_parallel(
      [](void *data) {
        acquire(data);
        const Region &r = *static_cast<Region *>(data);
        int64_t n = omp_get_num_threads(), t = omp_get_thread_num();
        int64_t begin = r.extent * t / n, end = r.extent * (t + 1) / n;
        if (begin < end)
          r.body(r.context, begin, end);
        release(data);
      },
      &region, static_cast<unsigned>(n), 0);
  acquire(&region);
}

/// Calls f(begin, end) on ranges of bytes. A thread takes no fewer than 256 KiB, which take longer than to wake it.
template <typename F> static void forRanges(size_t bytes, F f) {
  constexpr size_t unit = 256 << 10;
  parallelFor(static_cast<int64_t>((bytes + unit - 1) / unit), [&](int64_t begin, int64_t end) {
    f(static_cast<size_t>(begin) * unit, std::min(static_cast<size_t>(end) * unit, bytes));
  });
}

void dgc::rt::copyBytes(void *dst, const void *src, size_t bytes) {
  forRanges(bytes, [=](size_t begin, size_t end) {
    std::memcpy(static_cast<char *>(dst) + begin, static_cast<const char *>(src) + begin, end - begin);
  });
}

void dgc::rt::zeroBytes(void *dst, size_t bytes) {
  forRanges(bytes, [=](size_t begin, size_t end) { std::memset(static_cast<char *>(dst) + begin, 0, end - begin); });
}
