// What is declared of NVIDIA's libraries is what their headers say.
#include "runtime/device/cuda/CudaApi.h"
#include "runtime/device/cuda/CublasLtApi.h"

#include <cublasLt.h>
#include <cuda.h>

#include <gtest/gtest.h>

#include <type_traits>

using namespace dgc::rt::cuda;
namespace cu = dgc::rt::cuda;

namespace {

/// Types that are passed in the same way: pointers for pointers, numbers for numbers of their size.
template <typename A, typename B> constexpr bool passedAlike() {
  if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>)
    return std::is_pointer_v<A> && std::is_pointer_v<B>;
  else
    return sizeof(A) == sizeof(B) && std::is_floating_point_v<A> == std::is_floating_point_v<B>;
}
template <typename R1, typename... A, typename R2, typename... B>
constexpr bool sameFunction(R1 (*)(A...), R2 (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B))
    return false;
  else
    return passedAlike<R1, R2>() && (passedAlike<A, B>() && ...);
}

// cuda.h names the functions of newer versions by macros.
#define DGC_SAME(name, symbol, ...)                                                                                    \
  static_assert(sameFunction(decltype (&::symbol)(), static_cast<cu::CuResult (*)(__VA_ARGS__)>(nullptr)), #symbol);
DGC_CUDA_DRIVER_FUNCTIONS(DGC_SAME)

#define DGC_SAME_LT(name, symbol, result, ...)                                                                         \
  static_assert(sameFunction(decltype (&::symbol)(), static_cast<result (*)(__VA_ARGS__)>(nullptr)), #symbol);
DGC_CUBLASLT_FUNCTIONS(DGC_SAME_LT)

static_assert(sizeof(cu::LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(cu::LtHeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(cu::LtHeuristicResult, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(sizeof(cu::CuAddress) == sizeof(CUdeviceptr));

TEST(CudaApi, Numbers) {
  EXPECT_EQ(cu::kCuNoDevice, int(CUDA_ERROR_NO_DEVICE));
  EXPECT_EQ(cu::kCuMajor, int(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  EXPECT_EQ(cu::kCuMinor, int(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  EXPECT_EQ(cu::kCuNonBlocking, unsigned(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(cu::kCuNoTiming, unsigned(CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(cu::kCuThreadLocal, int(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_EQ(cu::kCuErrorLog, int(CU_JIT_ERROR_LOG_BUFFER));
  EXPECT_EQ(cu::kCuErrorLogBytes, int(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
  EXPECT_EQ(cu::kCudaR32F, int(CUDA_R_32F));
  EXPECT_EQ(cu::kCudaR64F, int(CUDA_R_64F));
  EXPECT_EQ(cu::kCudaR16F, int(CUDA_R_16F));
  EXPECT_EQ(cu::kCudaR16BF, int(CUDA_R_16BF));
  EXPECT_EQ(cu::kLtCompute32F, int(CUBLAS_COMPUTE_32F));
  EXPECT_EQ(cu::kLtCompute64F, int(CUBLAS_COMPUTE_64F));
  EXPECT_EQ(cu::kLtTransposeA, int(CUBLASLT_MATMUL_DESC_TRANSA));
  EXPECT_EQ(cu::kLtTransposeB, int(CUBLASLT_MATMUL_DESC_TRANSB));
  EXPECT_EQ(cu::kLtEpilogue, int(CUBLASLT_MATMUL_DESC_EPILOGUE));
  EXPECT_EQ(cu::kLtBias, int(CUBLASLT_MATMUL_DESC_BIAS_POINTER));
  EXPECT_EQ(cu::kLtBatchCount, int(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
  EXPECT_EQ(cu::kLtBatchOffset, int(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
  EXPECT_EQ(cu::kLtWorkspaceBytes, int(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
  EXPECT_EQ(cu::kLtNotTransposed, int(CUBLAS_OP_N));
  EXPECT_EQ(cu::kLtTransposed, int(CUBLAS_OP_T));
  EXPECT_EQ(cu::kLtPlain, unsigned(CUBLASLT_EPILOGUE_DEFAULT));
  EXPECT_EQ(cu::kLtRelu, unsigned(CUBLASLT_EPILOGUE_RELU));
  EXPECT_EQ(cu::kLtAddBias, unsigned(CUBLASLT_EPILOGUE_BIAS));
  EXPECT_EQ(cu::kLtReluBias, unsigned(CUBLASLT_EPILOGUE_RELU_BIAS));
}

} // namespace
