// The functions of cuBLASLt that are used, declared here for the same reason as those of the driver (CudaApi.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace dgc::rt::cuda {

using LtStatus = int;
using LtHandle = void *; // library, descriptors, layouts, preferences, streams

constexpr int kCudaR32F = 0, kCudaR64F = 1, kCudaR16F = 2, kCudaR16BF = 14;       // cudaDataType_t
constexpr int kLtCompute32F = 68, kLtCompute64F = 70, kLtComputeTF32 = 77;        // cublasComputeType_t
constexpr int kLtTransposeA = 3, kLtTransposeB = 4, kLtEpilogue = 7, kLtBias = 8; // cublasLtMatmulDescAttributes_t
constexpr int kLtAux = 11, kLtAuxStride = 12;
constexpr int kLtBatchCount = 5, kLtBatchOffset = 6;       // cublasLtMatrixLayoutAttribute_t
constexpr int kLtWorkspaceBytes = 1;                       // cublasLtMatmulPreferenceAttributes_t
constexpr int32_t kLtNotTransposed = 0, kLtTransposed = 1; // cublasOperation_t
// cublasLtEpilogue_t. Bias and what is kept for gradients are bits that go with the activations, and the sum of the rows
// goes with the gradients.
constexpr uint32_t kLtPlain = 1, kLtRelu = 2, kLtAddBias = 4, kLtGelu = 32, kLtKeep = 128;
constexpr uint32_t kLtReluGradient = 136, kLtGeluGradient = 192, kLtSumRows = 16, kLtSumA = 256, kLtSumB = 512;

struct LtAlgorithm {
  uint64_t data[8];
};
struct LtHeuristicResult {
  LtAlgorithm algorithm;
  size_t workspaceBytes;
  LtStatus state;
  float waves;
  int reserved[4];
};

// X(name of the member, symbol of the library, type of the result, types of the arguments)
#define DGC_CUBLASLT_FUNCTIONS(X)                                                                                      \
  X(create, cublasLtCreate, LtStatus, LtHandle *)                                                                      \
  X(destroy, cublasLtDestroy, LtStatus, LtHandle)                                                                      \
  X(version, cublasLtGetVersion, size_t, )                                                                             \
  X(statusName, cublasLtGetStatusName, const char *, LtStatus)                                                         \
  X(createDescriptor, cublasLtMatmulDescCreate, LtStatus, LtHandle *, int, int)                                        \
  X(destroyDescriptor, cublasLtMatmulDescDestroy, LtStatus, LtHandle)                                                  \
  X(setDescriptor, cublasLtMatmulDescSetAttribute, LtStatus, LtHandle, int, const void *, size_t)                      \
  X(createLayout, cublasLtMatrixLayoutCreate, LtStatus, LtHandle *, int, uint64_t, uint64_t, int64_t)                  \
  X(destroyLayout, cublasLtMatrixLayoutDestroy, LtStatus, LtHandle)                                                    \
  X(setLayout, cublasLtMatrixLayoutSetAttribute, LtStatus, LtHandle, int, const void *, size_t)                        \
  X(createPreference, cublasLtMatmulPreferenceCreate, LtStatus, LtHandle *)                                            \
  X(destroyPreference, cublasLtMatmulPreferenceDestroy, LtStatus, LtHandle)                                            \
  X(setPreference, cublasLtMatmulPreferenceSetAttribute, LtStatus, LtHandle, int, const void *, size_t)                \
  X(heuristic, cublasLtMatmulAlgoGetHeuristic, LtStatus, LtHandle, LtHandle, LtHandle, LtHandle, LtHandle, LtHandle,   \
    LtHandle, int, LtHeuristicResult *, int *)                                                                         \
  X(matmul, cublasLtMatmul, LtStatus, LtHandle, LtHandle, const void *, const void *, LtHandle, const void *,          \
    LtHandle, const void *, const void *, LtHandle, void *, LtHandle, const LtAlgorithm *, void *, size_t, LtHandle)

} // namespace dgc::rt::cuda
