// The functions of cuDNN's graph interface that are used, declared here for the same reason as those of the driver
// (CudaApi.h). Numbers are those of version 9.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dgc::rt::cuda {

using DnnStatus = int;
using DnnHandle = void *; // library, descriptors, streams

// cudnnStatus_t: from here on, and below the next thousand, an engine cannot do what was asked.
constexpr DnnStatus kDnnNotSupported = 3000;

// cudnnDataType_t, cudnnConvolutionMode_t, cudnnPointwiseMode_t
constexpr int kDnnF32 = 0, kDnnF64 = 1, kDnnF16 = 2, kDnnI32 = 4, kDnnBF16 = 9, kDnnI64 = 10, kDnnBoolean = 11;
constexpr int kDnnCrossCorrelation = 1;
constexpr int kDnnAdd = 0, kDnnMultiply = 1, kDnnDivide = 6, kDnnSubtract = 9, kDnnExp = 13, kDnnLog = 15,
              kDnnIdentity = 21, kDnnRelu = 100, kDnnGreaterOrEqual = 303, kDnnGenerateIndex = 501, kDnnSelect = 601;
// cudnnReduceTensorOp_t
constexpr int kDnnReduceSum = 0, kDnnReduceMax = 3;

// cudnnBackendHeurMode_t, cudnnBackendNumericalNote_t
constexpr int kDnnHeuristicB = 1, kDnnHeuristicFallback = 2, kDnnHeuristicA = 3;
constexpr int kDnnTensorCore = 0, kDnnDownConvert = 1, kDnnReducedReduction = 2, kDnnNondeterministic = 4;

// cudnnBackendAttributeType_t
constexpr int kDnnTypeHandle = 0, kDnnTypeDataType = 1, kDnnTypeBool = 2, kDnnTypeInt64 = 3, kDnnTypeFloat = 4,
              kDnnTypeDouble = 5, kDnnTypePointer = 6, kDnnTypeConvolutionMode = 7, kDnnTypeHeuristic = 8,
              kDnnTypeNote = 11, kDnnTypePointwise = 14, kDnnTypeDescriptor = 15, kDnnTypeReduction = 18,
              kDnnTypeChar = 24;

// cudnnBackendDescriptorType_t
constexpr int kDnnPointwise = 0, kDnnConvolution = 1, kDnnEngine = 2, kDnnEngineConfig = 3, kDnnHeuristic = 4,
              kDnnPlan = 5, kDnnConvolutionForward = 10, kDnnConvolutionBackwardFilter = 11,
              kDnnConvolutionBackwardData = 12, kDnnPointwiseOperation = 13, kDnnGraph = 15, kDnnVariantPack = 16,
              kDnnTensor = 17, kDnnMatmul = 18, kDnnMatmulOperation = 19, kDnnReduction = 21,
              kDnnReductionOperation = 22, kDnnReshapeOperation = 31, kDnnDeviceProperties = 38;

// cudnnBackendAttributeName_t, named after the descriptors above.
constexpr int kDnnPointwiseMode = 0, kDnnPointwiseComputeType = 1, kDnnPointwiseAxis = 9;
constexpr int kDnnConvolutionComputeType = 100, kDnnConvolutionMode = 101, kDnnConvolutionDilations = 102,
              kDnnConvolutionStrides = 103, kDnnConvolutionPadHigh = 104, kDnnConvolutionPadLow = 105,
              kDnnConvolutionSpatialDims = 106;
constexpr int kDnnHeuristicMode = 200, kDnnHeuristicGraph = 201, kDnnHeuristicResults = 202, kDnnHeuristicDevice = 204;
constexpr int kDnnConfigEngine = 300;
constexpr int kDnnPlanHandle = 400, kDnnPlanConfig = 401, kDnnPlanWorkspace = 402, kDnnPlanDevice = 407;
constexpr int kDnnForwardAlpha = 700, kDnnForwardBeta = 701, kDnnForwardConvolution = 702, kDnnForwardW = 703,
              kDnnForwardX = 704, kDnnForwardY = 705;
constexpr int kDnnBackwardDataAlpha = 706, kDnnBackwardDataBeta = 707, kDnnBackwardDataConvolution = 708,
              kDnnBackwardDataW = 709, kDnnBackwardDataDx = 710, kDnnBackwardDataDy = 711;
constexpr int kDnnBackwardFilterAlpha = 712, kDnnBackwardFilterBeta = 713, kDnnBackwardFilterConvolution = 714,
              kDnnBackwardFilterDw = 715, kDnnBackwardFilterX = 716, kDnnBackwardFilterDy = 717;
constexpr int kDnnPointwiseDescriptor = 750, kDnnPointwiseX = 751, kDnnPointwiseB = 752, kDnnPointwiseY = 753,
              kDnnPointwiseT = 758;
constexpr int kDnnGraphHandle = 800, kDnnGraphOperations = 801;
constexpr int kDnnTensorAlignment = 900, kDnnTensorType = 901, kDnnTensorDimensions = 902, kDnnTensorStrides = 903,
              kDnnTensorId = 906, kDnnTensorIsVirtual = 907, kDnnTensorIsByValue = 908;
constexpr int kDnnPackIds = 1000, kDnnPackPointers = 1001, kDnnPackWorkspace = 1003;
constexpr int kDnnEngineNotes = 1303;
constexpr int kDnnMatmulComputeType = 1500, kDnnMatmulA = 1520, kDnnMatmulB = 1521, kDnnMatmulC = 1522,
              kDnnMatmulDescriptor = 1523;
constexpr int kDnnReductionMode = 1600, kDnnReductionComputeType = 1601, kDnnReductionX = 1610, kDnnReductionY = 1611,
              kDnnReductionDescriptor = 1612;
constexpr int kDnnReshapeX = 2200, kDnnReshapeY = 2201;
constexpr int kDnnDeviceJson = 2702;

// X(name of the member, symbol of the library, type of the result, types of the arguments)
#define DGC_CUDNN_FUNCTIONS(X)                                                                                         \
  X(version, cudnnGetVersion, size_t, )                                                                                \
  X(statusText, cudnnGetErrorString, const char *, DnnStatus)                                                          \
  X(lastError, cudnnGetLastErrorString, void, char *, size_t)                                                          \
  X(create, cudnnCreate, DnnStatus, DnnHandle *)                                                                       \
  X(destroy, cudnnDestroy, DnnStatus, DnnHandle)                                                                       \
  X(setStream, cudnnSetStream, DnnStatus, DnnHandle, DnnHandle)                                                        \
  X(createDescriptor, cudnnBackendCreateDescriptor, DnnStatus, int, DnnHandle *)                                       \
  X(destroyDescriptor, cudnnBackendDestroyDescriptor, DnnStatus, DnnHandle)                                            \
  X(finalize, cudnnBackendFinalize, DnnStatus, DnnHandle)                                                              \
  X(setAttribute, cudnnBackendSetAttribute, DnnStatus, DnnHandle, int, int, int64_t, const void *)                     \
  X(getAttribute, cudnnBackendGetAttribute, DnnStatus, DnnHandle, int, int, int64_t, int64_t *, void *)                \
  X(execute, cudnnBackendExecute, DnnStatus, DnnHandle, DnnHandle, DnnHandle)

} // namespace dgc::rt::cuda
