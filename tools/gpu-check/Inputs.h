// Inputs that are made up.
#pragma once

#include "runtime/executor/RunOnce.h"

#include <cstdint>
#include <vector>

/// An input of any type, another one for each step: floating-point numbers in [-1, 1]; integers below `limit`, which is
/// what the plan says of the input, or 0; then bytes of images up to 250, other integers below 8.
dgc::rt::HostArray makeInput(dgc::rt::DType dtype, const std::vector<int64_t> &shape, uint64_t limit, int step);
