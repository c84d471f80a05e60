// cuBLASLt, opened when a plan has products.
#include "runtime/artifact/GpuSizes.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/Blas.h"
#include "runtime/device/cuda/CublasLtApi.h"
#include "runtime/device/cuda/Library.h"
#include "runtime/device/cuda/Tuning.h"

#include <optional>

namespace dgc::rt::cuda {
namespace {

constexpr int kMostAlgorithms = 8;
constexpr char kWithoutParts[] = "; compile the model with --epilogues=bias, for products without gelu and gradients";
constexpr uint64_t kWorkspaceBytes = gpu::productWorkspaceBytes;

struct Api {
#define DGC_MEMBER(name, symbol, result, ...) result (*name)(__VA_ARGS__) = nullptr;
  DGC_CUBLASLT_FUNCTIONS(DGC_MEMBER)
#undef DGC_MEMBER

  absl::Status check(LtStatus status, std::string_view what) const {
    if (status == 0)
      return absl::OkStatus();
    return withExitCode(absl::InternalError(str(what, ": ", statusName(status))), ExitCode::Machine);
  }
};

/// A handle that is given back.
class Owned {
public:
  explicit Owned(LtStatus (*destroy)(LtHandle)) : destroy(destroy) {}
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;
  ~Owned() {
    if (handle)
      destroy(handle);
  }
  LtHandle handle = nullptr;

private:
  LtStatus (*destroy)(LtHandle);
};

std::optional<int> cudaType(DType type) {
  switch (type) {
  case DType::F16:
    return kCudaR16F;
  case DType::BF16:
    return kCudaR16BF;
  case DType::F32:
    return kCudaR32F;
  case DType::F64:
    return kCudaR64F;
  case DType::I1:
  case DType::I8:
  case DType::I16:
  case DType::I32:
  case DType::I64:
  case DType::U8:
  case DType::U16:
  case DType::U32:
  case DType::U64:
    break;
  }
  return std::nullopt;
}

bool hasGradientParts(const Gemm &gemm) {
  return gemm.aux || gemm.sums != Sums::None || gemm.activation > Activation::Relu;
}

/// Column-major, the library's A is `b`, and its B is `a`.
uint32_t epilogueOf(const Gemm &gemm) {
  constexpr uint32_t activations[] = {0, kLtRelu, kLtGelu, kLtReluGradient, kLtGeluGradient};
  constexpr uint32_t sums[] = {0, kLtSumRows, kLtSumB, kLtSumA};
  const uint32_t result = (gemm.hasBias ? kLtAddBias : 0) | (gemm.aux ? kLtKeep : 0) |
                          activations[static_cast<int>(gemm.activation)] | sums[static_cast<int>(gemm.sums)];
  return result ? result : kLtPlain;
}

class LtGemm final : public PreparedGemm {
public:
  LtGemm(const Api &api, LtHandle library, Gemm gemm)
      : api(api), library(library), gemm(std::move(gemm)), descriptor(api.destroyDescriptor), left(api.destroyLayout),
        right(api.destroyLayout), result(api.destroyLayout) {}

  absl::Status prepare();
  absl::Status run(Driver::Stream stream, Address workspace) override {
    auto at = [&](Address address, uint64_t offset = 0) {
      return reinterpret_cast<void *>(address + offset * sizeOf(gemm.type));
    };
    bool wide = gemm.type == DType::F64;
    const double one64 = 1, zero64 = 0;
    const float one32 = 1, zero32 = 0;
    const void *one = wide ? static_cast<const void *>(&one64) : &one32;
    const void *zero = wide ? static_cast<const void *>(&zero64) : &zero32;
    // Column-major, the transposed result is the product of the transposed operands in the other order.
    for (const Gemm::Part &part : gemm.parts) {
      void *dst = at(gemm.dst.data, part.dst);
      DGC_RETURN_IF_ERROR(
          api.check(api.matmul(library, descriptor.handle, one, at(gemm.b.data, part.b), left.handle,
                               at(gemm.a.data, part.a), right.handle, zero, dst, result.handle, dst, result.handle,
                               &found[chosen].algorithm, reinterpret_cast<void *>(workspace), kWorkspaceBytes, stream),
                    "cublasLtMatmul"));
    }
    return absl::OkStatus();
  }
  size_t algorithms() const override { return found.size(); }
  void choose(size_t algorithm) override { chosen = algorithm; }

private:
  /// Column-major: `rows` are contiguous.
  absl::Status layout(Owned &owned, int type, uint64_t rows, uint64_t columns, const Matrices &matrices) {
    uint64_t storedRows = matrices.transposed ? columns : rows, storedColumns = matrices.transposed ? rows : columns;
    DGC_RETURN_IF_ERROR(api.check(
        api.createLayout(&owned.handle, type, storedRows, storedColumns, static_cast<int64_t>(matrices.rowStride)),
        "cublasLtMatrixLayoutCreate"));
    int32_t count = static_cast<int32_t>(gemm.batch);
    int64_t offset = static_cast<int64_t>(matrices.batchStride);
    DGC_RETURN_IF_ERROR(
        api.check(api.setLayout(owned.handle, kLtBatchCount, &count, sizeof count), "the batch of a product"));
    return api.check(api.setLayout(owned.handle, kLtBatchOffset, &offset, sizeof offset), "the batch of a product");
  }
  template <typename T> absl::Status set(int attribute, T value) {
    return api.check(api.setDescriptor(descriptor.handle, attribute, &value, sizeof value),
                     "cublasLtMatmulDescSetAttribute");
  }

