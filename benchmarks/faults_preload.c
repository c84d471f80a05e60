// Faults that a process cannot be given from outside, for benchmarks/faults, which loads this into dgc-run with LD_PRELOAD: a wall
// clock that jumps, a disk that fails, and an end with exit code 0 at the wrong time (by the signal SIGRTMIN+7).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/// The file that $DGC_FAULTS_CONTROL names. A victim is the id of a process, 0 is all of them, -1 none.
struct Control {
  volatile int64_t clock_victim, clock_offset; ///< in ns
  volatile int64_t disk_victim, disk_errno;    ///< of files below $DGC_FAULTS_FOLDER
  volatile int64_t disk_failures;              ///< how many there were
};

static struct Control none = {-1, 0, -1, 0, 0};
static struct Control *control = &none;
static const char *folder;

static void end(int number) {
  (void)number;
  _exit(0);
}

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("DGC_FAULTS_CONTROL");
  folder = getenv("DGC_FAULTS_FOLDER");
  int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd >= 0) {
    void *memory = mmap(0, sizeof(struct Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED)
      control = memory;
    close(fd);
  }
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = end;
  sigaction(SIGRTMIN + 7, &action, 0);
}

static int is_victim(int64_t victim) { return victim == 0 || victim == getpid(); }

/// The definition behind the one here.
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int clock_gettime(clockid_t clock, struct timespec *t) {
  static __typeof__(&clock_gettime) next;
  if (!next)
    next = NEXT(clock_gettime);
  int rc = next(clock, t);
  if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) && is_victim(control->clock_victim)) {
    int64_t ns = t->tv_nsec + control->clock_offset % 1000000000;
    t->tv_sec += control->clock_offset / 1000000000 + (ns >= 1000000000) - (ns < 0);
    t->tv_nsec = ns + (ns < 0 ? 1000000000 : 0) - (ns >= 1000000000 ? 1000000000 : 0);
  }
  return rc;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
  (void)zone;
  struct timespec now;
  int rc = clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return rc;
}

time_t time(time_t *t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t)
    *t = now.tv_sec;
  return now.tv_sec;
}

/// Whether what is done with the file of this path is to fail; errno is set then.
static int fails_path(const char *path) {
  if (!control->disk_errno || !folder || !is_victim(control->disk_victim) || strncmp(path, folder, strlen(folder)) != 0)
    return 0;
  __atomic_add_fetch(&control->disk_failures, 1, __ATOMIC_RELAXED);
  errno = (int)control->disk_errno;
  return 1;
}

static int fails(int fd) {
  if (!control->disk_errno)
    return 0;
  char link[64] = "/proc/self/fd/", path[4096];
  char digits[16];
  int n = 0;
  for (int rest = fd; rest > 0 || n == 0; rest /= 10)
    digits[n++] = (char)('0' + rest % 10);
  for (size_t at = strlen(link); n > 0; link[at] = 0)
    link[at++] = digits[--n];
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0)
    return 0;
  path[length] = 0;
  return fails_path(path);
}

ssize_t write(int fd, const void *data, size_t size) { return fails(fd) ? -1 : NEXT(write)(fd, data, size); }

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return fails(fd) ? -1 : NEXT(pwrite)(fd, data, size, at); }

ssize_t writev(int fd, const struct iovec *parts, int count) { return fails(fd) ? -1 : NEXT(writev)(fd, parts, count); }

int fsync(int fd) { return fails(fd) ? -1 : NEXT(fsync)(fd); }

int rename(const char *from, const char *to) { return fails_path(to) ? -1 : NEXT(rename)(from, to); }
