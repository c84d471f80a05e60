// SIGINT and SIGTERM as a callback on an ordinary thread.
#pragma once

#include <functional>
#include <thread>

namespace dgc::rt {

/// While it lives, the first SIGINT or SIGTERM calls `stop(signal)` on its own
/// thread; the next one has its default effect, so that a second Ctrl-C ends a
/// process that does not stop. One at a time in a process.
class SignalWatcher {
public:
  explicit SignalWatcher(std::function<void(int signal)> stop);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher &) = delete;

private:
  std::thread thread;
};

} // namespace dgc::rt
