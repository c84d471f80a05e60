#include "test/unit/fuzz/ChildBatches.h"
#include "runtime/base/Sanitizers.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <new>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace dgc::testing {

namespace {

using Clock = std::chrono::steady_clock;

/// How often the memory of children is looked at, in milliseconds.
constexpr int watchInterval = 100;
/// What a child sends of an input that took too much memory; of others, what the work gave.
constexpr uint8_t isLarge = 255;
/// Exit codes that the work does not have: of a child that is done, and of one that was refused memory.
constexpr int codeOfDone = 97, codeOfMemory = 98;

struct Memory {
  size_t mapped = 0, resident = 0; // bytes
};

/// The memory of a process; zeros where it has ended.
Memory memoryOf(const std::string &process) {
  std::ifstream file("/proc/" + process + "/statm");
  Memory memory;
  file >> memory.mapped >> memory.resident;
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return {memory.mapped * page, memory.resident * page};
}

//===-- In the child ------------------------------------------------------===//

/// What this process takes for one input after the other.
class MemoryMeter {
public:
  explicit MemoryMeter(const WorkLimits &limits) : limits(limits) {}

  void begin() {
    std::ofstream("/proc/self/clear_refs") << 5; // forgets the peak
    const Memory memory = memoryOf("self");
    before = memory.resident;
    peakBefore = peak();
    if (rt::isSanitized) // they map much more than they use
      return;
    rlimit bound{};
    ::getrlimit(RLIMIT_AS, &bound);
    bound.rlim_cur = std::min<rlim_t>(bound.rlim_max, memory.mapped + limits.bytes);
    ::setrlimit(RLIMIT_AS, &bound);
  }

  /// Whether the input that has begun took more than the limit. Where the peak could not be forgotten, it counts once it rises.
  bool isExceeded() const {
    const size_t now = peak();
    return now > peakBefore && now > before + limits.bytes;
  }

  bool hasGrown() const { return memoryOf("self").resident > atStart + limits.growth; }

private:
  static size_t peak() {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("VmHWM:"))
        return std::stoull(line.substr(6)) << 10;
    return 0;
  }

  const WorkLimits &limits;
  const size_t atStart = memoryOf("self").resident;
  size_t before = 0, peakBefore = 0;
};

/// An exception ends the process.
[[noreturn]] void workInChild(uint32_t first, uint32_t end, const WorkLimits &limits,
                              const std::function<int(uint32_t)> &work, int pipe) noexcept {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  std::set_new_handler(endForMemory);
  MemoryMeter meter(limits);
  for (uint32_t i = first; i < end && !meter.hasGrown(); ++i) {
    meter.begin();
    uint8_t code = static_cast<uint8_t>(work(i));
    if (meter.isExceeded())
      code = isLarge;
    while (::write(pipe, &code, 1) < 0 && errno == EINTR)
      ;
  }
  ::_exit(codeOfDone);
}

//===-- In the parent -----------------------------------------------------===//

class Child {
public:
  Child(uint32_t first, uint32_t end, const WorkLimits &limits, const std::function<int(uint32_t)> &work)
      : limits(limits) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
    process = ::fork();
    if (process == 0) {
      ::close(ends[0]);
      workInChild(first, end, limits, work, ends[1]);
    }
    const int error = errno;
    ::close(ends[1]);
    pipe = ends[0];
    if (process < 0)
      throw std::system_error(error, std::generic_category(), "fork");
    ::setpgid(process, process);
  }
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;
  ~Child() { ::close(pipe); }

  /// Waits for the ends of inputs: their codes; nothing where the child has ended; or none, where one takes too long.
  std::optional<std::string> receive() {
    const auto until = Clock::now() + std::chrono::duration<double>(limits.seconds);
    while (true) {
      pollfd entry{pipe, POLLIN, 0};
      const int ready = ::poll(&entry, 1, watchInterval);
      if (ready > 0) {
        char codes[128];
        const ssize_t count = ::read(pipe, codes, sizeof codes);
        if (count >= 0)
          return std::string(codes, static_cast<size_t>(count));
      } else {
        watch();
      }
      if (Clock::now() > until)
        return std::nullopt;
    }
  }

  /// Ends the child and the processes that it has; what it ends with by itself stays.
  WorkEnd end(bool isKilled) const {
    if (isKilled)
      ::kill(-process, SIGKILL);
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR)
      ;
    if (tookTooMuch || (WIFEXITED(status) && WEXITSTATUS(status) == codeOfMemory))
      return {WorkEnd::TooLarge};
    return WIFEXITED(status) ? WorkEnd{WorkEnd::Exited, WEXITSTATUS(status)}
                             : WorkEnd{WorkEnd::Signalled, WTERMSIG(status)};
  }

private:
  /// Ends what takes so much that other programs would suffer. The processes of a reader are bounded by it, but not where a
  /// sanitizer is: then this bounds them, and the reader goes on.
  void watch() {
    const size_t most = own + limits.growth + limits.bytes;
    const std::string name = std::to_string(process);
    if (memoryOf(name).resident > most) {
      tookTooMuch = true;
      ::kill(-process, SIGKILL);
    }
    std::ifstream children("/proc/" + name + "/task/" + name + "/children");
    for (pid_t each = 0; children >> each;)
      if (memoryOf(std::to_string(each)).resident > most)
        ::kill(each, SIGKILL);
  }

  const WorkLimits &limits;
  const size_t own = memoryOf("self").resident; // what a child begins with
  pid_t process = -1;
  int pipe = -1;
  bool tookTooMuch = false;
};

} // namespace

void endForMemory() { ::_exit(codeOfMemory); }

void workInChildren(uint32_t first, uint32_t end, const WorkLimits &limits, const std::function<int(uint32_t)> &work,
                    const std::function<void(uint32_t, WorkEnd)> &report) {
  int tries = 0; // of the input that comes next
  for (uint32_t next = first; next < end;) {
    const uint32_t last = next + std::min(end - next, limits.batch);
    Child child(next, last, limits, work);
    std::optional<std::string> codes;
    while (next < last && (codes = child.receive()) && !codes->empty())
      for (const char code : *codes) {
        const auto number = static_cast<uint8_t>(code);
        tries = 0;
        report(next++, number == isLarge ? WorkEnd{WorkEnd::TooLarge} : WorkEnd{WorkEnd::Returned, number});
      }
    const bool isDone = next == last, isLate = !isDone && !codes;
    const WorkEnd how = child.end(/*isKilled=*/isDone || isLate);
    if (isDone || (how.kind == WorkEnd::Exited && how.code == codeOfDone))
      continue;
    const bool isSlow = isLate && how.kind != WorkEnd::TooLarge;
    if (isSlow && ++tries < limits.tries)
      continue;
    tries = 0;
    report(next++, isSlow ? WorkEnd{WorkEnd::TooSlow} : how);
  }
}

} // namespace dgc::testing
