#include "test/unit/support/GpuEmulator.h"

#include <algorithm>
#include <cstdio>
#include <dlfcn.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

constexpr size_t kWarp = 32, kStackBytes = 64 << 10;

enum class State { Ready, Shuffle, Ballot, WarpBarrier, Barrier, Done };

/// Where a stack continues, for __builtin_setjmp: swapcontext saves the signal mask as well, by two system calls.
using Continuation = void *[5];
[[noreturn, gnu::noinline]] void jumpTo(void **continuation) { __builtin_longjmp(continuation, 1); }
/// Continues at `to`; returns when something jumps to `from`.
[[gnu::noinline]] void switchTo(void **from, void **to) {
  if (__builtin_setjmp(from) == 0)
    jumpTo(to);
}

/// A thread of the block that runs, and then the thread of the same number of the next block, on the same stack.
struct Fiber {
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStackBytes);
  bool started = false; // `saved` is in a kernel, or between two
  Continuation saved;
  State state = State::Done;
  const void *place = nullptr; // of the call at which it waits
  uint32_t value = 0, mask = 0;
};

class Block {
public:
  using Entry = void (*)(void *const *);

  std::string run(Entry entry, void *const *args, uint32_t number, uint32_t threads, bool backward);
  /// What a thread calls where it meets others; returns the value that it gets.
  uint32_t meet(State state, const void *place, uint32_t value = 0, uint32_t mask = 0) {
    Fiber &fiber = *fibers[current];
    fiber.state = state;
    fiber.place = place;
    fiber.value = value;
    fiber.mask = mask;
    switchTo(fiber.saved, scheduler);
    return fiber.value;
  }
  uint32_t thread() const { return static_cast<uint32_t>(current); }
  uint32_t number = 0;

private:
  static void threadMain();
  void resume(Fiber &fiber);
  std::string release(size_t threads);
  std::string releaseWarp(size_t first);

  std::vector<std::unique_ptr<Fiber>> fibers;
  Continuation scheduler;
  size_t current = 0;
  Entry entry = nullptr;
  void *const *args = nullptr;
};

thread_local Block *running = nullptr;

void Block::threadMain() {
  Block *block = running;
  for (Fiber &fiber = *block->fibers[block->current];;) {
    block->entry(block->args);
    fiber.state = State::Done;
    switchTo(fiber.saved, block->scheduler);
  }
}

/// Runs a thread up to the next place where it meets others, or to its end.
[[gnu::noinline]] void Block::resume(Fiber &fiber) {
  if (fiber.started)
    return switchTo(scheduler, fiber.saved);
  fiber.started = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack = {fiber.stack.get(), 0, kStackBytes};
  context.uc_link = nullptr;
  makecontext(&context, threadMain, 0);
  if (__builtin_setjmp(scheduler) == 0)
    setcontext(&context);
}

/// Lets the threads of a warp go on that all wait for each other.
std::string Block::releaseWarp(size_t first) {
  Fiber &leader = *fibers[first];
  auto meetsWarp = [](State state) {
    return state == State::Shuffle || state == State::Ballot || state == State::WarpBarrier;
  };
  if (!meetsWarp(leader.state)) {
    for (size_t i = first; i < first + kWarp; ++i)
      if (meetsWarp(fibers[i]->state))
        return "threads of a warp do not all take part in a shuffle, ballot or barrier of the warp";
    return "";
  }
  uint32_t values[kWarp], ballot = 0;
  for (size_t i = 0; i < kWarp; ++i) {
    Fiber &fiber = *fibers[first + i];
    if (fiber.state != leader.state || fiber.place != leader.place || fiber.mask != leader.mask)
      return "threads of a warp meet at different places";
    values[i] = fiber.value;
    ballot |= uint32_t(fiber.value != 0) << i;
  }
  for (size_t i = 0; i < kWarp; ++i) {
    Fiber &fiber = *fibers[first + i];
    if (fiber.state == State::Shuffle)
      fiber.value = values[i ^ fiber.mask];
    else if (fiber.state == State::Ballot)
      fiber.value = ballot;
    fiber.state = State::Ready;
  }
  return "";
}

