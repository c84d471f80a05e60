#include "runtime/device/cpu/ProductRate.h"

#include "runtime/base/Clock.h"
#include "runtime/device/cpu/Parallel.h"

#include <algorithm>
#include <vector>

#include <dnnl.hpp>

double dgc::rt::measureProductRate(int threads) {
  constexpr dnnl::memory::dim n = 1024;
  constexpr int runs = 4; // the first one warms up
  const int before = dgc::rt::threads();
  setThreads(threads);
  const std::vector<float> a(n * n, 1.0F), b(n * n, 0.5F);
  std::vector<float> c(n * n);
  TimeNs best = INT64_MAX;
  for (int i = 0; i < runs; ++i) {
    const TimeNs begin = realClock().now();
    if (dnnl::sgemm('N', 'N', n, n, n, 1.0F, a.data(), n, b.data(), n, 0.0F, c.data(), n) != dnnl::status::success)
      break;
    if (i > 0)
      best = std::min(best, realClock().now() - begin);
  }
  setThreads(before);
  return best == INT64_MAX ? 0 : 2.0 * n * n * n / (static_cast<double>(std::max<TimeNs>(best, 1)) * 1e-9);
}
