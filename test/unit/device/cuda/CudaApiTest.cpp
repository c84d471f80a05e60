// What is declared of NVIDIA's libraries is what their headers say.
#include "runtime/device/cuda/CudaApi.h"
#include "runtime/device/cuda/CublasLtApi.h"
#include "runtime/device/cuda/CudnnApi.h"
#include "runtime/device/cuda/NcclApi.h"

#include <cublasLt.h>
#include <cuda.h>
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#define DGC_HAS_CUDNN 1
#endif
#if __has_include(<nccl.h>)
#include <nccl.h>
#define DGC_HAS_NCCL 1
#endif

#include <gtest/gtest.h>

#include <type_traits>

using namespace dgc::rt::cuda;
namespace cu = dgc::rt::cuda;

namespace {

/// Types that are passed in the same way: pointers for pointers, numbers for numbers of their size.
template <typename A, typename B> constexpr bool passedAlike() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>)
    return std::is_void_v<A> && std::is_void_v<B>;
  else if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>)
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

#ifdef DGC_HAS_NCCL
#define DGC_SAME_NCCL(name, symbol, result, ...)                                                                       \
  static_assert(sameFunction(decltype (&::symbol)(), static_cast<result (*)(__VA_ARGS__)>(nullptr)), #symbol);
DGC_NCCL_FUNCTIONS(DGC_SAME_NCCL)

static_assert(sizeof(cu::NcclUniqueId) == sizeof(ncclUniqueId));
static_assert(sizeof(cu::NcclConfig) <= sizeof(ncclConfig_t)); // the beginning of it
static_assert(offsetof(cu::NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(cu::NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(cu::NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(cu::NcclConfig, network) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(cu::NcclConfig, splitShare) == offsetof(ncclConfig_t, splitShare));

TEST(CudaApi, NumbersOfNccl) {
  ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  cu::NcclConfig ours;
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_LE(ours.version, theirs.version);
  EXPECT_EQ(ours.blocking, theirs.blocking);
  EXPECT_EQ(ours.splitShare, theirs.splitShare);
  EXPECT_EQ(cu::kNcclNeededVersion, NCCL_VERSION(2, 18, 0));
  EXPECT_EQ(cu::kNcclSuccess, int(ncclSuccess));
  EXPECT_EQ(cu::kNcclInProgress, int(ncclInProgress));
  EXPECT_EQ(cu::kNcclSum, int(ncclSum));
  EXPECT_EQ(cu::kNcclProduct, int(ncclProd));
  EXPECT_EQ(cu::kNcclMax, int(ncclMax));
  EXPECT_EQ(cu::kNcclMin, int(ncclMin));
  EXPECT_EQ(cu::kNcclI8, int(ncclInt8));
  EXPECT_EQ(cu::kNcclU8, int(ncclUint8));
  EXPECT_EQ(cu::kNcclI32, int(ncclInt32));
  EXPECT_EQ(cu::kNcclU32, int(ncclUint32));
  EXPECT_EQ(cu::kNcclI64, int(ncclInt64));
  EXPECT_EQ(cu::kNcclU64, int(ncclUint64));
  EXPECT_EQ(cu::kNcclF16, int(ncclFloat16));
  EXPECT_EQ(cu::kNcclF32, int(ncclFloat32));
  EXPECT_EQ(cu::kNcclF64, int(ncclFloat64));
  EXPECT_EQ(cu::kNcclBF16, int(ncclBfloat16));
}
#endif

static_assert(sizeof(cu::CuUuid) == sizeof(CUuuid));
static_assert(sizeof(cu::CuIpcHandle) == sizeof(CUipcMemHandle));
static_assert(sizeof(cu::LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(cu::LtHeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(cu::LtHeuristicResult, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(sizeof(cu::CuAddress) == sizeof(CUdeviceptr));

TEST(CudaApi, Numbers) {
  EXPECT_EQ(cu::kCuNoDevice, int(CUDA_ERROR_NO_DEVICE));
  EXPECT_EQ(cu::kCuNotReady, int(CUDA_ERROR_NOT_READY));
  EXPECT_EQ(cu::kCuPeerAlreadyEnabled, int(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED));
  EXPECT_EQ(cu::kCuIpcLazyPeerAccess, unsigned(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
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
  EXPECT_EQ(cu::kLtComputeTF32, int(CUBLAS_COMPUTE_32F_FAST_TF32));
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
  EXPECT_EQ(cu::kLtAux, int(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER));
  EXPECT_EQ(cu::kLtAuxStride, int(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD));
  EXPECT_EQ(cu::kLtRelu | cu::kLtAddBias, unsigned(CUBLASLT_EPILOGUE_RELU_BIAS));
  EXPECT_EQ(cu::kLtRelu | cu::kLtKeep, unsigned(CUBLASLT_EPILOGUE_RELU_AUX));
  EXPECT_EQ(cu::kLtRelu | cu::kLtKeep | cu::kLtAddBias, unsigned(CUBLASLT_EPILOGUE_RELU_AUX_BIAS));
  EXPECT_EQ(cu::kLtReluGradient, unsigned(CUBLASLT_EPILOGUE_DRELU));
  EXPECT_EQ(cu::kLtReluGradient | cu::kLtKeep | cu::kLtSumRows, unsigned(CUBLASLT_EPILOGUE_DRELU_BGRAD));
  EXPECT_EQ(cu::kLtGelu, unsigned(CUBLASLT_EPILOGUE_GELU));
  EXPECT_EQ(cu::kLtGelu | cu::kLtAddBias, unsigned(CUBLASLT_EPILOGUE_GELU_BIAS));
  EXPECT_EQ(cu::kLtGelu | cu::kLtKeep, unsigned(CUBLASLT_EPILOGUE_GELU_AUX));
  EXPECT_EQ(cu::kLtGelu | cu::kLtKeep | cu::kLtAddBias, unsigned(CUBLASLT_EPILOGUE_GELU_AUX_BIAS));
  EXPECT_EQ(cu::kLtGeluGradient, unsigned(CUBLASLT_EPILOGUE_DGELU));
  EXPECT_EQ(cu::kLtGeluGradient | cu::kLtKeep | cu::kLtSumRows, unsigned(CUBLASLT_EPILOGUE_DGELU_BGRAD));
  EXPECT_EQ(cu::kLtSumA, unsigned(CUBLASLT_EPILOGUE_BGRADA));
  EXPECT_EQ(cu::kLtSumB, unsigned(CUBLASLT_EPILOGUE_BGRADB));
}

#ifdef DGC_HAS_CUDNN
#define DGC_SAME_DNN(name, symbol, result, ...)                                                                        \
  static_assert(sameFunction(decltype (&::symbol)(), static_cast<result (*)(__VA_ARGS__)>(nullptr)), #symbol);
DGC_CUDNN_FUNCTIONS(DGC_SAME_DNN)

TEST(CudaApi, NumbersOfCudnn) {
  EXPECT_EQ(cu::kDnnNotSupported, int(CUDNN_STATUS_NOT_SUPPORTED));
  EXPECT_EQ(cu::kDnnF32, int(CUDNN_DATA_FLOAT));
  EXPECT_EQ(cu::kDnnF64, int(CUDNN_DATA_DOUBLE));
  EXPECT_EQ(cu::kDnnF16, int(CUDNN_DATA_HALF));
  EXPECT_EQ(cu::kDnnI32, int(CUDNN_DATA_INT32));
  EXPECT_EQ(cu::kDnnBF16, int(CUDNN_DATA_BFLOAT16));
  EXPECT_EQ(cu::kDnnI64, int(CUDNN_DATA_INT64));
  EXPECT_EQ(cu::kDnnBoolean, int(CUDNN_DATA_BOOLEAN));
  EXPECT_EQ(cu::kDnnCrossCorrelation, int(CUDNN_CROSS_CORRELATION));
  EXPECT_EQ(cu::kDnnAdd, int(CUDNN_POINTWISE_ADD));
  EXPECT_EQ(cu::kDnnMultiply, int(CUDNN_POINTWISE_MUL));
  EXPECT_EQ(cu::kDnnSubtract, int(CUDNN_POINTWISE_SUB));
  EXPECT_EQ(cu::kDnnExp, int(CUDNN_POINTWISE_EXP));
  EXPECT_EQ(cu::kDnnRelu, int(CUDNN_POINTWISE_RELU_FWD));
  EXPECT_EQ(cu::kDnnDivide, int(CUDNN_POINTWISE_DIV));
  EXPECT_EQ(cu::kDnnLog, int(CUDNN_POINTWISE_LOG));
  EXPECT_EQ(cu::kDnnIdentity, int(CUDNN_POINTWISE_IDENTITY));
  EXPECT_EQ(cu::kDnnGreaterOrEqual, int(CUDNN_POINTWISE_CMP_GE));
  EXPECT_EQ(cu::kDnnGenerateIndex, int(CUDNN_POINTWISE_GEN_INDEX));
  EXPECT_EQ(cu::kDnnSelect, int(CUDNN_POINTWISE_BINARY_SELECT));
  EXPECT_EQ(cu::kDnnReduceSum, int(CUDNN_REDUCE_TENSOR_ADD));
  EXPECT_EQ(cu::kDnnReduceMax, int(CUDNN_REDUCE_TENSOR_MAX));
  EXPECT_EQ(cu::kDnnTypeReduction, int(CUDNN_TYPE_REDUCTION_OPERATOR_TYPE));
  EXPECT_EQ(cu::kDnnMatmul, int(CUDNN_BACKEND_MATMUL_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnMatmulOperation, int(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnReduction, int(CUDNN_BACKEND_REDUCTION_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnReductionOperation, int(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnReshapeOperation, int(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnPointwiseAxis, int(CUDNN_ATTR_POINTWISE_AXIS));
  EXPECT_EQ(cu::kDnnPointwiseT, int(CUDNN_ATTR_OPERATION_POINTWISE_TDESC));
  EXPECT_EQ(cu::kDnnMatmulComputeType, int(CUDNN_ATTR_MATMUL_COMP_TYPE));
  EXPECT_EQ(cu::kDnnMatmulA, int(CUDNN_ATTR_OPERATION_MATMUL_ADESC));
  EXPECT_EQ(cu::kDnnMatmulB, int(CUDNN_ATTR_OPERATION_MATMUL_BDESC));
  EXPECT_EQ(cu::kDnnMatmulC, int(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
  EXPECT_EQ(cu::kDnnMatmulDescriptor, int(CUDNN_ATTR_OPERATION_MATMUL_DESC));
  EXPECT_EQ(cu::kDnnReductionMode, int(CUDNN_ATTR_REDUCTION_OPERATOR));
  EXPECT_EQ(cu::kDnnReductionComputeType, int(CUDNN_ATTR_REDUCTION_COMP_TYPE));
  EXPECT_EQ(cu::kDnnReductionX, int(CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
  EXPECT_EQ(cu::kDnnReductionY, int(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
  EXPECT_EQ(cu::kDnnReductionDescriptor, int(CUDNN_ATTR_OPERATION_REDUCTION_DESC));
  EXPECT_EQ(cu::kDnnReshapeX, int(CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
  EXPECT_EQ(cu::kDnnReshapeY, int(CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
  EXPECT_EQ(cu::kDnnHeuristicB, int(CUDNN_HEUR_MODE_B));
  EXPECT_EQ(cu::kDnnHeuristicFallback, int(CUDNN_HEUR_MODE_FALLBACK));
  EXPECT_EQ(cu::kDnnHeuristicA, int(CUDNN_HEUR_MODE_A));
  EXPECT_EQ(cu::kDnnTensorCore, int(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
  EXPECT_EQ(cu::kDnnDownConvert, int(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
  EXPECT_EQ(cu::kDnnReducedReduction, int(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION));
  EXPECT_EQ(cu::kDnnNondeterministic, int(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
  EXPECT_EQ(cu::kDnnTypeHandle, int(CUDNN_TYPE_HANDLE));
  EXPECT_EQ(cu::kDnnTypeDataType, int(CUDNN_TYPE_DATA_TYPE));
  EXPECT_EQ(cu::kDnnTypeBool, int(CUDNN_TYPE_BOOLEAN));
  EXPECT_EQ(cu::kDnnTypeInt64, int(CUDNN_TYPE_INT64));
  EXPECT_EQ(cu::kDnnTypeFloat, int(CUDNN_TYPE_FLOAT));
  EXPECT_EQ(cu::kDnnTypeDouble, int(CUDNN_TYPE_DOUBLE));
  EXPECT_EQ(cu::kDnnTypePointer, int(CUDNN_TYPE_VOID_PTR));
  EXPECT_EQ(cu::kDnnTypeConvolutionMode, int(CUDNN_TYPE_CONVOLUTION_MODE));
  EXPECT_EQ(cu::kDnnTypeHeuristic, int(CUDNN_TYPE_HEUR_MODE));
  EXPECT_EQ(cu::kDnnTypeNote, int(CUDNN_TYPE_NUMERICAL_NOTE));
  EXPECT_EQ(cu::kDnnTypePointwise, int(CUDNN_TYPE_POINTWISE_MODE));
  EXPECT_EQ(cu::kDnnTypeDescriptor, int(CUDNN_TYPE_BACKEND_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnTypeChar, int(CUDNN_TYPE_CHAR));
  EXPECT_EQ(cu::kDnnPointwise, int(CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnConvolution, int(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnEngine, int(CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnEngineConfig, int(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnHeuristic, int(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnPlan, int(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnConvolutionForward, int(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnConvolutionBackwardFilter, int(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnConvolutionBackwardData, int(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnPointwiseOperation, int(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnGraph, int(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnVariantPack, int(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnTensor, int(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnDeviceProperties, int(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnPointwiseMode, int(CUDNN_ATTR_POINTWISE_MODE));
  EXPECT_EQ(cu::kDnnPointwiseComputeType, int(CUDNN_ATTR_POINTWISE_MATH_PREC));
  EXPECT_EQ(cu::kDnnConvolutionComputeType, int(CUDNN_ATTR_CONVOLUTION_COMP_TYPE));
  EXPECT_EQ(cu::kDnnConvolutionMode, int(CUDNN_ATTR_CONVOLUTION_CONV_MODE));
  EXPECT_EQ(cu::kDnnConvolutionDilations, int(CUDNN_ATTR_CONVOLUTION_DILATIONS));
  EXPECT_EQ(cu::kDnnConvolutionStrides, int(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES));
  EXPECT_EQ(cu::kDnnConvolutionPadHigh, int(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS));
  EXPECT_EQ(cu::kDnnConvolutionPadLow, int(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS));
  EXPECT_EQ(cu::kDnnConvolutionSpatialDims, int(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  EXPECT_EQ(cu::kDnnHeuristicMode, int(CUDNN_ATTR_ENGINEHEUR_MODE));
  EXPECT_EQ(cu::kDnnHeuristicGraph, int(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
  EXPECT_EQ(cu::kDnnHeuristicResults, int(CUDNN_ATTR_ENGINEHEUR_RESULTS));
  EXPECT_EQ(cu::kDnnHeuristicDevice, int(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP));
  EXPECT_EQ(cu::kDnnConfigEngine, int(CUDNN_ATTR_ENGINECFG_ENGINE));
  EXPECT_EQ(cu::kDnnPlanHandle, int(CUDNN_ATTR_EXECUTION_PLAN_HANDLE));
  EXPECT_EQ(cu::kDnnPlanConfig, int(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
  EXPECT_EQ(cu::kDnnPlanWorkspace, int(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  EXPECT_EQ(cu::kDnnPlanDevice, int(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP));
  EXPECT_EQ(cu::kDnnForwardAlpha, int(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA));
  EXPECT_EQ(cu::kDnnForwardBeta, int(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA));
  EXPECT_EQ(cu::kDnnForwardConvolution, int(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC));
  EXPECT_EQ(cu::kDnnForwardW, int(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W));
  EXPECT_EQ(cu::kDnnForwardX, int(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X));
  EXPECT_EQ(cu::kDnnForwardY, int(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
  EXPECT_EQ(cu::kDnnBackwardDataAlpha, int(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA));
  EXPECT_EQ(cu::kDnnBackwardDataBeta, int(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA));
  EXPECT_EQ(cu::kDnnBackwardDataConvolution, int(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC));
  EXPECT_EQ(cu::kDnnBackwardDataW, int(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W));
  EXPECT_EQ(cu::kDnnBackwardDataDx, int(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX));
  EXPECT_EQ(cu::kDnnBackwardDataDy, int(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY));
  EXPECT_EQ(cu::kDnnBackwardFilterAlpha, int(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA));
  EXPECT_EQ(cu::kDnnBackwardFilterBeta, int(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA));
  EXPECT_EQ(cu::kDnnBackwardFilterConvolution, int(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC));
  EXPECT_EQ(cu::kDnnBackwardFilterDw, int(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW));
  EXPECT_EQ(cu::kDnnBackwardFilterX, int(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X));
  EXPECT_EQ(cu::kDnnBackwardFilterDy, int(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY));
  EXPECT_EQ(cu::kDnnPointwiseDescriptor, int(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR));
  EXPECT_EQ(cu::kDnnPointwiseX, int(CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
  EXPECT_EQ(cu::kDnnPointwiseB, int(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
  EXPECT_EQ(cu::kDnnPointwiseY, int(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
  EXPECT_EQ(cu::kDnnGraphHandle, int(CUDNN_ATTR_OPERATIONGRAPH_HANDLE));
  EXPECT_EQ(cu::kDnnGraphOperations, int(CUDNN_ATTR_OPERATIONGRAPH_OPS));
  EXPECT_EQ(cu::kDnnTensorAlignment, int(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
  EXPECT_EQ(cu::kDnnTensorType, int(CUDNN_ATTR_TENSOR_DATA_TYPE));
  EXPECT_EQ(cu::kDnnTensorDimensions, int(CUDNN_ATTR_TENSOR_DIMENSIONS));
  EXPECT_EQ(cu::kDnnTensorStrides, int(CUDNN_ATTR_TENSOR_STRIDES));
  EXPECT_EQ(cu::kDnnTensorId, int(CUDNN_ATTR_TENSOR_UNIQUE_ID));
  EXPECT_EQ(cu::kDnnTensorIsVirtual, int(CUDNN_ATTR_TENSOR_IS_VIRTUAL));
  EXPECT_EQ(cu::kDnnTensorIsByValue, int(CUDNN_ATTR_TENSOR_IS_BY_VALUE));
  EXPECT_EQ(cu::kDnnPackIds, int(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS));
  EXPECT_EQ(cu::kDnnPackPointers, int(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
  EXPECT_EQ(cu::kDnnPackWorkspace, int(CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
  EXPECT_EQ(cu::kDnnEngineNotes, int(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE));
  EXPECT_EQ(cu::kDnnDeviceJson, int(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION));
}
#endif

} // namespace
