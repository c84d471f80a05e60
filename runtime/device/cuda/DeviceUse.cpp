#include "runtime/device/cuda/DeviceUse.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

#include <dlfcn.h>
#include <unistd.h>

namespace dgc::rt::cuda {

static absl::Status unknown(std::string_view why) {
  return withExitCode(
      absl::FailedPreconditionError(str("how much memory of the GPU is taken cannot be found out: ", why,
                                        "; it is needed for --memory-limit, and comes with the driver of NVIDIA")),
      ExitCode::Machine);
}

absl::StatusOr<std::unique_ptr<DeviceUse>> DeviceUse::open(const std::string &busId) {
  void *library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return unknown("libnvidia-ml.so.1 was not found");
  auto use = std::make_unique<DeviceUse>();
  auto init = reinterpret_cast<int (*)()>(::dlsym(library, "nvmlInit_v2"));
  auto find = reinterpret_cast<int (*)(const char *, Handle *)>(::dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
  use->memoryOf = reinterpret_cast<int (*)(Handle, Memory *)>(::dlsym(library, "nvmlDeviceGetMemoryInfo"));
  use->processesOf = reinterpret_cast<int (*)(Handle, unsigned *, Process *)>(
      ::dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3")); // not in old ones
  use->clockOf = reinterpret_cast<int (*)(Handle, int, unsigned *)>(::dlsym(library, "nvmlDeviceGetClockInfo"));
  use->mostOf = reinterpret_cast<int (*)(Handle, int, unsigned *)>(::dlsym(library, "nvmlDeviceGetMaxClockInfo"));
  use->versionOf = reinterpret_cast<int (*)(char *, unsigned)>(::dlsym(library, "nvmlSystemGetDriverVersion"));
  if (!init || !find || !use->memoryOf)
    return unknown("libnvidia-ml.so.1 is too old");
  if (int error = init())
    return unknown(str("nvmlInit gives error ", error));
  if (int error = find(busId.c_str(), &use->device))
    return unknown(str("nvmlDeviceGetHandleByPciBusId gives error ", error, " for ", busId));
  DGC_ASSIGN_OR_RETURN(use->before, use->ofAll());
  return use;
}

absl::StatusOr<uint64_t> DeviceUse::ofAll() const {
  Memory memory{};
  if (int error = memoryOf(device, &memory))
    return unknown(str("nvmlDeviceGetMemoryInfo gives error ", error));
  return memory.used;
}

absl::StatusOr<uint64_t> DeviceUse::ofThisProcess() const {
  Process processes[256];
  unsigned count = 256;
  if (processesOf && processesOf(device, &count, processes) == 0)
    for (unsigned i = 0; i < count && i < 256; ++i)
      if (processes[i].pid == static_cast<unsigned>(::getpid()) && processes[i].usedBytes + 1 != 0) // -1: not known
        return processes[i].usedBytes;
  DGC_ASSIGN_OR_RETURN(uint64_t now, ofAll());
  return now > before ? now - before : 0;
}

std::string DeviceUse::describe() const {
  std::string text;
  if (Memory memory{}; memoryOf(device, &memory) == 0)
    text = str(memory.free >> 20, " MiB free");
  for (auto [name, kind] : {std::pair("SM", 1), std::pair("memory", 2)}) { // of nvmlClockType_t
    unsigned now = 0, most = 0;
    if (clockOf && mostOf && clockOf(device, kind, &now) == 0 && mostOf(device, kind, &most) == 0)
      text += str(text.empty() ? "" : ", ", name, " at ", now, " of ", most, " MHz");
  }
  return text;
}

std::string DeviceUse::driverVersion() const {
  char text[96] = {};
  return versionOf && versionOf(text, sizeof text) == 0 ? text : "";
}

} // namespace dgc::rt::cuda
