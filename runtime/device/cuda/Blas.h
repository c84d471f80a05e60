// Matrix products on the GPU: cuBLASLt, or what tests put in its place.
#pragma once

#include "runtime/base/DType.h"
#include "runtime/device/cuda/Driver.h"

#include <vector>

namespace dgc::rt::cuda {

/// Matrices in memory, row-major; one that is `transposed` is stored with rows and columns exchanged. Distances are in
/// elements.
struct Matrices {
  Address data = 0;
  bool transposed = false;
  uint64_t rowStride = 0;   // of what is stored
  uint64_t batchStride = 0; // from one matrix of the batch to the next
};

/// What is applied to a product after its bias. Gelu is the approximation by tanh. A gradient multiplies by the derivative of
/// the activation at its operand.
enum class Activation { None, Relu, Gelu, ReluGradient, GeluGradient };

/// A sum that is computed along with a product: the rows of what it stores, or an operand along k.
enum class Sums { None, Result, A, B };

/// dst[b, m, n] = sum over k of a[b, m, k] * b[b, k, n] (+ bias[n]), then the activation, in f32, bf16, f16 (these two
/// added up in f32) or f64. `dst` is not transposed. With `tf32` the operands of f32 may be rounded to TF32.
struct Gemm {
  DType type = DType::F32;
  uint64_t batch = 1, m = 0, n = 0, k = 0;
  Matrices a, b, dst;
  bool hasBias = false, tf32 = false;
  Address bias = 0;
  Activation activation = Activation::None;
  /// Of single products. Gradients read it; other activations write, where it is not 0, what their gradients read: gelu
  /// its operand, relu a bit for each element. `auxStride` is the distance of rows, in elements or in bits.
  Address aux = 0;
  uint64_t auxStride = 0;
  /// Of single products, written: [n], of `a` [m]. That of the result goes with the gradient of an activation, those of
  /// operands with nothing else.
  Sums sums = Sums::None;
  Address sum = 0;
  /// The product is made for each of these, `a`, `b` and `dst` begin so many elements further on: batches that one
  /// distance does not describe.
  struct Part {
    uint64_t a = 0, b = 0, dst = 0;
  };
  std::vector<Part> parts = {Part()};
};

/// A product whose algorithm has been chosen.
class PreparedGemm {
public:
  virtual ~PreparedGemm() = default;
  /// Queues it. The workspace has Blas::workspaceBytes() bytes.
  virtual absl::Status run(Driver::Stream stream, Address workspace) = 0;
  /// How many algorithms can be chosen from. The first one is what the library expects to be the fastest.
  virtual size_t algorithms() const = 0;
  virtual void choose(size_t algorithm) = 0;
};

class Blas {
public:
  virtual ~Blas() = default;
  virtual absl::StatusOr<std::unique_ptr<PreparedGemm>> prepare(const Gemm &gemm) = 0;
  virtual uint64_t workspaceBytes() const = 0;
  /// Name and version of the library.
  virtual std::string version() const = 0;
};

/// cuBLASLt, from where findLibrary() finds it.
absl::StatusOr<std::unique_ptr<Blas>> openCublasLt();

} // namespace dgc::rt::cuda
