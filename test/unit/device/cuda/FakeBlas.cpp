// Products on a fake GPU.
#include "test/unit/device/cuda/FakeDriver.h"

#include "runtime/base/Status.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <utility>

using namespace dgc::rt;
using namespace dgc::rt::cuda;

namespace dgc::testing {

namespace {
/// To 10 bits of mantissa, to nearest.
float roundedToTf32(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0x1000) & ~uint32_t(0x1fff));
}

class FakeGemm final : public PreparedGemm {
public:
  FakeGemm(FakeDriver &driver, Gemm gemm) : driver(driver), gemm(std::move(gemm)) {}

  absl::Status run(Driver::Stream stream, Address workspace) override {
    const uint64_t width = sizeOf(gemm.type), auxBits = isRelu() ? 1 : width * 8;
    const bool isAuxWritten = gemm.activation <= Activation::Gelu;
    for (const Gemm::Part &part : gemm.parts) {
      const Gemm &g = gemm;
      Bytes a = bytesOf(g.a, part.a, g.m, g.k), b = bytesOf(g.b, part.b, g.k, g.n);
      Bytes dst = bytesOf(g.dst, part.dst, g.m, g.n);
      absl::Status queued = driver.enqueue(str("product", chosen ? str(" ", chosen) : ""), stream,
                                           {{a.begin, a.size, false},
                                            {b.begin, b.size, false},
                                            {g.bias, g.hasBias ? g.n * sizeOf(g.type) : 0, false},
                                            {g.aux, g.aux ? g.m * g.auxStride * auxBits / 8 : 0, isAuxWritten},
                                            {g.sum, sumElements() * width, true},
                                            {workspace, 4096, true},
                                            {dst.begin, dst.size, true}},
                                           [self = *this, part] { self.multiply(part); }); // maybe when this is gone
      if (!queued.ok())
        return queued;
    }
    return absl::OkStatus();
  }
  size_t algorithms() const override { return 3; }
  void choose(size_t algorithm) override {
    EXPECT_LT(algorithm, algorithms());
    chosen = algorithm;
  }

private:
  bool isRelu() const { return gemm.activation == Activation::Relu || gemm.activation == Activation::ReluGradient; }
  uint64_t sumElements() const { return gemm.sums == Sums::None ? 0 : gemm.sums == Sums::A ? gemm.m : gemm.n; }
  struct Bytes {
    Address begin;
    uint64_t size; // from the first element to behind the last one
  };
  Bytes bytesOf(const Matrices &matrices, uint64_t offset, uint64_t rows, uint64_t columns) const {
    if (matrices.transposed)
      std::swap(rows, columns);
    uint64_t elements = (gemm.batch - 1) * matrices.batchStride + (rows - 1) * matrices.rowStride + columns;
    return {matrices.data + offset * sizeOf(gemm.type), elements * sizeOf(gemm.type)};
  }
  double load(Address data, uint64_t index) const {
    const std::byte *at = driver.host(data);
    if (gemm.type == DType::F32) {
      float value = reinterpret_cast<const float *>(at)[index];
      return gemm.tf32 ? roundedToTf32(value) : value;
    }
    uint16_t bits = reinterpret_cast<const uint16_t *>(at)[index];
    return gemm.type == DType::BF16 ? fromBF16(bits) : fromF16(bits);
  }
  void store(Address data, uint64_t index, float value) const {
    std::byte *at = driver.host(data);
    if (gemm.type == DType::F32)
      reinterpret_cast<float *>(at)[index] = value;
    else
      reinterpret_cast<uint16_t *>(at)[index] = gemm.type == DType::BF16 ? toBF16(value) : toF16(value);
  }
  static uint64_t indexOf(const Matrices &matrices, uint64_t offset, uint64_t batch, uint64_t row, uint64_t column) {
    if (matrices.transposed)
      std::swap(row, column);
    return offset + batch * matrices.batchStride + row * matrices.rowStride + column;
  }
  void multiply(const Gemm::Part &part) const {
    const Gemm &g = gemm;
    std::vector<double> a(g.m * g.k), b(g.k * g.n); // rows of both lie one behind the other
    for (uint64_t batch = 0; batch < g.batch; ++batch) {
      for (uint64_t i = 0; i < a.size(); ++i)
        a[i] = load(g.a.data, indexOf(g.a, part.a, batch, i / g.k, i % g.k));
      for (uint64_t i = 0; i < b.size(); ++i)
        b[i] = load(g.b.data, indexOf(g.b, part.b, batch, i / g.n, i % g.n));
      for (uint64_t i = 0; i < g.m; ++i) {
        // Term after term in f32, as the library may; side by side for all columns.
        std::vector<float> sums(g.n);
        for (uint64_t l = 0; l < g.k; ++l)
          for (uint64_t j = 0; j < g.n; ++j)
            sums[j] = static_cast<float>(sums[j] + a[i * g.k + l] * b[l * g.n + j]);
        for (uint64_t j = 0; j < g.n; ++j) {
          const double biased = g.hasBias ? sums[j] + load(g.bias, j) : sums[j];
          store(g.dst.data, indexOf(g.dst, part.dst, batch, i, j), static_cast<float>(activated(biased, i, j)));
        }
      }
    }
    addUp();
  }
  /// The bit of an element in what a relu keeps: the order of bits is the library's own affair.
  uint8_t &maskByte(uint64_t i, uint64_t j) const {
    return reinterpret_cast<uint8_t *>(driver.host(gemm.aux))[(i * gemm.auxStride + gemm.auxStride - 1 - j) / 8];
  }
  double activated(double x, uint64_t i, uint64_t j) const {
    const double slope = 0.7978845608028654, cubic = 0.044715;
    const uint8_t bit = static_cast<uint8_t>(1u << (j % 8));
    switch (gemm.activation) {
    case Activation::None:
      return x;
    case Activation::Relu:
      if (gemm.aux)
        maskByte(i, j) = static_cast<uint8_t>(x > 0 ? maskByte(i, j) | bit : maskByte(i, j) & ~bit);
      return std::max(x, 0.0);
    case Activation::Gelu:
      if (gemm.aux)
        store(gemm.aux, i * gemm.auxStride + j, static_cast<float>(x));
      return 0.5 * x * (1 + std::tanh(slope * (x + cubic * x * x * x)));
    case Activation::ReluGradient:
      return maskByte(i, j) & bit ? x : 0;
    case Activation::GeluGradient: {
      const double at = load(gemm.aux, i * gemm.auxStride + j), t = std::tanh(slope * (at + cubic * at * at * at));
      return x * (0.5 * (1 + t) + 0.5 * at * (1 - t * t) * slope * (1 + 3 * cubic * at * at));
    }
    }
    return x;
  }
  void addUp() const {
    const Gemm &g = gemm;
    for (uint64_t at = 0; at < sumElements(); ++at) {
      double sum = 0;
      for (uint64_t i = 0; i < (g.sums == Sums::Result ? g.m : g.k); ++i)
        sum += g.sums == Sums::A   ? load(g.a.data, indexOf(g.a, 0, 0, at, i))
               : g.sums == Sums::B ? load(g.b.data, indexOf(g.b, 0, 0, i, at))
                                   : load(g.dst.data, indexOf(g.dst, 0, 0, i, at));
      store(g.sum, at, static_cast<float>(sum));
    }
  }

