// The meaning of each action. Internal to runtime/verify.
#pragma once

#include "runtime/verify/NestBuilder.h"

#include "absl/status/status.h"

namespace dgc::verify {

/// Adds what the action computes to an empty kernel.
absl::Status express(const artifact::Matmul &op, KernelBuilder &kernel);
absl::Status express(const artifact::Convolution &op, KernelBuilder &kernel);
absl::Status express(const artifact::Pool &op, KernelBuilder &kernel);
absl::Status express(const artifact::ScatterAdd &op, KernelBuilder &kernel);
absl::Status express(const artifact::UpdateSlice &op, KernelBuilder &kernel);
absl::Status express(const artifact::Attention &op, KernelBuilder &kernel);

} // namespace dgc::verify
