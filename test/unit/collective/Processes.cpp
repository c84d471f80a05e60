#include "Processes.h"

#include <csignal>
#include <cstdint>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dgc::rt::test {
namespace {

bool transfer(bool sending, int fd, char *data, size_t size) {
  while (size) {
    ssize_t n = sending ? send(fd, data, size, MSG_NOSIGNAL) : recv(fd, data, size, 0);
    if (n <= 0)
      return false;
    data += n;
    size -= n;
  }
  return true;
}

// A message is a kind ('x': exchange, 'r': result), a length and bytes.
bool put(int fd, char kind, std::string bytes) {
  uint32_t size = bytes.size();
  return transfer(true, fd, &kind, 1) && transfer(true, fd, reinterpret_cast<char *>(&size), 4) &&
         transfer(true, fd, bytes.data(), size);
}
bool get(int fd, char &kind, std::string &bytes) {
  uint32_t size;
  if (!transfer(false, fd, &kind, 1) || !transfer(false, fd, reinterpret_cast<char *>(&size), 4))
    return false;
  bytes.resize(size);
  return transfer(false, fd, bytes.data(), size);
}

} // namespace

std::vector<std::string> forkRanks(int worldSize, const std::function<std::string(int rank, const Exchange &)> &body) {
  std::vector<int> ends;
  std::vector<pid_t> children;
  pid_t parent = getpid();
  for (int r = 0; r < worldSize; ++r) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
      abort();
    pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent)
        _exit(1);
      for (int fd : ends)
        close(fd);
      close(pair[0]);
      Exchange exchange = [&](const std::string &mine) {
        std::vector<std::string> all(worldSize);
        char kind;
        put(pair[1], 'x', mine);
        for (std::string &s : all)
          if (!get(pair[1], kind, s))
            _exit(3);
        return all;
      };
      put(pair[1], 'r', body(r, exchange));
      _exit(0);
    }
    close(pair[1]);
    ends.push_back(pair[0]);
    children.push_back(child);
  }

  std::vector<std::string> results(worldSize, "error: died"), offered(worldSize);
  std::vector<bool> open(worldSize, true), waiting(worldSize, false);
  for (int live = worldSize; live;) {
    std::vector<pollfd> fds;
    for (int r = 0; r < worldSize; ++r)
      fds.push_back({open[r] ? ends[r] : -1, POLLIN, 0});
    poll(fds.data(), fds.size(), -1);
    int ready = 0;
    for (int r = 0; r < worldSize; ++r) {
      if (open[r] && fds[r].revents) {
        char kind;
        std::string bytes;
        if (!get(ends[r], kind, bytes) || kind == 'r') {
          if (!bytes.empty() || kind == 'r')
            results[r] = bytes;
          open[r] = false;
          --live;
        } else {
          offered[r] = bytes;
          waiting[r] = true;
        }
      }
      ready += waiting[r] || !open[r];
    }
    // An exchange is complete when everyone who still runs has come.
    if (ready == worldSize) {
      for (int r = 0; r < worldSize; ++r)
        if (waiting[r]) {
          for (const std::string &s : offered)
            put(ends[r], 'x', s);
          waiting[r] = false;
        }
    }
  }
  for (int r = 0; r < worldSize; ++r) {
    close(ends[r]);
    waitpid(children[r], nullptr, 0);
  }
  return results;
}

} // namespace dgc::rt::test
