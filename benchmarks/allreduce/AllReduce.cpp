// All-reduce between two processes of this machine: the shared-memory
// transport against the same work written plainly over the same memory, in
// alternation. Prints both and their ratio.
//
// Each repetition times `batch` calls on buffers that their owners have just
// written (untimed), as gradients are.
#include "runtime/collective/Mapped.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dgc::rt;

namespace {

constexpr uint64_t kArena = 64 << 20;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void require(bool ok, const char *what) {
  if (!ok) {
    fprintf(stderr, "allreduce: %s\n", what);
    _exit(1);
  }
}

/// Two flags, each written by one process and watched by the other.
struct Flags {
  alignas(64) std::atomic<uint32_t> of[2][16];
};

/// What "written plainly" means: say that one is there, wait for the other, add
/// one half of both buffers into both, say that one is done, wait.
class Plain {
public:
  Plain(Flags &flags, int rank, float *mine, float *theirs) : flags(flags), rank(rank), mine(mine), theirs(theirs) {}

  void meet() {
    flags.of[rank][0].store(++sequence, std::memory_order_release);
    while (flags.of[1 - rank][0].load(std::memory_order_acquire) < sequence)
      __builtin_ia32_pause();
  }

  void run(size_t count) {
    meet();
    size_t begin = rank == 0 ? 0 : count / 2;
    size_t end = rank == 0 ? count / 2 : count;
    float *a = rank == 0 ? mine : theirs, *b = rank == 0 ? theirs : mine;
    add(a, b, begin, end);
    meet();
  }

private:
  // The compiler's own vectors, as wide as this machine's.
  __attribute__((target_clones("default", "avx2", "arch=x86-64-v4"))) static void
  add(float *__restrict a, float *__restrict b, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      a[i] = b[i] = a[i] + b[i];
  }

  Flags &flags;
  int rank;
  float *mine, *theirs;
  uint32_t sequence = 0;
};

struct Timing {
  std::vector<double> samples;
  double best() { return *std::min_element(samples.begin(), samples.end()); }
  double median() {
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
  }
};

} // namespace

int main() {
  auto *flags =
      static_cast<Flags *>(mmap(nullptr, sizeof(Flags), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  require(flags != MAP_FAILED, "cannot map the flags");
  // The memory that both programs work on: segments as SharedSegment has them,
  // shared by inheritance.
  TransportOptions options;
  options.sharedBytes = kArena;
  Abort abort;
  MappedJob job;
  job.layout = {2, options.channels, kArena};
  for (uint32_t r = 0; r < 2; ++r) {
    void *segment = mmap(nullptr, job.layout.totalBytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(segment != MAP_FAILED, "cannot map the segments");
    job.segments.push_back(static_cast<std::byte *>(segment));
    new (segment) SegmentHeader;
  }
  const int rank = fork() == 0;

  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(rank, &one);
  sched_setaffinity(0, sizeof(one), &one);

  auto transport = createMappedTransport("shared-memory", rank, job, options, abort);
  auto arena = [&](int of) { return reinterpret_cast<float *>(job.arena(of)); };
  float *mine = arena(rank), *other = arena(1 - rank);
  Plain plain(*flags, rank, mine, other);

  if (rank == 0)
    printf("%-10s %14s %14s %8s\n", "size", "plain, us", "dgc, us", "ratio");
  for (uint64_t bytes :
       {uint64_t{4} << 10, uint64_t{64} << 10, uint64_t{1} << 20, uint64_t{16} << 20, uint64_t{64} << 20}) {
    const size_t count = bytes / sizeof(float);
    CollectiveDesc d;
    d.group = {0, 1};
    d.srcCount = d.dstCount = count;
    auto op = transport->prepare(d);
    require(op.ok(), "cannot prepare");
    const int batch = bytes <= 65536 ? 200 : 1;
    const int repetitions = bytes <= 65536 ? 300 : bytes <= (1 << 20) ? 500 : 40;
    Timing timing[2];
    for (int i = 0; i < 2 * repetitions; ++i) {
      const bool ours = i % 2;
      for (size_t k = 0; k < count; ++k)
        mine[k] = static_cast<float>(rank);
      plain.meet();
      double start = now();
      for (int k = 0; k < batch; ++k) {
        if (ours)
          require((*op)->run().ok(), "the collective failed");
        else
          plain.run(count);
      }
      timing[ours].samples.push_back((now() - start) / batch);
      float want = batch == 1 ? 1 : mine[0]; // a batch doubles again and again
      require(mine[0] == want && mine[count - 1] == want, "wrong sum");
      plain.meet();
    }
    if (rank == 0) {
      char size[32];
      snprintf(size, sizeof(size), bytes < (1 << 20) ? "%lu KiB" : "%lu MiB",
               bytes < (1 << 20) ? bytes >> 10 : bytes >> 20);
      printf("%-10s %6.2f (%6.2f) %6.2f (%6.2f) %7.2f\n", size, timing[0].median() * 1e6, timing[0].best() * 1e6,
             timing[1].median() * 1e6, timing[1].best() * 1e6, timing[1].median() / timing[0].median());
    }
  }
  if (rank == 1)
    _exit(0);
  printf("median (best)\n");
  int status;
  wait(&status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
