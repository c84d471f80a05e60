// What libdgc_cuda.so gives to dgc-run.
#include "runtime/device/Plugin.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/Describe.h"
#include "runtime/device/cuda/Library.h"

#include <cstdio>

using namespace dgc::rt;

static absl::StatusOr<std::unique_ptr<Device>> createCuda(const Artifact &artifact, int rank) {
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<cuda::Driver> driver, cuda::openDriver(rank));
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                       cuda::CudaDevice::create(artifact, std::move(driver), cuda::openCublasLt));
  return device;
}

/// The version of a library, of which the function `symbol` tells a number.
static std::string versionOf(const cuda::Library &library, const char *symbol) {
  auto version = reinterpret_cast<size_t (*)()>(library.find(symbol));
  if (!version)
    return "of unknown version";
  size_t number = version();
  return str(number / 10000, ".", number / 100 % 100, ".", number % 100);
}

static std::vector<std::string> describeCuda() {
  std::vector<std::string> lines;
  int i = 0;
  do { // with none, for the reason
    absl::StatusOr<std::unique_ptr<cuda::Driver>> driver = cuda::openDriver(i);
    if (driver.ok())
      lines.push_back(str("GPU ", i, ": ", (*driver)->gpu().name, ", sm_", (*driver)->gpu().major,
                          (*driver)->gpu().minor, ", ", (*driver)->gpu().totalBytes >> 20, " MiB"));
    else
      lines.push_back(str("GPU: none: ", driver.status().message()));
  } while (++i < cuda::countGpus());
  auto blas = cuda::findLibrary("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"});
  lines.push_back(blas.ok() ? str("cuBLASLt: ", versionOf(*blas, "cublasLtGetVersion"), ", ", blas->path)
                            : str("cuBLASLt: none: ", blas.status().message()));
  return lines;
}

static std::vector<std::string> describeCudaWorkers(const dgc::artifact::Plan &plan) {
  return cuda::describeWorkers(plan, cuda::countGpus());
}

#define DGC_EXPORTED extern "C" __attribute__((visibility("default")))

DGC_EXPORTED const uint32_t dgc_device_interface;
const uint32_t dgc_device_interface = kDeviceInterface;

DGC_EXPORTED const DevicePlugin *dgc_device_plugin() {
  static const DevicePlugin plugin{DGC_VERSION, createCuda, describeCuda, describeCudaWorkers};
  return &plugin;
}
