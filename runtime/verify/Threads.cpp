#include "runtime/verify/Threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

void dgc::verify::inThreads(int64_t count, int threads, const std::function<void(int64_t)> &work) {
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure; // the first one
  auto run = [&] {
    try {
      for (int64_t i = next++; i < count; i = next++)
        work(i);
    } catch (...) {
      const std::scoped_lock lock(mutex);
      failure = failure ? failure : std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < std::min<int64_t>(count, threads); ++i)
    try {
      others.emplace_back(run);
    } catch (const std::system_error &) {
      break;
    }
  run();
  for (std::thread &each : others)
    each.join();
  if (failure)
    std::rethrow_exception(failure);
}
