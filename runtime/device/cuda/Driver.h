// What the CUDA device needs of the driver: the real one, or one that tests watch.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace dgc::rt::cuda {

/// A position in the memory of the GPU.
using Address = uint64_t;

/// Tells a GPU, or the part of one, from all others.
using GpuId = std::array<char, 16>;

struct GpuInfo {
  std::string name;
  int major = 0, minor = 0; // compute capability: 9, 0
  uint64_t totalBytes = 0;
  GpuId id{};
  std::string busId;     // as NVML finds it by
  int driverVersion = 0; // 13000: of CUDA 13.0
};

/// What another process needs to open memory.
using SharedMemoryHandle = std::array<char, 64>;

/// What a pointer that a kernel gets points to. The real driver takes the address alone.
struct Argument {
  Address address = 0;
  uint64_t bytes = 0;
};

/// The driver with one GPU. Handles are the driver's own. Every call may report an
/// error of work that was queued before; after an error nothing may be called
/// but what gives memory and handles back.
class Driver {
public:
  using Stream = void *;
  using Event = void *;
  using Module = void *;
  using Function = void *;
  using Graph = void *; // ready to be launched

  virtual ~Driver() = default;
  virtual const GpuInfo &gpu() const = 0;
  /// Tells this process from all others on the host.
  virtual uint64_t process() const;
  /// Bytes of the GPU that this process takes, including contexts, code and the memory of libraries.
  virtual absl::StatusOr<uint64_t> bytesInUse() = 0;

  virtual absl::StatusOr<Address> allocate(uint64_t bytes) = 0;
  virtual void release(Address memory) = 0;
  /// Whether this GPU can work on the memory of that one. From now on it does on what this process has there, if it is
  /// said to have something; memory of others is opened.
  virtual absl::StatusOr<bool> reaches(const GpuId &other, bool inThisProcess) = 0;
  /// What another process opens an allocation with. Unimplemented where GPU, driver or container do not let it; the
  /// same of openShared().
  virtual absl::StatusOr<SharedMemoryHandle> share(Address memory) = 0;
  virtual absl::StatusOr<Address> openShared(const SharedMemoryHandle &handle) = 0;
  virtual void closeShared(Address memory) = 0;
  /// Pinned memory of the host.
  virtual absl::StatusOr<std::byte *> allocateHost(uint64_t bytes) = 0;
  virtual void releaseHost(std::byte *memory) = 0;
  /// Makes memory that is there pinned, until unpin().
  virtual absl::Status pin(std::span<std::byte> memory) = 0;
  virtual void unpin(std::span<std::byte> memory) = 0;

  virtual absl::StatusOr<Stream> createStream() = 0;
  virtual void destroyStream(Stream stream) = 0;
  virtual absl::Status synchronize(Stream stream) = 0;
  /// Whether all that was queued is done.
  virtual absl::StatusOr<bool> isDone(Stream stream) = 0;
  /// A `timed` event records when the GPU reached it; the others are cheaper.
  virtual absl::StatusOr<Event> createEvent(bool timed = false) = 0;
  virtual void destroyEvent(Event event) = 0;
  virtual absl::Status record(Event event, Stream stream) = 0;
  /// What is queued on `stream` from now on runs after the work that `event` marks.
  virtual absl::Status wait(Stream stream, Event event) = 0;
  /// The host waits for the work that `event` marks, and not for what was queued after it.
  virtual absl::Status await(Event event) = 0;
  /// Whether that is done.
  virtual absl::StatusOr<bool> isReached(Event event) = 0;
  /// Nanoseconds from one timed event to another; the host has waited for both.
  virtual absl::StatusOr<int64_t> elapsed(Event from, Event to) = 0;

  /// `image`: a cubin, or the text of PTX with a zero at its end.
  virtual absl::StatusOr<Module> loadModule(std::span<const std::byte> image) = 0;
  /// The same of PTX, a text that ends with 0.
  absl::StatusOr<Module> loadText(const char *ptx) {
    return loadModule(std::as_bytes(std::span(ptx, std::string_view(ptx).size() + 1)));
  }
  virtual void unloadModule(Module module) = 0;
  virtual absl::StatusOr<Function> findFunction(Module module, const std::string &name) = 0;

  // Queued work. Host memory is pinned.
  virtual absl::Status launch(Function function, uint32_t grid, uint32_t block, std::span<const Argument> args,
                              Stream stream) = 0;
  virtual absl::Status copyToDevice(Address to, const std::byte *from, uint64_t bytes, Stream stream) = 0;
  virtual absl::Status copyToHost(std::byte *to, Address from, uint64_t bytes, Stream stream) = 0;
  virtual absl::Status copy(Address to, Address from, uint64_t bytes, Stream stream) = 0;
  /// `count` elements of `width` bytes (1, 2 or 4), each with the low bytes of `value`.
  virtual absl::Status fill(Address to, uint32_t value, uint32_t width, uint64_t count, Stream stream) = 0;

  /// Until endCapture() what is queued on `stream`, and on streams that wait for
  /// it, is not run but kept.
  virtual absl::Status beginCapture(Stream stream) = 0;
  virtual absl::StatusOr<Graph> endCapture(Stream stream) = 0;
  virtual absl::Status launchGraph(Graph graph, Stream stream) = 0;
  virtual void destroyGraph(Graph graph) = 0;
};

/// The number of GPUs that are visible; 0 where there is no driver.
int countGpus();

/// The GPU of a worker, of so many.
inline int gpuOf(int rank, int count) { return rank % count; }

/// The real one, with the GPU of worker `rank`. Errors, all of ExitCode::Machine, say what was found and what is
/// needed: no driver, one that is too old, no GPU.
absl::StatusOr<std::unique_ptr<Driver>> openDriver(int rank);

} // namespace dgc::rt::cuda
