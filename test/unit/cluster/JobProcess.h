// Whole jobs of real processes, for tests: started, watched and read.
#pragma once

#include "runtime/base/ExitCode.h"

#include "absl/strings/str_cat.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dgc::rt::test {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A started cluster_worker, with what it prints in a file.
class Process {
public:
  explicit Process(
      std::vector<std::string> arguments, std::vector<std::string> environment = {},
      const std::function<bool()> &enter = [] { return true; }) {
    char path[] = "/tmp/dgc-job-XXXXXX";
    out = mkstemp(path);
    unlink(path);
    arguments.insert(arguments.begin(), CLUSTER_WORKER);
    std::vector<char *> argv, envp;
    for (std::string &s : arguments)
      argv.push_back(s.data());
    argv.push_back(nullptr);
    for (std::string &s : environment)
      envp.push_back(s.data());
    envp.push_back(nullptr);
    pid = fork();
    if (pid == 0) {
      setpgid(0, 0);
      dup2(out, 1);
      dup2(out, 2);
      for (int each : {SIGINT, SIGTERM, SIGHUP}) // the test itself may have been started with them ignored
        signal(each, SIG_DFL);
      if (!enter())
        _exit(126);
      execve(argv[0], argv.data(), envp.data());
      _exit(127);
    }
  }
  ~Process() {
    if (pid > 0) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    close(out);
  }
  Process(Process &&other) noexcept : pid(std::exchange(other.pid, -1)), out(std::exchange(other.out, -1)) {}

  /// Exit code, or minus the signal; -1000 when it still runs after `seconds`.
  int wait(double seconds = 30) {
    for (double end = now() + seconds; now() < end;) {
      int status;
      if (waitpid(pid, &status, WNOHANG) == pid) {
        pid = -1;
        ended = now();
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
      }
      usleep(500);
    }
    return -1000;
  }

  std::string output() const {
    std::string text;
    char buffer[4096];
    for (off_t at = 0;;) {
      ssize_t n = pread(out, buffer, sizeof(buffer), at);
      if (n <= 0)
        return text;
      text.append(buffer, n);
      at += n;
    }
  }
  bool printed(const std::string &text, double seconds = 30) const {
    for (double end = now() + seconds; now() < end; usleep(500))
      if (output().find(text) != std::string::npos)
        return true;
    return false;
  }

  pid_t pid = -1;
  double ended = 0;

private:
  int out = -1;
};

/// The children of `parent`, by what `--rank` they were given.
inline std::map<int, pid_t> workersOf(pid_t parent) {
  std::map<int, pid_t> found;
  std::ifstream children(absl::StrCat("/proc/", parent, "/task/", parent, "/children"));
  for (pid_t child; children >> child;) {
    std::ifstream file(absl::StrCat("/proc/", child, "/cmdline"));
    std::string word, previous;
    while (std::getline(file, word, '\0')) {
      if (previous == "--rank")
        found[std::stoi(word)] = child;
      previous = word;
    }
  }
  return found;
}

/// Whether a process runs; a zombie does not.
inline bool runs(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string text;
  std::getline(file, text);
  size_t name = text.rfind(')');
  return name != std::string::npos && text[name + 2] != 'Z' && text[name + 2] != 'X';
}

inline int freePort() {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
  getsockname(fd, reinterpret_cast<sockaddr *>(&address), &length);
  close(fd);
  return ntohs(address.sin_port);
}

/// One process per entry, each with its own extra flags, at one address.
struct Member {
  int rank, worldSize;
  std::vector<std::string> more;
};
inline std::vector<Process> startMembers(const std::vector<Member> &members,
                                         const std::vector<std::string> &environment = {
                                             "DGC_JOB_SECRET=0123456789abcdef0123456789abcdef"}) {
  std::string coordinator = absl::StrCat("127.0.0.1:", freePort());
  std::vector<Process> processes;
  for (const Member &m : members) {
    std::vector<std::string> arguments = {
        "--rank", absl::StrCat(m.rank), "--world-size", absl::StrCat(m.worldSize), "--coordinator", coordinator};
    arguments.insert(arguments.end(), m.more.begin(), m.more.end());
    processes.emplace_back(arguments, environment);
  }
  return processes;
}

} // namespace dgc::rt::test
