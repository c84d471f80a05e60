// The memory layout of the operands of a convolution.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/cuda/Dnn.h"

namespace dgc::rt::cuda {

/// An error for what cuDNN has not: filters whose outputs are not the first dimension, post-ops other than relu, the
/// gradient of a bias.
absl::StatusOr<DnnConvolution> describeConvolution(const artifact::Convolution &op, std::span<const Operand> buffers);

} // namespace dgc::rt::cuda
