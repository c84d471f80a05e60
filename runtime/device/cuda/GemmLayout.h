// The memory layout of the operands of a product.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/device/Device.h"
#include "runtime/device/cuda/Blas.h"

#include "absl/status/status.h"

namespace dgc::rt::cuda {

/// Fills in the sizes of `gemm`, the layout of its operands and its parts; the addresses are left alone. An error for
/// matrices of which neither rows nor columns are contiguous.
absl::Status describeMatrices(const artifact::Matmul &op, Gemm &gemm);

/// Fills in what is applied to the product. An error for post-ops that the library does not have.
absl::Status describeEpilogue(const artifact::Matmul &op, std::span<const Operand> buffers, Gemm &gemm);

} // namespace dgc::rt::cuda
