// What libdgc_cuda.so gives to dgc-run.
#include "runtime/device/Plugin.h"
#include "runtime/base/Status.h"
#include "runtime/base/Version.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/Describe.h"
#include "runtime/device/cuda/DeviceUse.h"
#include "runtime/device/cuda/Library.h"
#include "runtime/device/cuda/SelfTest.h"

#include <cstdio>
#include <cstdlib>

using namespace dgc::rt;

static cuda::TuningOptions tuningOf(int rank) {
  const char *file = std::getenv("DGC_TUNING_FILE");
  return {file ? file : "", std::getenv("DGC_TUNE") != nullptr, /*keeps=*/rank == 0};
}

static absl::StatusOr<std::unique_ptr<Device>> createCuda(const Artifact &artifact, int rank) {
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<cuda::Driver> driver, cuda::openDriver(rank));
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                       cuda::CudaDevice::create(artifact, std::move(driver),
                                                {cuda::openCublasLt, cuda::openCudnn, cuda::openNccl, tuningOf(rank)}));
  return device;
}

/// Where a library is, and its version, of which the function `symbol` tells a number, of
/// which `major` is one of the major version.
static std::string describeLibrary(const std::string &name, const absl::StatusOr<cuda::Library> &library,
                                   const char *symbol, size_t major) {
  if (!library.ok())
    return str(name, ": none: ", library.status().message());
  auto version = reinterpret_cast<size_t (*)()>(library->find(symbol));
  if (!version)
    return str(name, ": of unknown version, ", library->path);
  size_t number = version();
  return str(name, ": ", number / major, ".", number / 100 % (major / 100), ".", number % 100, ", ", library->path);
}

static std::vector<std::string> describeCuda() {
  std::vector<std::string> lines;
  int i = 0;
  do { // with none, for the reason
    absl::StatusOr<std::unique_ptr<cuda::Driver>> driver = cuda::openDriver(i);
    if (!driver.ok()) {
      lines.push_back(str("GPU: none: ", driver.status().message()));
      continue;
    }
    const cuda::GpuInfo &gpu = (*driver)->gpu();
    absl::StatusOr<std::unique_ptr<cuda::DeviceUse>> use = cuda::DeviceUse::open(gpu.busId);
    const std::string state = use.ok() ? (*use)->describe() : "", version = use.ok() ? (*use)->driverVersion() : "";
    lines.push_back(str("GPU ", i, ": ", gpu.name, ", sm_", gpu.major, gpu.minor, ", ", gpu.totalBytes >> 20, " MiB",
                        state.empty() ? "" : ", ", state));
    if (i == 0)
      lines.push_back(str("driver: ", version.empty() ? "" : version + ", ", "for CUDA ", gpu.driverVersion / 1000, ".",
                          gpu.driverVersion % 1000 / 10));
  } while (++i < cuda::countGpus());
  lines.push_back(describeLibrary("cuBLASLt", cuda::findLibrary("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}),
                                  "cublasLtGetVersion", 10000));
  lines.push_back(describeLibrary("cuDNN", cuda::findCudnn(), "cudnnGetVersion", 10000));
  auto nccl = cuda::openNccl();
  lines.push_back(nccl.ok() ? str("NCCL: ", cuda::versionOfNccl((*nccl)->number), ", ", (*nccl)->path)
                            : str("NCCL: none: ", nccl.status().message()));
  return lines;
}

static std::vector<std::string> describeCudaWorkers(const Artifact &artifact) {
  auto nccl = cuda::openNccl();
  const cuda::TuningOptions tuning = tuningOf(0);
  cuda::LaunchPreferences preferences;
  std::string warning;
  preferences.measures = tuning.measures;
  if (absl::StatusOr<std::unique_ptr<cuda::Driver>> driver = cuda::openDriver(0); driver.ok())
    if (auto kept =
            cuda::readMeasuredLaunch(realDisk(), tuning.file, (*driver)->gpu().name, artifact.digestHex(), warning)) {
      preferences.isKept = 1;
      preferences.kept = *kept;
    }
  return cuda::describeWorkers(artifact.plan(), cuda::countGpus(), nccl.ok() ? (*nccl)->number : 0, preferences,
                               warning);
}

static std::vector<SelfTestLine> selfTestCuda() {
  absl::StatusOr<std::unique_ptr<cuda::Driver>> driver = cuda::openDriver(0);
  if (!driver.ok())
    return {{"GPU", SelfTestLine::Failed, std::string(driver.status().message())}};
  std::vector<SelfTestLine> lines{cuda::testPeerKernels(**driver), cuda::testSliceKernels(**driver),
                                  cuda::testScatterKernels(**driver)};
  absl::StatusOr<cuda::NcclFunctions> nccl = cuda::openNccl();
  if (!nccl.ok()) {
    lines.push_back({"NCCL", SelfTestLine::LeftOut, std::string(nccl.status().message())});
    return lines;
  }
  std::vector<SelfTestLine> more = cuda::testNccl(**driver, *nccl);
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

#define DGC_EXPORTED extern "C" __attribute__((visibility("default")))

DGC_EXPORTED const uint32_t dgc_device_interface;
const uint32_t dgc_device_interface = kDeviceInterface;

DGC_EXPORTED const DevicePlugin *dgc_device_plugin() {
  static const DevicePlugin plugin{DGC_VERSION, createCuda, describeCuda, describeCudaWorkers, selfTestCuda};
  return &plugin;
}
