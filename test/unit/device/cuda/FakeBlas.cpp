// Products on a fake GPU.
#include "test/unit/device/cuda/FakeDriver.h"

#include <algorithm>

using namespace dgc::rt;
using namespace dgc::rt::cuda;

namespace dgc::testing {

//===-- Products --------------------------------------------------------===//

namespace {
class FakeGemm final : public PreparedGemm {
public:
  FakeGemm(FakeDriver &driver, const Gemm &gemm) : driver(driver), gemm(gemm) {}

  absl::Status run(Driver::Stream stream, Address workspace) override {
    const Gemm &g = gemm;
    uint64_t width = sizeOf(g.type);
    return driver.enqueue("product", stream,
                          {{g.a, g.batch * g.m * g.k * width, false},
                           {g.b, g.batch * g.k * g.n * width, false},
                           {g.bias, g.hasBias ? g.n * width : 0, false},
                           {workspace, 4096, true},
                           {g.dst, g.batch * g.m * g.n * width, true}},
                          [this] { multiply(); });
  }

private:
  void multiply() const {
    const Gemm &g = gemm;
    auto *a = reinterpret_cast<const float *>(driver.host(g.a)), *b = reinterpret_cast<const float *>(driver.host(g.b));
    auto *bias = reinterpret_cast<const float *>(driver.host(g.bias));
    auto *dst = reinterpret_cast<float *>(driver.host(g.dst));
    for (uint64_t batch = 0; batch < g.batch; ++batch, a += g.m * g.k, b += g.k * g.n, dst += g.m * g.n)
      for (uint64_t i = 0; i < g.m; ++i)
        for (uint64_t j = 0; j < g.n; ++j) {
          double sum = g.hasBias ? bias[j] : 0;
          for (uint64_t l = 0; l < g.k; ++l)
            sum += double(g.transposeA ? a[l * g.m + i] : a[i * g.k + l]) *
                   (g.transposeB ? b[j * g.k + l] : b[l * g.n + j]);
          dst[i * g.n + j] = static_cast<float>(g.relu ? std::max(sum, 0.0) : sum);
        }
  }

  FakeDriver &driver;
  Gemm gemm;
};
} // namespace

absl::StatusOr<std::unique_ptr<PreparedGemm>> FakeBlas::prepare(const Gemm &gemm) {
  if (gemm.type != DType::F32)
    return absl::UnimplementedError("only f32");
  return std::make_unique<FakeGemm>(driver, gemm);
}

} // namespace dgc::testing