  const Api &api;
  LtHandle library;
  Gemm gemm;
  Owned descriptor, left, right, result;
  std::vector<LtHeuristicResult> found;
  size_t chosen = 0;
};

absl::Status LtGemm::prepare() {
  std::optional<int> type = cudaType(gemm.type);
  if (!type)
    return absl::UnimplementedError(
        str("products of ", nameOf(gemm.type), " on GPUs; f32, bf16, f16 and f64 are supported"));
  bool wide = gemm.type == DType::F64;
  const int compute = wide ? kLtCompute64F : gemm.tf32 && gemm.type == DType::F32 ? kLtComputeTF32 : kLtCompute32F;
  DGC_RETURN_IF_ERROR(api.check(api.createDescriptor(&descriptor.handle, compute, wide ? kCudaR64F : kCudaR32F),
                                "cublasLtMatmulDescCreate"));
  DGC_RETURN_IF_ERROR(set(kLtTransposeA, gemm.b.transposed ? kLtTransposed : kLtNotTransposed));
  DGC_RETURN_IF_ERROR(set(kLtTransposeB, gemm.a.transposed ? kLtTransposed : kLtNotTransposed));
  DGC_RETURN_IF_ERROR(set(kLtEpilogue, epilogueOf(gemm)));
  if (gemm.hasBias)
    DGC_RETURN_IF_ERROR(set(kLtBias, reinterpret_cast<const void *>(gemm.bias)));
  if (gemm.sums != Sums::None)
    DGC_RETURN_IF_ERROR(set(kLtBias, reinterpret_cast<void *>(gemm.sum)));
  if (gemm.aux) {
    DGC_RETURN_IF_ERROR(set(kLtAux, reinterpret_cast<void *>(gemm.aux)));
    DGC_RETURN_IF_ERROR(set(kLtAuxStride, static_cast<int64_t>(gemm.auxStride)));
  }
  DGC_RETURN_IF_ERROR(layout(left, *type, gemm.n, gemm.k, gemm.b));
  DGC_RETURN_IF_ERROR(layout(right, *type, gemm.k, gemm.m, gemm.a));
  DGC_RETURN_IF_ERROR(layout(result, *type, gemm.n, gemm.m, gemm.dst));
  Owned preference(api.destroyPreference);
  DGC_RETURN_IF_ERROR(api.check(api.createPreference(&preference.handle), "cublasLtMatmulPreferenceCreate"));
  DGC_RETURN_IF_ERROR(
      api.check(api.setPreference(preference.handle, kLtWorkspaceBytes, &kWorkspaceBytes, sizeof kWorkspaceBytes),
                "cublasLtMatmulPreferenceSetAttribute"));
  found.resize(kMostAlgorithms);
  int count = 0;
  DGC_RETURN_IF_ERROR(api.check(api.heuristic(library, descriptor.handle, left.handle, right.handle, result.handle,
                                              result.handle, preference.handle, kMostAlgorithms, found.data(), &count),
                                "cublasLtMatmulAlgoGetHeuristic"));
  found.resize(static_cast<size_t>(count));
  std::erase_if(found, [](const LtHeuristicResult &result) { return result.state != 0; });
  if (found.empty())
    return withExitCode(absl::UnimplementedError(str("cuBLASLt ", api.version(),
                                                     " has no algorithm for this product: ", describeProduct(gemm),
                                                     hasGradientParts(gemm) ? kWithoutParts : "")),
                        ExitCode::Machine);
  return absl::OkStatus();
}

class CublasLt final : public Blas {
public:
  ~CublasLt() override {
    if (library)
      api.destroy(library);
  }

  absl::Status open() {
    DGC_ASSIGN_OR_RETURN(Library found, findLibrary("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}));
#define DGC_FIND(name, symbol, result, ...)                                                                            \
  api.name = reinterpret_cast<result (*)(__VA_ARGS__)>(found.find(#symbol));                                           \
  if (!api.name)                                                                                                       \
    return withExitCode(absl::NotFoundError(str(found.path, " has no " #symbol)), ExitCode::Machine);
    DGC_CUBLASLT_FUNCTIONS(DGC_FIND)
#undef DGC_FIND
    return api.check(api.create(&library), str(found.path, ": cublasLtCreate"));
  }

  absl::StatusOr<std::unique_ptr<PreparedGemm>> prepare(const Gemm &gemm) override {
    auto prepared = std::make_unique<LtGemm>(api, library, gemm);
    DGC_RETURN_IF_ERROR(prepared->prepare());
    return std::unique_ptr<PreparedGemm>(std::move(prepared));
  }
  uint64_t workspaceBytes() const override { return kWorkspaceBytes; }
  std::string version() const override { return str("cuBLASLt ", api.version()); }

private:
  Api api;
  LtHandle library = nullptr;
};

} // namespace

absl::StatusOr<std::unique_ptr<Blas>> openCublasLt() {
  auto blas = std::make_unique<CublasLt>();
  DGC_RETURN_IF_ERROR(blas->open());
  return std::unique_ptr<Blas>(std::move(blas));
}

} // namespace dgc::rt::cuda
