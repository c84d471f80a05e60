// Matrix products on the GPU: cuBLASLt, or what tests put in its place.
#pragma once

#include "runtime/base/DType.h"
#include "runtime/device/cuda/Driver.h"

#include <vector>

namespace dgc::rt::cuda {

/// dst[b, m, n] = sum over k of a[b, m, k] * b[b, k, n] (+ bias[n]), then relu. Row-major; transposed operands are
/// stored as [b, k, m] and [b, n, k].
struct Gemm {
  DType type = DType::F32;
  uint64_t batch = 1, m = 0, n = 0, k = 0;
  bool transposeA = false, transposeB = false;
  bool hasBias = false, relu = false;
  Address a = 0, b = 0, dst = 0, bias = 0;
};

/// A product whose algorithm has been chosen.
class PreparedGemm {
public:
  virtual ~PreparedGemm() = default;
  /// Queues it. The workspace has Blas::workspaceBytes() bytes.
  virtual absl::Status run(Driver::Stream stream, Address workspace) = 0;
};

class Blas {
public:
  virtual ~Blas() = default;
  virtual absl::StatusOr<std::unique_ptr<PreparedGemm>> prepare(const Gemm &gemm) = 0;
  virtual uint64_t workspaceBytes() const = 0;
};

/// cuBLASLt, from where findLibrary() finds it.
absl::StatusOr<std::unique_ptr<Blas>> openCublasLt();

} // namespace dgc::rt::cuda
