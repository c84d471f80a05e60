// The GPU memory that this process takes, contexts and code included, by NVML, which is a part of the driver.
#pragma once

#include "absl/status/statusor.h"

#include <cstdint>
#include <memory>
#include <string>

namespace dgc::rt::cuda {

class DeviceUse {
public:
  /// `busId`: as the driver spells it. To be called before the process has a context.
  static absl::StatusOr<std::unique_ptr<DeviceUse>> open(const std::string &busId);

  /// Bytes of this process. Where NVML does not know it (as in containers that number processes of their own), what
  /// all processes have taken since open().
  absl::StatusOr<uint64_t> ofThisProcess() const;

  /// What is free, and the clocks, for people: "140000 MiB free, SM at 345 of 1980 MHz, memory at 2619 of 3201 MHz";
  /// without what NVML does not tell.
  std::string describe() const;
  /// "580.95.05"; empty where NVML does not tell.
  std::string driverVersion() const;

private:
  struct Memory { // nvmlMemory_t
    unsigned long long total, free, used;
  };
  struct Process { // nvmlProcessInfo_t of _v3
    unsigned pid;
    unsigned long long usedBytes;
    unsigned gpuInstance, computeInstance;
  };
  using Handle = void *;

  absl::StatusOr<uint64_t> ofAll() const;

  int (*memoryOf)(Handle, Memory *) = nullptr;
  int (*processesOf)(Handle, unsigned *, Process *) = nullptr;
  int (*clockOf)(Handle, int kind, unsigned *) = nullptr; // these three may be missing
  int (*mostOf)(Handle, int kind, unsigned *) = nullptr;
  int (*versionOf)(char *, unsigned) = nullptr;
  Handle device = nullptr;
  uint64_t before = 0;
};

} // namespace dgc::rt::cuda
