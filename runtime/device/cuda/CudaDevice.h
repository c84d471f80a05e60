// NVIDIA GPUs: one arena, one stream that computes and two that copy; the work between exchanges is in CUDA graphs.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/cuda/Blas.h"
#include "runtime/device/cuda/Communication.h"
#include "runtime/device/cuda/Dnn.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/device/cuda/PluginKernels.h"
#include "runtime/device/cuda/ScatterKernels.h"
#include "runtime/device/cuda/SliceKernels.h"
#include "runtime/device/cuda/Tuning.h"

#include <array>
#include <functional>

namespace dgc::rt::cuda {

/// Factories of the libraries, each called when a plan has an op for it, and the tuning of their algorithms.
struct MakeLibraries {
  std::function<absl::StatusOr<std::unique_ptr<Blas>>()> blas; // products
  std::function<absl::StatusOr<std::unique_ptr<Dnn>>()> dnn;   // convolutions, attention
  MakeNccl nccl;                                               // several workers; may be missing
  TuningOptions tuning = {};
};

inline Address addressOf(const void *memory) { return reinterpret_cast<Address>(memory); }

class CudaDevice final : public Device, private DeviceMemory {
public:
  /// Loads the kernels. Refuses a plan without code for this GPU.
  static absl::StatusOr<std::unique_ptr<CudaDevice>> create(const Artifact &artifact, std::unique_ptr<Driver> driver,
                                                            MakeLibraries make);
  ~CudaDevice() override;

  using Device::prepare;
  PreparedOrStatus prepare(const artifact::KernelCall &call, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::Matmul &op, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::Convolution &op, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::Attention &op, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::Copy &op, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::Fill &op, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::UpdateSlice &op, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::ScatterAdd &op, std::span<const Operand> buffers) override;
  std::string_view kind() const override { return "cuda"; }
  absl::Status finish() override;
  /// Of the GPU.
  size_t scratchBytes() const override { return scratchBytes_; }
  DeviceMemory *memory() override { return this; }

private:
  friend class GraphProgram;
  friend class GridsOp;
  friend class ProductOp;
  friend class ScatterAddOp;
  friend class DnnOp;

  CudaDevice(const Artifact &artifact, std::unique_ptr<Driver> driver, MakeLibraries make)
      : artifact(artifact), driver(std::move(driver)), make(std::move(make)) {}
  absl::Status loadCode();
  absl::StatusOr<Address> allocate(uint64_t bytes);
  absl::StatusOr<std::byte *> allocateStaging(uint64_t bytes);
  absl::StatusOr<Driver::Event> newEvent(bool timed = false);
  absl::Status chooseAlgorithms();
  PreparedOrStatus takeDnn(absl::StatusOr<std::unique_ptr<PreparedDnn>> prepared);

  absl::StatusOr<void *> allocateArena(uint64_t bytes) override;
  absl::StatusOr<void *> placeConstants(std::span<const std::byte> bytes) override;
  absl::StatusOr<uint64_t> bytesInUse() override { return driver->bytesInUse(); }
  absl::Status pin(std::span<std::byte> memory) override;
  absl::StatusOr<std::span<std::byte>> allocatePinned(uint64_t bytes) override;
  using DeviceMemory::upload;
  absl::Status upload(void *to, uint64_t bytes, WritePiece write) override;
  absl::Status download(std::span<std::byte> to, const void *from) override;
  absl::Status fill(void *to, DType dtype, double value, uint64_t count) override;
  absl::StatusOr<std::unique_ptr<DeviceProgram>> record(const ProgramParts &parts) override;
  std::string notice(bool atEnd) override;
  absl::Status connect(Transport &transport, void *shared) override;
  absl::StatusOr<DeviceCommunication> prepareCollective(const CollectiveDesc &desc) override;
  absl::StatusOr<DeviceCommunication> prepareSend(uint32_t channel, uint32_t to, void *data, uint64_t bytes) override;
  absl::StatusOr<DeviceCommunication> prepareReceive(uint32_t channel, uint32_t from, void *data,
                                                     uint64_t bytes) override;
  /// Waits for all that is queued on a stream of the device.
  absl::Status await(Driver::Stream queued) {
    return communication ? communication->await(queued) : driver->synchronize(queued);
  }
  /// Takes what was measured, with all other workers, while nothing runs; from then on programs have one form.
  absl::Status decideLaunchMode();
  absl::Status awaitEvent(Driver::Event event) {
    return communication ? communication->awaitEvent(event) : driver->await(event);
  }

  const Artifact &artifact;
  std::unique_ptr<Driver> driver;
  MakeLibraries make;
  std::unique_ptr<Blas> blas;
  std::unique_ptr<Dnn> dnn;
  std::unique_ptr<Communication> communication;                            // of several workers
  Driver::Stream stream = nullptr, transfers = nullptr, uploads = nullptr; // `uploads`: of inputs
  Driver::Event computed = nullptr, arrived = nullptr;                     // how far `stream` and `transfers` must be
  std::array<Driver::Event, 2> copied{};                                   // each half of `transfer`
  Driver::Module module = nullptr;                                         // of the plan
  PluginKernels updateKernels{sliceKernelsPtx()}, additionKernels{scatterKernelsPtx()};
  std::vector<Address> allocations;
  std::vector<std::byte *> hostAllocations;
  std::vector<std::span<std::byte>> pinned; // of others
  std::vector<Driver::Graph> graphs;
  // While it is measured where collectives belong there are graphs of both forms, those of each apart.
  std::unique_ptr<LaunchMeasurement> measurement;
  LaunchMode mode = LaunchMode::Outside;
  std::array<std::vector<Driver::Graph>, 2> graphsOf;
  std::string notice_;
  std::vector<Driver::Event> events; // of programs
  // What all ops share, one after the other: memory between grids, and of products.
  uint64_t workspaceBytes = 0;
  Address workspace = 0;
  std::byte *transfer = nullptr; // pinned, for variables
  size_t scratchBytes_ = 0;
  std::vector<std::shared_ptr<PreparedDnn>> firstRuns; // what finish() runs once
  /// Of each product what it is, for finish() to choose its algorithm.
  std::vector<std::pair<std::string, std::shared_ptr<PreparedGemm>>> products;
};

} // namespace dgc::rt::cuda
