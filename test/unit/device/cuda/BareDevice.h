// A CUDA device on a fake driver for tests that compile no model.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "test/unit/artifact/SamplePlan.h"
#include "test/unit/device/cuda/FakeDriver.h"

namespace dgc::testing {

/// A plan without programs or code.
inline std::unique_ptr<rt::Artifact> barePlan() {
  rt::test::fb::PlanT plan = rt::test::samplePlan();
  plan.programs.clear();
  return *rt::loadBytes(*rt::finishPlan(std::move(plan)));
}

/// Its device has no libraries. `adjust` gets the driver before anything else does.
inline absl::StatusOr<std::unique_ptr<rt::Device>> bareDevice(const rt::Artifact &artifact,
                                                              std::shared_ptr<FakeLog> log,
                                                              const std::function<void(FakeDriver &)> &adjust = {}) {
  auto driver = std::make_unique<FakeDriver>(std::move(log));
  if (adjust)
    adjust(*driver);
  auto made = rt::cuda::CudaDevice::create(artifact, std::move(driver), {});
  if (!made.ok())
    return made.status();
  return std::unique_ptr<rt::Device>(*std::move(made));
}

} // namespace dgc::testing
