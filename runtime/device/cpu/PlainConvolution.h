// Convolution in plain loops: for the types that oneDNN does not take, and the
// reference that tests compare it with.
#pragma once

#include "runtime/device/cpu/Ops.h"

namespace dgc::rt {

/// Any spatial rank from 1 to 3, any floating-point type; accumulates in f64.
std::unique_ptr<PreparedOp> makePlainConvolution(const OpContext &context, const artifact::Convolution &op);

} // namespace dgc::rt
