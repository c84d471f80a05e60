// Starts programs in process groups of their own.
#include "tools/gpu-check/Programs.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using dgc::rt::operator""_ms;

static pid_t start(const std::vector<std::string> &words, int output) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = ::fork();
  if (pid > 0)
    ::setpgid(pid, pid);
  if (pid != 0)
    return pid;
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL); // it does not outlive this program
  ::dup2(::open("/dev/null", O_RDONLY), 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::execvp(arguments[0], arguments.data());
  const char *why = std::strerror(errno);
  [[maybe_unused]] ssize_t written = ::write(2, why, std::strlen(why));
  ::_exit(127);
}

Ended runProgram(const std::vector<std::string> &words, dgc::rt::TimeNs limit,
                 const std::function<void(pid_t, const std::string &)> &watch) {
  Ended ended;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    ended.output = std::strerror(errno);
    return ended;
  }
  dgc::rt::Clock &clock = dgc::rt::realClock();
  const dgc::rt::TimeNs deadline = clock.now() + limit;
  pid_t pid = start(words, ends[1]);
  ::close(ends[1]);
  if (pid < 0) {
    ended.output = std::strerror(errno);
    ::close(ends[0]);
    return ended;
  }
  pollfd readable{ends[0], POLLIN, 0};
  char piece[4096];
  for (;;) {
    dgc::rt::TimeNs left = deadline - clock.now();
    if (left <= 0) {
      ended.timedOut = true;
      ::kill(-pid, SIGKILL);
      break;
    }
    if (::poll(&readable, 1, static_cast<int>(left / 1_ms) + 1) <= 0)
      continue;
    ssize_t bytes = ::read(ends[0], piece, sizeof piece);
    if (bytes <= 0)
      break; // all have closed it
    ended.output.append(piece, static_cast<size_t>(bytes));
    if (watch)
      watch(pid, ended.output);
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(pid, &status, ended.timedOut ? 0 : WNOHANG) == 0) {
    if (clock.now() >= deadline) {
      ended.timedOut = true;
      ::kill(-pid, SIGKILL);
    }
    clock.sleepFor(1_ms);
  }
  ended.at = clock.now();
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

std::vector<pid_t> childrenOf(pid_t parent) {
  std::string number = std::to_string(parent);
  std::ifstream list("/proc/" + number + "/task/" + number + "/children");
  std::vector<pid_t> children;
  for (pid_t child; list >> child;)
    children.push_back(child);
  return children;
}

std::string lastLine(const std::string &text) {
  size_t end = text.find_last_not_of("\r\n ");
  if (end == std::string::npos)
    return "";
  size_t begin = text.find_last_of("\r\n", end);
  begin = begin == std::string::npos ? 0 : begin + 1;
  return text.substr(begin, end - begin + 1);
}
