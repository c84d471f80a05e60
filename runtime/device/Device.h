// What runs the local actions of a program: the CPU, or a device of a plug-in.
#pragma once

#include "runtime/artifact/KernelAbi.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/Reader.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
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
struct Mirrored {
  void *device = nullptr;
  std::span<std::byte> host;
};

/// A program that a device runs as a whole.
class DeviceProgram {
public:
  virtual ~DeviceProgram() = default;
  /// Takes the inputs from the host, runs all ops, brings the outputs back.
  virtual absl::Status run(const dgc_step &step) = 0;
};

/// Memory of its own that a device has. Only devices other than the CPU do.
class DeviceMemory {
public:
  virtual ~DeviceMemory() = default;
  /// The private arena, zeroed, and the constants, once each before anything is
  /// prepared. They live as long as the device.
  virtual absl::StatusOr<void *> allocateArena(uint64_t bytes) = 0;
  virtual absl::StatusOr<void *> placeConstants(std::span<const std::byte> bytes) = 0;
  /// Copy now; all that was run before is done by then.
  virtual absl::Status upload(void *to, std::span<const std::byte> from) = 0;
  virtual absl::Status download(std::span<std::byte> to, const void *from) = 0;
  /// After finish(): makes one unit of the ops, which must outlive it. `inputs`
  /// are copied to the device before them, `outputs` to the host behind them.
  virtual absl::StatusOr<std::unique_ptr<DeviceProgram>> record(std::string_view name, std::span<PreparedOp *const> ops,
                                                                std::vector<Mirrored> inputs,
                                                                std::vector<Mirrored> outputs) = 0;
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

/// The device that a plan is for. `threads` >= 1, of a CPU. `artifact` must
/// outlive the device.
absl::StatusOr<std::unique_ptr<Device>> createDevice(const Artifact &artifact, int threads);

} // namespace dgc::rt
