// Attention of a plan, as it is handed to cuDNN.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/cuda/DnnAttention.h"

namespace dgc::rt::cuda {

/// `op` has been checked.
DnnAttention describeAttention(const artifact::Attention &op, std::span<const Operand> buffers);

} // namespace dgc::rt::cuda
