// What runs the local actions of a program: the CPU, or a device of a plug-in.
#pragma once

#include "runtime/artifact/KernelAbi.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/Reader.h"
#include "runtime/collective/Transport.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// One action with everything decided: run() allocates no memory of its own and
/// holds no lock.
class PreparedOp {
public:
  virtual ~PreparedOp() = default;
  virtual absl::Status run(const dgc_step &step) = 0;
};

/// A buffer of a program, at its address in this worker; on a device with
/// memory of its own, in that.
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

/// Memory of the host and of a device that holds the same at certain times.
struct HostMirror {
  void *device = nullptr;
  std::span<std::byte> host;
};

/// What the host does between two segments of a program: it takes values from the device and brings others. Memory of
/// the host is pinned.
struct HostExchange {
  std::vector<HostMirror> toHost, toDevice;
};

struct SegmentOp {
  PreparedOp *op;
  bool communicates = false; // with the devices of other workers
};

/// A program as a device runs it: segments of ops that need nothing of the host, and exchanges between them.
struct ProgramParts {
  std::string_view name;
  bool trains = false;                          // what a run repeats most
  std::vector<std::vector<SegmentOp>> segments; // one at least
  std::vector<HostExchange> exchanges;
  std::vector<HostMirror> inputs;  // come to the device before the first segment
  std::vector<HostMirror> outputs; // are with the host behind the last one
};

/// A recorded program. A run is begin(), each segment once, in order, with the exchanges wherever they belong, and
/// submit(). collect() waits for it. One run may be begun and submitted before the one before it is collected, which
/// then is collected first: so the inputs of a run come to the device while the one before computes.
class DeviceProgram {
public:
  virtual ~DeviceProgram() = default;
  /// Takes the inputs from the memory of the host, which may change then. A run is `timed` when it is to have the times
  /// of its ops; none is under way then.
  virtual absl::Status begin(bool timed = false) = 0;
  /// Queues a segment: it runs after those before it, and sees what was brought before.
  virtual absl::Status launch(size_t segment) = 0;
  /// Takes what the exchange needs of the device, as the segments before leave it. When it returns nothing that was
  /// exchanged before is on its way any more.
  virtual absl::Status toHost(size_t exchange) = 0;
  /// Queues the copies to the device: segments that are launched later wait for them. The memory of the host must not
  /// change until the next toHost(), or collect() of the run, has returned.
  virtual absl::Status toDevice(size_t exchange) = 0;
  /// What is queued outside of segments from now on comes behind what was brought before.
  virtual absl::Status settle() = 0;
  /// Nothing more of the run is to be queued.
  virtual absl::Status submit() = 0;
  /// Waits for the run that was submitted first, and puts its outputs into the memory of the host.
  virtual absl::Status collect() = 0;
  /// Of a timed run that was collected last: when each op of a segment began, and when its last one ended, in
  /// nanoseconds since begin().
  virtual absl::StatusOr<std::vector<int64_t>> times(size_t segment) = 0;
};

/// Communication that a device does itself, without the host in between.
struct DeviceCommunication {
  std::unique_ptr<PreparedCollective> op; // null: the host is to do it
  bool isRecorded = false;                // its parts belong into segments, as ops do
};

/// Memory of its own that a device has. Only devices other than the CPU do.
class DeviceMemory {
public:
  virtual ~DeviceMemory() = default;
  /// The private arena, the mirror of the shared one, each zeroed, and the constants; once each before anything is
  /// prepared. They live as long as the device.
  virtual absl::StatusOr<void *> allocateArena(uint64_t bytes) = 0;
  virtual absl::StatusOr<void *> placeConstants(std::span<const std::byte> bytes) = 0;
  /// Bytes of the device that this process takes, with what nobody planned: contexts, code, what libraries keep.
  virtual absl::StatusOr<uint64_t> bytesInUse() = 0;
  /// Memory of the host that exchanges may use, pinned as long as the device lives: what is there, or new.
  virtual absl::Status pin(std::span<std::byte> memory) = 0;
  virtual absl::StatusOr<std::span<std::byte>> allocatePinned(uint64_t bytes) = 0;
  /// Copy now; all that was run before is done by then.
  virtual absl::Status upload(void *to, std::span<const std::byte> from) = 0;
  virtual absl::Status download(std::span<std::byte> to, const void *from) = 0;
  /// Finds out, together with the devices of all other workers that have such a device, which of them it reaches. Once,
  /// when the arenas are there; `transport` outlives the device, `shared` is the mirror of its arena.
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
  /// What there is to be told to people since somebody asked; mostly nothing. `atEnd`: no program runs any more.
  virtual std::string notice(bool atEnd) = 0;
};

/// One per worker, used by one thread: the one that creates it.
class Device {
public:
  virtual ~Device() = default;

  /// Any action but communication. `buffers` are those of the program.
  virtual absl::StatusOr<std::unique_ptr<PreparedOp>> prepare(const artifact::Step &step,
                                                              std::span<const Operand> buffers) = 0;
  /// After the last prepare(): makes what all ops share. Until then none runs.
  virtual absl::Status finish() = 0;
  /// Bytes that the device holds beside the arenas, valid after finish().
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