/// Lets those threads go on whose partners are there. Without effect when all are done.
std::string Block::release(size_t threads) {
  for (size_t warp = 0; warp < threads; warp += kWarp)
    if (std::string error = releaseWarp(warp); !error.empty())
      return error;
  auto in = [&](State state) {
    return std::count_if(fibers.begin(), fibers.begin() + static_cast<long>(threads),
                         [&](const auto &fiber) { return fiber->state == state; });
  };
  if (in(State::Ready) || in(State::Barrier) == 0)
    return "";
  for (size_t i = 0; i < threads; ++i)
    if (fibers[i]->state != State::Barrier || fibers[i]->place != fibers[0]->place)
      return "threads of a block do not all meet at the same barrier";
  for (size_t i = 0; i < threads; ++i)
    fibers[i]->state = State::Ready;
  return "";
}

std::string Block::run(Entry theEntry, void *const *theArgs, uint32_t theNumber, uint32_t threads, bool backward) {
  entry = theEntry;
  args = theArgs;
  number = theNumber;
  if (threads % kWarp != 0)
    return "a block is not of whole warps";
  while (fibers.size() < threads)
    fibers.push_back(std::make_unique<Fiber>());
  for (size_t i = 0; i < threads; ++i) {
    Fiber &fiber = *fibers[i];
    fiber.started = fiber.started && fiber.state == State::Done; // not in the midst of a kernel that failed
    fiber.state = State::Ready;
  }
  running = this;
  for (bool any = true; any;) {
    any = false;
    for (size_t turn = 0; turn < threads; ++turn) {
      current = backward ? threads - 1 - turn : turn;
      if (fibers[current]->state != State::Ready)
        continue;
      any = true;
      resume(*fibers[current]);
    }
    if (std::string error = release(threads); !error.empty())
      return error;
  }
  for (size_t i = 0; i < threads; ++i)
    if (fibers[i]->state != State::Done)
      return "threads wait for ever";
  return "";
}

} // namespace

extern "C" {
uint32_t dgc_gpu_thread() { return running->thread(); }
uint32_t dgc_gpu_block() { return running->number; }
void dgc_gpu_barrier() { running->meet(State::Barrier, __builtin_return_address(0)); }
void dgc_gpu_warp_barrier() { running->meet(State::WarpBarrier, __builtin_return_address(0)); }
uint32_t dgc_gpu_ballot(uint32_t value) { return running->meet(State::Ballot, __builtin_return_address(0), value); }
uint32_t dgc_gpu_shuffle_xor(uint32_t value, uint32_t mask) {
  return running->meet(State::Shuffle, __builtin_return_address(0), value, mask);
}
}

namespace dgc::testing {

std::unique_ptr<GpuEmulator> GpuEmulator::load(std::span<const uint8_t> object) {
  if (object.empty()) // kernels without work
    return std::unique_ptr<GpuEmulator>(new GpuEmulator(-1, nullptr));
  int descriptor = memfd_create("grids", 0);
  if (write(descriptor, object.data(), object.size()) != static_cast<ssize_t>(object.size()))
    return nullptr;
  std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    close(descriptor);
    return nullptr;
  }
  return std::unique_ptr<GpuEmulator>(new GpuEmulator(descriptor, library));
}

GpuEmulator::~GpuEmulator() {
  if (library)
    dlclose(library);
  if (descriptor >= 0)
    close(descriptor);
}

std::string GpuEmulator::run(const std::string &symbol, uint32_t grid, uint32_t block, std::span<void *const> args,
                             Order order) {
  auto entry = reinterpret_cast<Block::Entry>(dlsym(library, (symbol + "_emulated").c_str()));
  if (!entry)
    return "no kernel " + symbol;
  static thread_local Block state; // its stacks are used again
  for (uint32_t i = 0; i < grid; ++i) {
    uint32_t number = order == Order::Backward ? grid - 1 - i : i;
    if (std::string error = state.run(entry, args.data(), number, block, order == Order::Backward); !error.empty())
      return symbol + ", block " + std::to_string(number) + ": " + error;
  }
  return "";
}

} // namespace dgc::testing
