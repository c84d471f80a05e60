// The handler writes the signal's number into a pipe that a thread reads.
#include "runtime/cluster/Signals.h"

#include "runtime/base/Sanitizers.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <iterator>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dgc::rt {
namespace {

std::atomic<int> writeEnd{-1};
int readEnd = -1;
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
constexpr size_t kCount = std::size(kSignals);
struct sigaction before[kCount];
bool isWatched[kCount];

/// Programs such as timeout signal the process and then its group: a signal that comes again so soon is the same one.
constexpr int64_t kRepeatNs = 500'000'000;
/// When each of kSignals has come first; 0: it has not.
std::atomic<int64_t> firstAt[kCount];

int64_t nowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

void onSignal(int signal) {
  int saved = errno;
  const size_t index = static_cast<size_t>(std::find(kSignals, kSignals + kCount, signal) - kSignals);
  const int64_t now = nowNs();
  int64_t first = 0;
  if (firstAt[index].compare_exchange_strong(first, now)) {
    char byte = static_cast<char>(signal);
    (void)!write(writeEnd.load(), &byte, 1);
  } else if (now - first >= kRepeatNs) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
    raise(signal); // comes when this handler returns
  }
  errno = saved;
}

/// The signals that were ignored when the program was started, a bit for each. Looked at before any library is
/// initialized: UCX, for one, takes SIGHUP for itself when it is loaded, whether or not nohup had it ignored.
uint64_t ignoredAtStart = 0;

/// Only system calls: not even the C library is initialized.
void lookAtSignals(int, char **, char **) {
  for (int signal = 1; signal < 32; ++signal) {
    // The kernel's own structure, which begins with the handler, has 32 bytes or fewer.
    uint64_t action[4] = {};
    if (syscall(SYS_rt_sigaction, signal, nullptr, action, 8) == 0 && action[0] == reinterpret_cast<uint64_t>(SIG_IGN))
      ignoredAtStart |= uint64_t{1} << signal;
  }
}

__attribute__((section(".preinit_array"), used)) void (*const beforeLibraries)(int, char **, char **) = lookAtSignals;

} // namespace

void removeHandlersOfLibraries() {
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction now = {}, original = {};
    if (sigaction(signal, nullptr, &now) != 0)
      continue;
    const bool isHandled = (now.sa_flags & SA_SIGINFO) || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
    const bool isFault = signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
                         signal == SIGABRT || signal == SIGTRAP;
    if (!isHandled || (isSanitized && isFault)) // whose reports are wanted
      continue;
    original.sa_handler = ignoredAtStart >> signal & 1 ? SIG_IGN : SIG_DFL;
    sigaction(signal, &original, nullptr);
  }
}

JobError interruptionError(int signal) {
  JobError e;
  e.code = absl::StatusCode::kCancelled;
  e.exitCode = ExitCode::Interrupted;
  e.message = signal == SIGINT   ? "interrupted (Ctrl-C)"
              : signal == SIGHUP ? "interrupted (SIGHUP)"
                                 : "interrupted (SIGTERM)";
  return e;
}

SignalWatcher::SignalWatcher(std::function<void(int)> stop, Which which) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return;
  readEnd = ends[0];
  writeEnd = ends[1];
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kCount; ++i) {
    firstAt[i] = 0;
    isWatched[i] = kSignals[i] != SIGUSR1 || which == AlsoUser1;
    if (!isWatched[i])
      continue;
    struct sigaction now = {};
    sigaction(kSignals[i], nullptr, &now);
    if (now.sa_handler != onSignal) // left by an earlier one
      before[i] = now;
    if (before[i].sa_handler != SIG_IGN) // as by nohup
      sigaction(kSignals[i], &action, nullptr);
  }
  thread = std::thread([stop = std::move(stop), fd = readEnd] {
    char byte;
    for (;;) {
      ssize_t n = read(fd, &byte, 1);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0 || byte == 0)
        return;
      stop(byte);
    }
  });
}

SignalWatcher::~SignalWatcher() {
  if (!thread.joinable())
    return;
  // The second of two signals that are sent at once may come only now.
  for (size_t i = 0; i < kCount; ++i)
    if (isWatched[i] && firstAt[i] == 0)
      sigaction(kSignals[i], &before[i], nullptr);
  int fd = writeEnd.exchange(-1);
  char end = 0;
  (void)!write(fd, &end, 1);
  thread.join();
  close(fd);
  close(readEnd);
}

} // namespace dgc::rt
