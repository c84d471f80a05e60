// The CPU device: turns the local actions of a program into things that run.
#pragma once

#include "runtime/base/MemoryUse.h"
#include "runtime/device/Device.h"
#include "runtime/device/cpu/KernelLibrary.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace dgc::rt {

/// Memory for the inside of library calls; one block, used by one op at a time.
class Scratch {
public:
  /// What library calls of oneDNN may need together: they are prepared in ways that need no more.
  void setLimit(size_t bytes) { limit_ = bytes; }
  size_t limit() const { return limit_; }
  /// Before allocate(): some op needs `bytes`.
  void reserve(size_t bytes) { size_ = bytes > size_ ? bytes : size_; }
  absl::Status allocate();
  size_t size() const { return size_; }
  /// The block, aligned to 4096 bytes; valid after allocate().
  std::byte *data() const { return memory.get(); }

private:
  struct Free {
    void operator()(std::byte *p) const { std::free(p); }
  };
  size_t size_ = 0, limit_ = SIZE_MAX;
  std::unique_ptr<std::byte[], Free> memory;
  CountedMemory counted;
};

/// The device of worker `rank`. Its scratch block is not larger than the plan says, or, with more threads than the plan
/// is for, than a plan for so many would say.
absl::StatusOr<std::unique_ptr<Device>> createCpuDevice(const Artifact &artifact, int threads, int rank);

/// Works on memory of the host.
class CpuDevice final : public Device {
public:
  struct Library; // engine and stream of oneDNN

  /// Checks the CPU, loads the kernels. `threads` >= 1. `artifact` must outlive
  /// the device.
  static absl::StatusOr<std::unique_ptr<CpuDevice>> create(const Artifact &artifact, int threads);
  /// Of workers that need another machine than that of the plan.
  static absl::StatusOr<std::unique_ptr<CpuDevice>> create(const Artifact &artifact, int threads,
                                                           const artifact::Target &target);
  /// Before any prepare(): the most scratch memory that library calls may need.
  void setScratchLimit(size_t bytes) { scratch.setLimit(bytes); }
  ~CpuDevice() override;

  using Device::prepare;
  PreparedOrStatus prepare(const artifact::KernelCall &call, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::Matmul &op, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::Convolution &op, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::Pool &op, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::ScatterAdd &op, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::UpdateSlice &op, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::Copy &op, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::Fill &op, std::span<const Operand> buffers) override;
  std::string_view kind() const override { return "cpu"; }
  absl::Status finish() override;
  size_t scratchBytes() const override { return scratch.size(); }

private:
  CpuDevice();
  template <typename Maker> PreparedOrStatus prepareInScratch(Maker make, std::span<const Operand> buffers);
  const Artifact *artifact = nullptr;
  std::unique_ptr<KernelLibrary> kernels;
  std::unique_ptr<Library> library;
  Scratch scratch;
};

} // namespace dgc::rt
