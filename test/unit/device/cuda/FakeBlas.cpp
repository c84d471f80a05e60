// Products on a fake GPU.
#include "test/unit/device/cuda/FakeDriver.h"

#include "runtime/base/Status.h"

#include <algorithm>
#include <bit>
#include <gtest/gtest.h>

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
  FakeGemm(FakeDriver &driver, const Gemm &gemm) : driver(driver), gemm(gemm) {}

  absl::Status run(Driver::Stream stream, Address workspace) override {
    for (const Gemm::Part &part : gemm.parts) {
      const Gemm &g = gemm;
      Bytes a = bytesOf(g.a, part.a, g.m, g.k), b = bytesOf(g.b, part.b, g.k, g.n);
      Bytes dst = bytesOf(g.dst, part.dst, g.m, g.n);
      absl::Status queued = driver.enqueue(str("product", chosen ? str(" ", chosen) : ""), stream,
                                           {{a.begin, a.size, false},
                                            {b.begin, b.size, false},
                                            {g.bias, g.hasBias ? g.n * sizeOf(g.type) : 0, false},
                                            {workspace, 4096, true},
                                            {dst.begin, dst.size, true}},
                                           [this, part] { multiply(part); });
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
    for (uint64_t batch = 0; batch < g.batch; ++batch)
      for (uint64_t i = 0; i < g.m; ++i)
        for (uint64_t j = 0; j < g.n; ++j) {
          double sum = g.hasBias ? load(g.bias, j) : 0;
          for (uint64_t l = 0; l < g.k; ++l)
            sum +=
                load(g.a.data, indexOf(g.a, part.a, batch, i, l)) * load(g.b.data, indexOf(g.b, part.b, batch, l, j));
          store(g.dst.data, indexOf(g.dst, part.dst, batch, i, j),
                static_cast<float>(g.relu ? std::max(sum, 0.0) : sum));
        }
  }

  FakeDriver &driver;
  Gemm gemm;
  size_t chosen = 0;
};
} // namespace

absl::StatusOr<std::unique_ptr<PreparedGemm>> FakeBlas::prepare(const Gemm &gemm) {
  if (gemm.type != DType::F32 && gemm.type != DType::BF16 && gemm.type != DType::F16)
    return absl::UnimplementedError("only f32, bf16 and f16");
  return std::make_unique<FakeGemm>(driver, gemm);
}

} // namespace dgc::testing
