// The signals that end a job as a callback on an ordinary thread.
#pragma once

#include "runtime/cluster/Messages.h"

#include <functional>
#include <thread>

namespace dgc::rt {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP, or SIGUSR1 where that is asked for, calls `stop(signal)` on its own thread. The same signal half a
/// second later or more has its default effect, so that a second Ctrl-C ends a process that does not stop. Signals that
/// are ignored stay ignored, as SIGHUP under nohup. For a signal that has come this holds after the end of the watcher, as
/// the process ends for it. One at a time in a process.
class SignalWatcher {
public:
  enum Which { Ending, AlsoUser1 };
  explicit SignalWatcher(std::function<void(int signal)> stop, Which which = Ending);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher &) = delete;

private:
  std::thread thread;
};

/// What a job ended by `signal` says: "interrupted (Ctrl-C)", "interrupted (SIGHUP)".
JobError interruptionError(int signal);

/// Takes back all signal handlers that libraries have installed when they were loaded: every signal has the effect that
/// it had when the program was started. For the beginning of main().
void removeHandlersOfLibraries();

} // namespace dgc::rt
