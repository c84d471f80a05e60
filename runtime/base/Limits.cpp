// Names limits, and finds out whether they suffice.
#include "runtime/base/Limits.h"

#include "runtime/base/ExitCode.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

using namespace dgc::rt;

namespace {
struct Limit {
  int resource;
  const char *what, *flag, *unit;
  rlim_t scale; // of the unit in bytes
};
constexpr Limit openFiles{RLIMIT_NOFILE, "open files", "-n", "", 1};
constexpr Limit fileSize{RLIMIT_FSIZE, "the size of files", "-f", " kB", 1024};
constexpr Limit processes{RLIMIT_NPROC, "processes and threads", "-u", "", 1};
constexpr Limit addressSpace{RLIMIT_AS, "the address space", "-v", " kB", 1024};
constexpr Limit dataSegment{RLIMIT_DATA, "memory", "-d", " kB", 1024};
std::atomic<bool> limitIsNamed = false;
} // namespace

/// The limit in its unit; nothing where it is not set.
static std::string describe(const Limit &limit) {
  rlimit value;
  if (::getrlimit(static_cast<__rlimit_resource>(limit.resource), &value) != 0 || value.rlim_cur == RLIM_INFINITY)
    return "";
  return str("; the limit on ", limit.what, " (ulimit ", limit.flag, ") is ",
             static_cast<uint64_t>(value.rlim_cur / limit.scale), limit.unit);
}

static std::string describeBehind(int error) {
  switch (error) {
  case EMFILE:
    return describe(openFiles);
  case EFBIG:
    return describe(fileSize);
  case ENOMEM:
    return describe(addressSpace) + describe(dataSegment);
  default:
    return "";
  }
}

std::string dgc::rt::limitBehind(int error) {
  std::string text = describeBehind(error);
  if (!text.empty())
    limitIsNamed = true;
  return text;
}

bool dgc::rt::isLimitNamed() { return limitIsNamed; }

absl::Status dgc::rt::startStatus(int error, std::string_view context) {
  // A thread without room for its stack is EAGAIN too.
  std::string limits = error == EAGAIN ? describe(processes) + describe(addressSpace) : limitBehind(error);
  return withExitCode(absl::ResourceExhaustedError(str(context, ": ", std::strerror(error), limits)),
                      ExitCode::Machine);
}

// --- memory that runs out

static thread_local bool unwinds = false;
static const char *programName = "dgc";

detail::UnwindsForMemory::UnwindsForMemory() : before(std::exchange(unwinds, true)) {}
detail::UnwindsForMemory::~UnwindsForMemory() { unwinds = before; }

absl::Status detail::outOfMemory() {
  return withExitCode(absl::ResourceExhaustedError("out of memory" + limitBehind(ENOMEM)), ExitCode::Machine);
}

void dgc::rt::endForLackOfMemory() {
  rlimit space;
  char text[256];
  bool isLimited = ::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  int length = isLimited
                   ? std::snprintf(text, sizeof text,
                                   "%s: error: out of memory; the limit on the address space (ulimit -v) is %llu kB\n",
                                   programName, static_cast<unsigned long long>(space.rlim_cur / 1024))
                   : std::snprintf(text, sizeof text, "%s: error: out of memory\n", programName);
  (void)!::write(STDERR_FILENO, text, static_cast<size_t>(length));
  ::_exit(static_cast<int>(ExitCode::Machine));
}

static void onNoMemory() {
  if (unwinds)
    throw std::bad_alloc();
  endForLackOfMemory();
}

void dgc::rt::prepareForLimits(const char *program) {
  programName = program;
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit files;
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  std::set_new_handler(onNoMemory);
}

// --- what will be taken

static absl::Status checkFiles(int count) {
  std::vector<int> files;
  int error = 0;
  while (error == 0 && static_cast<int>(files.size()) < count)
    if (int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC); fd >= 0)
      files.push_back(fd);
    else
      error = errno;
  for (int fd : files)
    ::close(fd);
  return error == 0 ? absl::OkStatus() : errnoStatus(error, str("cannot open the ", count, " files that this takes"));
}

namespace {
/// Threads that wait for each other, so that all of them are there at once.
struct Waiting {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
  bool isOver = false;
};
} // namespace

static void *waitForOthers(void *data) {
  Waiting &waiting = *static_cast<Waiting *>(data);
  pthread_mutex_lock(&waiting.mutex);
  while (!waiting.isOver)
    pthread_cond_wait(&waiting.ended, &waiting.mutex);
  pthread_mutex_unlock(&waiting.mutex);
  return nullptr;
}

static absl::Status checkThreads(int count) {
  Waiting waiting;
  std::vector<pthread_t> threads(static_cast<size_t>(count));
  int started = 0, error = 0;
  while (started < count && error == 0) {
    error = pthread_create(&threads[static_cast<size_t>(started)], nullptr, waitForOthers, &waiting);
    started += error == 0;
  }
  pthread_mutex_lock(&waiting.mutex);
  waiting.isOver = true;
  pthread_cond_broadcast(&waiting.ended);
  pthread_mutex_unlock(&waiting.mutex);
  for (int i = 0; i < started; ++i)
    pthread_join(threads[static_cast<size_t>(i)], nullptr);
  return error == 0 ? absl::OkStatus()
                    : startStatus(error, str("cannot start the ", count, " threads that this takes"));
}

static absl::Status checkAddressSpace(uint64_t bytes) {
  void *memory = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return withExitCode(errnoStatus(errno, str("cannot map the ", bytes >> 20, " MiB that this takes")),
                        ExitCode::Machine);
  ::munmap(memory, bytes);
  return absl::OkStatus();
}

absl::Status dgc::rt::checkResources(const ResourceNeed &need) {
  if (need.addressSpace)
    DGC_RETURN_IF_ERROR(checkAddressSpace(need.addressSpace));
  DGC_RETURN_IF_ERROR(checkFiles(need.files));
  return checkThreads(need.threads);
}
