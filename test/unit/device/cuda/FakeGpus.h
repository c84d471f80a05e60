// What tests of programs on fake GPUs share: the devices, and mnist_mlp for a few steps.
#pragma once

#include "runtime/artifact/Groups.h"
#include "runtime/base/Disk.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "test/unit/device/cuda/FakeDriver.h"
#include "test/unit/device/cuda/FakeNccl.h"
#include "test/unit/support/Execute.h"

#include <cmath>
#include <gtest/gtest.h>

namespace dgc::testing {

inline const rt::cuda::GpuInfo kFakeGpu{"Fake GPU", 9, 0, 1u << 30};

/// Makes CUDA devices on fake drivers, which `adjust` may change; that of rank r writes to logs[r]. Ranks without a GPU
/// get the device that the plan is for. With a network each has a GPU of its own, and NCCL.
inline rt::MakeDevice fakeDevices(const std::vector<std::shared_ptr<FakeLog>> &logs,
                                  const std::function<void(FakeDriver &, int rank)> &adjust = {},
                                  const rt::cuda::GpuInfo &info = kFakeGpu, FakeNetwork *network = nullptr,
                                  const std::shared_ptr<FakePeers> &peers = nullptr,
                                  const rt::cuda::TuningOptions &tuning = {}) {
  return [=](const rt::Artifact &artifact, int threads, int rank) -> absl::StatusOr<std::unique_ptr<rt::Device>> {
    if (rt::isOnHost(artifact.plan(), rt::groupOf(artifact.plan(), static_cast<uint32_t>(rank))))
      return rt::createDevice(artifact, threads, rank);
    rt::cuda::GpuInfo own = info;
    own.id[0] = network ? static_cast<char>(rank + 1) : own.id[0];
    std::shared_ptr<FakeLog> log = logs[static_cast<size_t>(rank)];
    auto driver = std::make_unique<FakeDriver>(log, own);
    FakeDriver *fake = driver.get();
    if (peers)
      driver->join(peers);
    if (adjust)
      adjust(*fake, rank);
    rt::cuda::MakeLibraries make;
    make.tuning = tuning;
    make.blas = [fake]() -> absl::StatusOr<std::unique_ptr<rt::cuda::Blas>> {
      return std::make_unique<FakeBlas>(*fake);
    };
    make.dnn = [fake]() -> absl::StatusOr<std::unique_ptr<rt::cuda::Dnn>> { return std::make_unique<FakeDnn>(*fake); };
    if (network)
      make.nccl = [=]() -> absl::StatusOr<rt::cuda::NcclFunctions> { return network->functions(*fake, log); };
    auto device = rt::cuda::CudaDevice::create(artifact, std::move(driver), std::move(make));
    if (!device.ok())
      return device.status();
    return std::unique_ptr<rt::Device>(*std::move(device));
  };
}

/// One worker; `failAt`: which call of the driver fails.
inline rt::MakeDevice fakeDevice(std::shared_ptr<FakeLog> log, int failAt = -1,
                                 const rt::cuda::GpuInfo &info = kFakeGpu) {
  return fakeDevices({std::move(log)}, [failAt](FakeDriver &driver, int) { driver.failAt(failAt); }, info);
}

/// The largest difference of two arrays of f32, relative to the largest value.
inline double difference(const HostArray &a, const HostArray &b) {
  std::vector<float> x = a.as<float>(), y = b.as<float>();
  EXPECT_EQ(x.size(), y.size());
  double most = 0, largest = 1e-30;
  for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
    most = std::max(most, std::abs(double(x[i]) - y[i]));
    largest = std::max(largest, std::abs(double(y[i])));
    EXPECT_TRUE(std::isfinite(x[i]) && std::isfinite(y[i])); // std::max skips NaN
  }
  return most / largest;
}

constexpr int kBatch = 32, kSteps = 3;

inline ExecuteOptions mnistOptions() {
  ExecuteOptions options;
  options.from = "input";
  options.batch = kBatch;
  options.run.program = "train";
  options.run.steps = kSteps;
  options.run.seed = 7;
  options.run.inputsOfStep = [](int step) {
    std::vector<uint8_t> image(kBatch * 28 * 28), label(kBatch);
    for (size_t i = 0; i < image.size(); ++i)
      image[i] = static_cast<uint8_t>((i * 31 + static_cast<size_t>(step) * 17 + i / 784 * 7) % 251);
    for (size_t i = 0; i < label.size(); ++i)
      label[i] = static_cast<uint8_t>((i * 7 + static_cast<size_t>(step)) % 10);
    return NamedArrays{{"image", HostArray::of({kBatch, 28, 28}, image, rt::DType::U8)},
                       {"label", HostArray::of({kBatch}, label, rt::DType::U8)}};
  };
  return options;
}

inline std::string mnist() { return *rt::readFile(rt::realDisk(), DGC_SOURCE_DIR "/examples/mnist_mlp.mlir"); }

} // namespace dgc::testing
