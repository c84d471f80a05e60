#include "test/unit/device/cuda/FakeDriver.h"

#include "runtime/device/cuda/Peers.h"

#include <algorithm>
#include <cstring>

using namespace dgc::rt;
using namespace dgc::rt::cuda;

namespace dgc::testing {

/// Added to addresses of the host to get those of the device, which the host cannot use by mistake.
static constexpr Address kDevice = Address{1} << 62;
static constexpr size_t kGuard = 4096;
static constexpr std::byte kGuardByte{0xa5}, kFreshByte{0xcd};

FakeDriver::FakeDriver(std::shared_ptr<FakeLog> log, GpuInfo info) : log(std::move(log)), info(std::move(info)) {}

FakeDriver::~FakeDriver() {
  auto leak = [&](size_t count, const char *what) {
    if (count)
      wrong(std::to_string(count) + " " + what + " not given back");
  };
  if (peers) {
    auto lock = lockPeers();
    peers->drivers.erase(this);
    std::erase_if(peers->foreign, [&](const FakePeers::Foreign &each) { return each.by == this; });
  }
  leak(openedMemory.size(), "opened allocations");
  leak(memory.size(), "allocations");
  leak(pinned.size(), "pinned allocations");
  leak(registered.size(), "pinned ranges");
  leak(streams.size(), "streams");
  leak(events.size(), "events");
  leak(modules.size(), "modules");
  leak(graphs.size(), "graphs");
}

/// Before each call that can fail.
absl::Status FakeDriver::enter(const char *what, bool allowedInCapture) {
  if (failed)
    wrong(std::string(what) + " is called after an error");
  if (capturing && !allowedInCapture)
    wrong(std::string(what) + " is called while work is captured");
  if (untilFailure >= 0 && untilFailure-- == 0) {
    failed = true;
    return absl::InternalError(std::string(what) + ": unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED)");
  }
  return absl::OkStatus();
}

//===-- Memory ----------------------------------------------------------===//

std::byte *FakeDriver::host(Address address) const { return reinterpret_cast<std::byte *>(address - kDevice); }

Address FakeDriver::device(const std::byte *host) const { return reinterpret_cast<Address>(host) + kDevice; }

absl::StatusOr<Address> FakeDriver::allocate(uint64_t bytes) {
  if (absl::Status s = enter("allocate"); !s.ok())
    return s;
  if (log->allocatedBytes + bytes > info.totalBytes)
    return absl::ResourceExhaustedError("out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
  log->allocatedBytes += bytes;
  log->mostAllocatedBytes = std::max(log->mostAllocatedBytes, log->allocatedBytes);
  Memory block{std::vector<std::byte>(bytes + 2 * kGuard + 256, kGuardByte), bytes};
  Address begin = reinterpret_cast<Address>(block.bytes.data()) + kGuard;
  begin = (begin + 255) / 256 * 256;
  std::memset(reinterpret_cast<void *>(begin), static_cast<int>(kFreshByte), bytes);
  auto lock = lockPeers();
  memory[begin + kDevice] = std::move(block);
  return begin + kDevice;
}

/// Has anything been written around an allocation?
void FakeDriver::checkGuards(Address begin) {
  Memory &block = memory.at(begin);
  std::byte *data = host(begin), *first = block.bytes.data(), *last = first + block.bytes.size();
  auto isClean = [](std::byte b) { return b == kGuardByte; };
  if (!std::all_of(first, data, isClean) || !std::all_of(data + block.size, last, isClean)) {
    wrong("something was written outside of an allocation of " + std::to_string(block.size) + " bytes");
    std::fill(first, data, kGuardByte);
    std::fill(data + block.size, last, kGuardByte);
  }
}

void FakeDriver::release(Address address) {
  if (!memory.contains(address))
    return wrong("memory is given back that was not allocated");
  if (!queue.empty() && !failed)
    wrong("memory is given back while work is queued");
  checkGuards(address);
  log->allocatedBytes -= memory.at(address).size;
  auto lock = lockPeers();
  if (peers)
    peers->released.push_back(std::move(memory.at(address).bytes));
  memory.erase(address);
}

absl::StatusOr<std::byte *> FakeDriver::allocateHost(uint64_t bytes) {
  if (absl::Status s = enter("allocateHost"); !s.ok())
    return s;
  std::vector<std::byte> block(std::max<uint64_t>(bytes, 1), kFreshByte);
  std::byte *data = block.data();
  pinned[data] = std::move(block);
  countPinned(static_cast<int64_t>(bytes));
  return data;
}

void FakeDriver::countPinned(int64_t bytes) {
  log->pinnedBytes += static_cast<uint64_t>(bytes);
  log->mostPinnedBytes = std::max(log->mostPinnedBytes, log->pinnedBytes);
}

void FakeDriver::releaseHost(std::byte *data) {
  auto found = pinned.find(data);
  if (found == pinned.end())
    return wrong("pinned memory is given back that was not allocated");
  checkUnused(data, found->second.size());
  countPinned(-static_cast<int64_t>(found->second.size()));
  pinned.erase(found);
}

absl::Status FakeDriver::pin(std::span<std::byte> data) {
  if (absl::Status s = enter("pin"); !s.ok())
    return s;
  auto after = registered.lower_bound(data.data());
  bool overlaps = after != registered.end() && after->first < data.data() + data.size();
  overlaps |= after != registered.begin() && std::prev(after)->first + std::prev(after)->second > data.data();
  if (data.empty() || overlaps)
    wrong("memory is pinned that is empty, or pinned already");
  registered[data.data()] = data.size();
  countPinned(static_cast<int64_t>(data.size()));
  return absl::OkStatus();
}

void FakeDriver::unpin(std::span<std::byte> data) {
  auto found = registered.find(data.data());
  if (found == registered.end() || found->second != data.size())
    return wrong("memory is unpinned that was not pinned");
  checkUnused(data.data(), data.size());
  countPinned(-static_cast<int64_t>(data.size()));
  registered.erase(found);
}

/// Queued work must not find memory gone.
void FakeDriver::checkUnused(const std::byte *data, uint64_t bytes) {
  auto begin = reinterpret_cast<Address>(data);
  for (const Work &work : queue)
    for (const Access &access : work.accesses)
      if (!failed && access.begin < begin + bytes && begin < access.begin + access.bytes)
        return wrong("pinned memory is given back while " + work.name + " is queued");
}

bool FakeDriver::isPinned(const std::byte *data, uint64_t bytes) const {
  if (std::any_of(registered.begin(), registered.end(),
                  [&](const auto &entry) { return data >= entry.first && data + bytes <= entry.first + entry.second; }))
    return true;
  return std::any_of(pinned.begin(), pinned.end(), [&](const auto &entry) {
    return data >= entry.first && data + bytes <= entry.first + entry.second.size();
  });
}

//===-- Queued work -----------------------------------------------------===//

/// Does work touch what earlier work touches that need not be done by then?
void FakeDriver::checkRaces(Work &work, void *stream, StreamState &state) {
  Clock &clock = state.clock;
  merge(clock, hostClock);
  uint64_t number = ++clock[stream];
  const int64_t taken = duration ? duration(work.name) : 0;
  state.time += taken;
  log->time += taken;
  work.stream = stream;
  work.number = number;
  work.before = clock;
  work.before[stream] = number - 1;
  for (const Access &access : work.accesses) {
    if (access.bytes == 0)
      continue;
    auto lock = lockPeers();
    auto block = memory.upper_bound(access.begin);
    bool isOfHost = access.begin < kDevice; // copies look for themselves whether it is pinned
    if (!isOfHost && !isOfPeer(access) &&
        (block == memory.begin() || (--block, access.begin + access.bytes > block->first + block->second.size)))
      wrong(work.name + " touches memory outside of allocations");
    for (const PastAccess &other : past)
      if ((access.writes || other.access.writes) && access.begin < other.access.begin + other.access.bytes &&
          other.access.begin < access.begin + access.bytes && other.number > clock[other.stream])
        wrong(work.name + " does not wait for " + other.name + ", which touches the same memory on another stream");
    if (peers && !isOfHost)
      checkForeign(work, access);
    past.push_back({access, stream, number, work.name});
  }
}

absl::Status FakeDriver::enqueue(const std::string &name, Stream stream, std::vector<Access> accesses,
                                 std::function<void()> run, std::function<bool()> isReady) {
  if (absl::Status s = enter(name.c_str(), true); !s.ok())
    return s;
  if (!streams.contains(stream)) {
    wrong(name + " on a stream that there is not");
    return absl::InternalError("invalid stream");
  }
  log->calls.push_back(name);
  Work work{name, std::move(accesses), std::move(run), std::move(isReady), nullptr, 0, {}};
  if (capturing) {
    if (!streams.at(stream)->capturing)
      wrong(name + " is queued on another stream while work is captured");
    captured.nodes.push_back({Node::Do, stream, nullptr, std::move(work)});
    return absl::OkStatus();
  }
  checkRaces(work, stream, *streams.at(stream));
  queue.push_back(std::move(work));
  return absl::OkStatus();
}

absl::Status FakeDriver::copyToDevice(Address to, const std::byte *from, uint64_t bytes, Stream stream) {
  if (!isPinned(from, bytes))
    wrong("a copy to the device from memory that is not pinned");
  std::vector<std::byte> before; // a graph copies what is there when it runs
  if (!capturing)
    before.assign(from, from + bytes);
  return enqueue("copy to device", stream, {{to, bytes, true}, {reinterpret_cast<Address>(from), bytes, false}},
                 [this, to, from, bytes, before = std::move(before)] {
                   if (!before.empty() && std::memcmp(before.data(), from, bytes) != 0)
                     wrong("the host writes to memory while a copy from it is queued");
                   std::memcpy(host(to), from, bytes);
                 });
}

absl::Status FakeDriver::copyToHost(std::byte *to, Address from, uint64_t bytes, Stream stream) {
  if (!isPinned(to, bytes))
    wrong("a copy to memory of the host that is not pinned");
  return enqueue("copy to host", stream, {{from, bytes, false}, {reinterpret_cast<Address>(to), bytes, true}},
                 [this, to, from, bytes] { std::memcpy(to, host(from), bytes); });
}

absl::Status FakeDriver::copy(Address to, Address from, uint64_t bytes, Stream stream) {
  return enqueue("copy", stream, {{to, bytes, true}, {from, bytes, false}},
                 [this, to, from, bytes] { std::memmove(host(to), host(from), bytes); });
}

absl::Status FakeDriver::fill(Address to, uint32_t value, uint32_t width, uint64_t count, Stream stream) {
  return enqueue("fill", stream, {{to, width * count, true}}, [this, to, value, width, count] {
    for (uint64_t i = 0; i < count; ++i)
      std::memcpy(host(to) + i * width, &value, width);
  });
}

//===-- Kernels ---------------------------------------------------------===//

absl::StatusOr<Driver::Module> FakeDriver::loadModule(std::span<const std::byte> image) {
  if (absl::Status s = enter("loadModule"); !s.ok())
    return s;
  std::string_view text(reinterpret_cast<const char *>(image.data()), image.size() - 1);
  const char *const own[] = {peerReducePtx(), sliceKernelsPtx(), scatterKernelsPtx()};
  if (std::any_of(std::begin(own), std::end(own), [&](const char *ptx) { return ptx && text == ptx; })) {
    void *module = new char;
    modules[module] = nullptr;
    return module;
  }
  auto emulator = GpuEmulator::load({reinterpret_cast<const uint8_t *>(image.data()), image.size()});
  if (!emulator)
    return absl::InternalError("device kernel image is invalid (CUDA_ERROR_INVALID_IMAGE)");
  void *module = emulator.get();
  modules[module] = std::move(emulator);
  return module;
}

void FakeDriver::unloadModule(Module module) {
  auto found = modules.find(module);
  if (found != modules.end() && !found->second)
    delete static_cast<char *>(module);
  if (!modules.erase(module))
    wrong("a module is given back that there is not");
}

absl::StatusOr<Driver::Function> FakeDriver::findFunction(Module module, const std::string &name) {
  if (absl::Status s = enter("findFunction"); !s.ok())
    return s;
  auto &entry = functions[name];
  entry = {name, modules.at(module).get()};
  return &entry;
}

absl::Status FakeDriver::launch(Function function, uint32_t grid, uint32_t block, std::span<const Argument> args,
                                Stream stream) {
  auto &[name, emulator] = *static_cast<std::pair<std::string, GpuEmulator *> *>(function);
  ++log->launches;
  if (!emulator)
    return launchNative(name, grid, block, args, stream);
  // What of these a kernel writes is not known.
  std::vector<Access> accesses;
  std::vector<void *> pointers;
  for (auto [address, bytes] : args) {
    accesses.push_back({address, bytes, true});
    pointers.push_back(host(address));
    if (address % 64)
      wrong("an argument of " + name + " is not aligned to 64 bytes");
  }
  return enqueue(name, stream, std::move(accesses), [this, &name, emulator, grid, block, pointers] {
    if (std::string error = emulator->run(name, grid, block, pointers); !error.empty())
      wrong(error);
  });
}

} // namespace dgc::testing
