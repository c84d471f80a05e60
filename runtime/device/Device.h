// The device that runs the local actions of a program: the CPU, or one of a plug-in.
#pragma once

#include "runtime/artifact/Actions.h"
#include "runtime/artifact/KernelAbi.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/Reader.h"
#include "runtime/base/Status.h"
#include "runtime/collective/Transport.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// One action, ready to run: run() allocates no memory of its own and holds no
/// lock.
class PreparedOp {
public:
  virtual ~PreparedOp() = default;
  virtual absl::Status run(const dgc_step &step) = 0;
};

/// A buffer of a program at its address in this worker: in host memory, or in
/// the memory of the device if that has its own.
struct Operand {
  void *data = nullptr;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;

  int64_t numElements() const {
    int64_t n = 1;
    for (int64_t extent : shape)
      n *= extent;
    return n;
  }
};

/// A buffer of a device and its copy in host memory.
struct HostMirror {
  void *device = nullptr;
  std::span<std::byte> host;
};

/// What the host does between two segments of a program: it copies values from the device, as those that loops and branches
/// are decided by, and others to it. The host memory is pinned.
struct HostExchange {
  std::vector<HostMirror> toHost, toDevice;
};

struct SegmentOp {
  PreparedOp *op;
  bool communicates = false; // with the devices of other workers
};

/// A program as a device runs it: segments of ops that do not need the host, and exchanges between them.
struct ProgramParts {
  std::string_view name;
  bool trains = false;                          // the training program
  std::vector<std::vector<SegmentOp>> segments; // one at least; the first and the last one run once
  std::vector<HostExchange> exchanges;
  std::vector<HostMirror> inputs;  // are copied to the device before the first segment
  std::vector<HostMirror> outputs; // are copied to the host after the last one
};

/// A recorded program. A run is begin(), the segments in order with the exchanges between them, and submit(). Each segment
/// is launched once; those of loops and branches as often as the host decides, in the order in which they come. collect()
/// waits for the run. A run may be begun and submitted before the previous one is collected; runs are collected in
/// order. So the inputs of a run are copied to the device while the previous run computes.
class DeviceProgram {
public:
  virtual ~DeviceProgram() = default;
  /// Reads the inputs from host memory, which may change afterwards. A `timed` run measures the times of its ops; it must
  /// not begin while another run is under way.
  virtual absl::Status begin(bool timed = false) = 0;
  /// Queues a segment. It runs after those that were queued before, and after the copies to the device that were.
  virtual absl::Status launch(size_t segment) = 0;
  /// Copies the values of the exchange to the host, as the segments before leave them. When it returns these segments and
  /// all earlier copies of exchanges are complete.
  virtual absl::Status toHost(size_t exchange) = 0;
  /// Queues the copies to the device: segments that are launched later wait for them. The memory of the host must not
  /// change until the next toHost(), or collect() of the run, has returned.
  virtual absl::Status toDevice(size_t exchange) = 0;
  /// What is queued outside of segments from now on runs after the copies to the device.
  virtual absl::Status settle() = 0;
  /// Ends the run: no further segments or exchanges of it follow.
  virtual absl::Status submit() = 0;
  /// Waits for the run that was submitted first, and copies its outputs to host memory.
  virtual absl::Status collect() = 0;
  /// The times of the last launch of a segment in a timed run, when the host has waited for it, in toHost() or collect():
  /// when each of its ops began, and when the last one ended, in nanoseconds since begin().
  virtual absl::StatusOr<std::vector<int64_t>> times(size_t segment) = 0;
};

/// Communication that a device does itself, without staging through the host.
struct DeviceCommunication {
  std::unique_ptr<PreparedCollective> op; // null: the host does it
  bool isRecorded = false;                // it is a part of segments, as ops are
};

