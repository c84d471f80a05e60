// Fake GPUs that see each other's memory.
#include "test/unit/device/cuda/FakeDriver.h"

#include "runtime/device/cuda/Peers.h"
#include "runtime/device/cuda/ScatterKernels.h"
#include "runtime/device/cuda/SliceKernels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

using namespace dgc::rt;
using namespace dgc::rt::cuda;

namespace dgc::testing {

void FakeDriver::join(std::shared_ptr<FakePeers> all) {
  peers = std::move(all);
  auto lock = lockPeers();
  peers->drivers.insert(this);
}

absl::StatusOr<bool> FakeDriver::reaches(const GpuId &, bool) {
  if (absl::Status s = enter("reaches"); !s.ok())
    return s;
  return peers != nullptr;
}

absl::StatusOr<SharedMemoryHandle> FakeDriver::share(Address address) {
  if (absl::Status s = enter("share"); !s.ok())
    return s;
  if (!peers || peers->refusesToShare)
    return absl::UnimplementedError("operation not supported (CUDA_ERROR_NOT_SUPPORTED)");
  if (!memory.contains(address))
    wrong("memory is shared that was not allocated");
  SharedMemoryHandle handle{};
  std::memcpy(handle.data(), &address, sizeof address);
  return handle;
}

absl::StatusOr<Address> FakeDriver::openShared(const SharedMemoryHandle &handle) {
  if (absl::Status s = enter("openShared"); !s.ok())
    return s;
  if (peers->refusesToOpen)
    return absl::UnimplementedError("mapping of buffer object failed (CUDA_ERROR_MAP_FAILED)");
  Address address = 0;
  std::memcpy(&address, handle.data(), sizeof address);
  if (openedMemory.contains(address) || memory.contains(address))
    wrong("memory is opened twice, or is that of this worker");
  openedMemory.insert(address);
  auto lock = lockPeers();
  ++peers->opened;
  return address;
}

void FakeDriver::closeShared(Address address) {
  if (openedMemory.erase(address) == 0)
    wrong("memory is closed that was not opened");
}

/// Whether another driver has it; the lock is held.
bool FakeDriver::isOfPeer(const Access &access) const {
  if (!peers)
    return false;
  for (const FakeDriver *other : peers->drivers)
    for (const auto &[begin, block] : other->memory)
      if (other != this && begin <= access.begin && access.begin + access.bytes <= begin + block.size)
        return true;
  // Of one that has failed: the driver keeps what is open elsewhere.
  return std::any_of(peers->released.begin(), peers->released.end(), [&](const std::vector<std::byte> &block) {
    Address begin = device(block.data());
    return begin <= access.begin && access.begin + access.bytes <= begin + block.size();
  });
}

/// Is another GPU at work there? The lock is held.
void FakeDriver::checkForeign(const Work &work, const Access &access) {
  auto meets = [&](Address begin, uint64_t bytes, bool writes) {
    return (access.writes || writes) && access.begin < begin + bytes && begin < access.begin + access.bytes;
  };
  for (const FakePeers::Foreign &other : peers->foreign)
    if (other.by != this && meets(other.begin, other.bytes, other.writes))
      wrong(work.name + " does not wait for " + other.name + " of another GPU");
  for (const FakeDriver *owner : peers->drivers)
    for (const PastAccess &other : owner->past)
      if (owner != this && meets(other.access.begin, other.access.bytes, other.access.writes))
        wrong(work.name + " does not wait for " + other.name + " of another GPU");
  if (isOfPeer(access))
    peers->foreign.push_back({access.begin, access.bytes, access.writes, this, work.stream, work.number, work.name});
}

/// A kernel of SliceKernels.cpp.
absl::Status FakeDriver::launchSlice(const SliceKernel &kernel, std::span<const Argument> args, Stream stream) {
  std::array<uint64_t, 10> values{};
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = args[i].address;
  const auto [dst, update, start, width, isSigned, last, outer, part, whole, inner] = values;
  const auto unit = static_cast<uint64_t>(std::stoi(std::string(kernel.name).substr(std::strlen("dgc_update_slice_"))));
  if (dst % unit || update % unit)
    wrong("memory that is not aligned is written " + std::to_string(unit) + " bytes at a time");
  for (size_t i = 0; i < 3; ++i)
    values[i] = reinterpret_cast<uint64_t>(host(values[i]));
  return enqueue(kernel.name, stream,
                 {{dst, outer * whole * unit, true}, {update, outer * part * unit, false}, {start, width, false}},
                 [&kernel, values] { std::apply(kernel.run, values); });
}

/// A kernel of ScatterKernels.cpp. What of its arguments it writes is not known.
absl::Status FakeDriver::launchScatter(const ScatterKernel &kernel, uint32_t grid, uint32_t block,
                                       std::span<const Argument> args, Stream stream) {
  if (grid == 0 || block != kernel.block)
    wrong(std::string(kernel.name) + " has " + std::to_string(grid) + " blocks of " + std::to_string(block) +
          " threads");
  std::vector<uint64_t> values;
  std::vector<Access> accesses;
  for (auto [address, bytes] : args) {
    values.push_back(bytes ? reinterpret_cast<uint64_t>(host(address)) : address);
    if (bytes)
      accesses.push_back({address, bytes, true});
  }
  return enqueue(kernel.name, stream, std::move(accesses),
                 [&kernel, values, backwards = runsBackwards] { kernel.run(values.data(), backwards); });
}

/// A kernel of PeerReduce.cpp, whose table says what it touches, or one of the others.
absl::Status FakeDriver::launchNative(const std::string &name, uint32_t grid, uint32_t block,
                                      std::span<const Argument> args, Stream stream) {
  for (const SliceKernel *each = sliceKernels; each->name; ++each)
    if (each->name == name)
      return launchSlice(*each, args, stream);
  for (const ScatterKernel *each = scatterKernels; each->name; ++each)
    if (each->name == name)
      return launchScatter(*each, grid, block, args, stream);
  const PeerKernel *kernel = peerKernels;
  while (kernel->name && kernel->name != name)
    ++kernel;
  if (!kernel->name)
    return absl::NotFoundError("named symbol not found (CUDA_ERROR_NOT_FOUND)");
  const uint64_t srcs = args[1].address, dsts = args[2].address, count = args[3].address, packets = args[4].address;
  const auto *table = reinterpret_cast<const uint64_t *>(host(args[0].address));
  std::vector<Access> accesses{{args[0].address, (srcs + dsts) * sizeof(uint64_t), false}};
  std::vector<uint64_t> onHost;
  for (uint64_t i = 0; i < srcs + dsts; ++i) {
    accesses.push_back({table[i], count * kernel->elementSize, i >= srcs});
    onHost.push_back(reinterpret_cast<uint64_t>(host(table[i])));
    if (packets && table[i] % 16)
      wrong("memory that is not aligned is reduced 16 bytes at a time");
  }
  return enqueue(name, stream, std::move(accesses), [=] { kernel->run(onHost.data(), srcs, dsts, count, packets); });
}

} // namespace dgc::testing
