// The handler writes the signal's number into a pipe that a thread reads.
#include "runtime/cluster/Signals.h"

#include <atomic>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <unistd.h>

namespace dgc::rt {
namespace {

std::atomic<int> writeEnd{-1};
int readEnd = -1;
struct sigaction before[2];
constexpr int kSignals[2] = {SIGINT, SIGTERM};

void onSignal(int signal) {
  int saved = errno;
  char byte = static_cast<char>(signal);
  (void)!write(writeEnd.load(), &byte, 1);
  errno = saved;
}

} // namespace

SignalWatcher::SignalWatcher(std::function<void(int)> stop) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return;
  readEnd = ends[0];
  writeEnd = ends[1];
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 2; ++i)
    sigaction(kSignals[i], &action, &before[i]);
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
  for (int i = 0; i < 2; ++i)
    sigaction(kSignals[i], &before[i], nullptr);
  int fd = writeEnd.exchange(-1);
  char end = 0;
  (void)!write(fd, &end, 1);
  thread.join();
  close(fd);
  close(readEnd);
}

} // namespace dgc::rt