/// The memory of a device that does not work on host memory. The CPU has none.
class DeviceMemory {
public:
  virtual ~DeviceMemory() = default;
  /// Allocates the private arena or the mirror of the shared one, zeroed, or the constants. Each is called before
  /// anything is prepared. The memory lives as long as the device.
  virtual absl::StatusOr<void *> allocateArena(uint64_t bytes) = 0;
  virtual absl::StatusOr<void *> placeConstants(std::span<const std::byte> bytes) = 0;
  /// Bytes of the device that this process takes, including contexts, code and the memory of libraries, which no plan has.
  virtual absl::StatusOr<uint64_t> bytesInUse() = 0;
  /// Host memory that exchanges may use, pinned as long as the device lives: pin() existing memory, or allocate it.
  virtual absl::Status pin(std::span<std::byte> memory) = 0;
  virtual absl::StatusOr<std::span<std::byte>> allocatePinned(uint64_t bytes) = 0;
  // Copy or fill synchronously, after all work that was queued before.
  /// `write(offset, piece)` is called for one piece of pinned memory after the other, which together are `bytes`. A piece
  /// has whole elements of any type.
  using WritePiece = absl::FunctionRef<void(uint64_t offset, std::span<std::byte> piece)>;
  virtual absl::Status upload(void *to, uint64_t bytes, WritePiece write) = 0;
  absl::Status upload(void *to, std::span<const std::byte> from) {
    return upload(to, from.size(), [&](uint64_t offset, std::span<std::byte> piece) {
      std::memcpy(piece.data(), from.data() + offset, piece.size());
    });
  }
  virtual absl::Status download(std::span<std::byte> to, const void *from) = 0;
  /// `count` elements, each of this value.
  virtual absl::Status fill(void *to, DType dtype, double value, uint64_t count) = 0;
  /// Finds out, together with the devices of the other workers, which of them it reaches. Called once, after the arenas
  /// are allocated. `transport` must outlive the device; `shared` is the mirror of its arena.
  virtual absl::Status connect(Transport &transport, void *shared) = 0;
  /// After connect(). Ranges are in the mirror of the shared arena; data of transfers is anywhere on the device. Those
  /// of the other end, and of other members, are done by devices if these are.
  virtual absl::StatusOr<DeviceCommunication> prepareCollective(const CollectiveDesc &desc) = 0;
  virtual absl::StatusOr<DeviceCommunication> prepareSend(uint32_t channel, uint32_t to, void *data,
                                                          uint64_t bytes) = 0;
  virtual absl::StatusOr<DeviceCommunication> prepareReceive(uint32_t channel, uint32_t from, void *data,
                                                             uint64_t bytes) = 0;
  /// After finish(). The ops must outlive the program.
  virtual absl::StatusOr<std::unique_ptr<DeviceProgram>> record(const ProgramParts &parts) = 0;
  /// Messages for the user since the last call; mostly empty. `atEnd`: no program runs any more.
  virtual std::string notice(bool atEnd) = 0;
};

using PreparedOrStatus = absl::StatusOr<std::unique_ptr<PreparedOp>>;

/// The actions that a device runs: it overrides prepare() of those that it has. `buffers` are those of the program.
class DeviceActions {
public:
  virtual ~DeviceActions() = default;
#define DGC_LOCAL_ACTION(Type, name, kind)                                                                             \
  virtual PreparedOrStatus prepare(const artifact::Type &action, std::span<const Operand> buffers) {                   \
    return lacks(name);                                                                                                \
  }
#include "runtime/artifact/Actions.def"

  /// The kind of target that the device is for: "cpu", "cuda".
  virtual std::string_view kind() const = 0;

private:
  absl::Status lacks(std::string_view action) const {
    return absl::UnimplementedError(str("devices of the kind '", kind(), "' have no action '", action,
                                        "'; compile the model again for this target"));
  }
};

/// One per worker, used by one thread: the one that creates it.
class Device : public DeviceActions {
public:
  /// After the last prepare(): makes what all ops share. Until then none runs.
  virtual absl::Status finish() = 0;
  /// Bytes that the device holds in addition to the arenas, valid after finish().
  virtual size_t scratchBytes() const = 0;
  /// Null: the ops work on memory of the host.
  virtual DeviceMemory *memory() { return nullptr; }
};

/// The device that a plan is for, of the worker `rank`: of a plan for GPUs the CPU, where its group is on the host.
/// `threads` >= 1, of a CPU. `artifact` must outlive the device.
absl::StatusOr<std::unique_ptr<Device>> createDevice(const Artifact &artifact, int threads, int rank);

/// The same, from elsewhere.
using MakeDevice = std::function<absl::StatusOr<std::unique_ptr<Device>>(const Artifact &, int threads, int rank)>;

} // namespace dgc::rt
