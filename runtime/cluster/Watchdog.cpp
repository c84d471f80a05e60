#include "runtime/cluster/Watchdog.h"
#include "runtime/base/ExitCode.h"

#include "absl/strings/str_cat.h"

#include <chrono>

#include <unistd.h>

namespace dgc::rt {

void Watchdog::arm(const absl::Status &error) {
  std::scoped_lock<std::mutex> lock(mutex);
  if (graceSeconds <= 0 || thread.joinable())
    return;
  thread = std::thread([this, error] {
    std::unique_lock<std::mutex> lock(mutex);
    auto grace = std::chrono::duration<double>(graceSeconds);
    if (changed.wait_for(lock, grace, [&] { return stopping; }))
      return;
    std::string line = absl::StrCat("dgc-run: error: ", std::string(error.message()), "\n");
    (void)!write(STDERR_FILENO, line.data(), line.size());
    _exit(static_cast<int>(exitCodeOf(error)));
  });
}

Watchdog::~Watchdog() {
  {
    std::scoped_lock<std::mutex> lock(mutex);
    stopping = true;
    changed.notify_all();
  }
  if (thread.joinable())
    thread.join();
}

} // namespace dgc::rt