  FakeDriver &driver;
  Gemm gemm;
  size_t chosen = 0;
};
} // namespace

/// What cuBLASLt asks of the parts of gradients.
static std::string wrongParts(const Gemm &g) {
  const bool isGradient = g.activation == Activation::ReluGradient || g.activation == Activation::GeluGradient;
  const bool isRelu = g.activation == Activation::Relu || g.activation == Activation::ReluGradient;
  if (!g.aux && g.sums == Sums::None && !isGradient)
    return "";
  if (g.batch != 1 || g.parts.size() != 1 || g.parts[0].a || g.parts[0].b || g.parts[0].dst)
    return "the parts of a gradient are of a single product";
  if (isGradient && (!g.aux || g.hasBias || g.k == 1))
    return "the gradient of an activation needs what that kept, no bias, and more than one addend";
  if (g.aux &&
      (g.activation == Activation::None || g.aux % 16 || g.auxStride < g.n || g.auxStride % (isRelu ? 128 : 8)))
    return "what is kept for a gradient is not aligned";
  if (g.sums != Sums::None && ((g.sums == Sums::Result) != isGradient || g.hasBias || !g.sum || g.sum % 2 ||
                               (!isGradient && g.activation != Activation::None)))
    return "such a sum does not go with this product";
  return "";
}

absl::StatusOr<std::unique_ptr<PreparedGemm>> FakeBlas::prepare(const Gemm &gemm) {
  if (std::string wrong = wrongParts(gemm); !wrong.empty())
    return absl::InvalidArgumentError(wrong);
  if (gemm.type != DType::F32 && gemm.type != DType::BF16 && gemm.type != DType::F16)
    return absl::UnimplementedError("only f32, bf16 and f16");
  return std::make_unique<FakeGemm>(driver, gemm);
}

} // namespace dgc::testing
