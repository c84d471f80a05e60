// The functions of NVIDIA's driver that are used, declared here: the driver is opened when it is needed, and neither
// its headers nor its library have to be there where this is built. Names and types are those of the driver's binary
// interface, which does not change; CudaApiTest compares them with cuda.h where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dgc::rt::cuda {

using CuResult = int;
using CuDevice = int;
using CuHandle = void *; // contexts, modules, functions, streams, events, graphs
using CuAddress = unsigned long long;

constexpr CuResult kCuNoDevice = 100, kCuNotReady = 600, kCuPeerAlreadyEnabled = 704;
constexpr int kCuMajor = 75, kCuMinor = 76;          // of CUdevice_attribute
constexpr unsigned kCuNonBlocking = 1;               // CU_STREAM_NON_BLOCKING
constexpr unsigned kCuNoTiming = 2;                  // CU_EVENT_DISABLE_TIMING
constexpr int kCuThreadLocal = 1;                    // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
constexpr unsigned kCuIpcLazyPeerAccess = 1;         // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
constexpr int kCuErrorLog = 5, kCuErrorLogBytes = 6; // of CUjit_option

struct CuUuid {
  char bytes[16];
};
struct CuIpcHandle {
  char bytes[64];
};

// X(name of the member, symbol of the library, types of the arguments)
#define DGC_CUDA_DRIVER_FUNCTIONS(X)                                                                                   \
  X(init, cuInit, unsigned)                                                                                            \
  X(driverVersion, cuDriverGetVersion, int *)                                                                          \
  X(errorName, cuGetErrorName, CuResult, const char **)                                                                \
  X(errorText, cuGetErrorString, CuResult, const char **)                                                              \
  X(deviceCount, cuDeviceGetCount, int *)                                                                              \
  X(device, cuDeviceGet, CuDevice *, int)                                                                              \
  X(deviceName, cuDeviceGetName, char *, int, CuDevice)                                                                \
  X(deviceAttribute, cuDeviceGetAttribute, int *, int, CuDevice)                                                       \
  X(deviceBytes, cuDeviceTotalMem_v2, size_t *, CuDevice)                                                              \
  X(deviceBusId, cuDeviceGetPCIBusId, char *, int, CuDevice)                                                           \
  X(deviceUuid, cuDeviceGetUuid_v2, CuUuid *, CuDevice)                                                                \
  X(canAccessPeer, cuDeviceCanAccessPeer, int *, CuDevice, CuDevice)                                                   \
  X(enablePeerAccess, cuCtxEnablePeerAccess, CuHandle, unsigned)                                                       \
  X(retainContext, cuDevicePrimaryCtxRetain, CuHandle *, CuDevice)                                                     \
  X(releaseContext, cuDevicePrimaryCtxRelease_v2, CuDevice)                                                            \
  X(setContext, cuCtxSetCurrent, CuHandle)                                                                             \
  X(allocate, cuMemAlloc_v2, CuAddress *, size_t)                                                                      \
  X(release, cuMemFree_v2, CuAddress)                                                                                  \
  X(shareMemory, cuIpcGetMemHandle, CuIpcHandle *, CuAddress)                                                          \
  X(openShared, cuIpcOpenMemHandle_v2, CuAddress *, CuIpcHandle, unsigned)                                             \
  X(closeShared, cuIpcCloseMemHandle, CuAddress)                                                                       \
  X(allocateHost, cuMemHostAlloc, void **, size_t, unsigned)                                                           \
  X(releaseHost, cuMemFreeHost, void *)                                                                                \
  X(pinHost, cuMemHostRegister_v2, void *, size_t, unsigned)                                                           \
  X(unpinHost, cuMemHostUnregister, void *)                                                                            \
  X(createStream, cuStreamCreate, CuHandle *, unsigned)                                                                \
  X(destroyStream, cuStreamDestroy_v2, CuHandle)                                                                       \
  X(synchronize, cuStreamSynchronize, CuHandle)                                                                        \
  X(queryStream, cuStreamQuery, CuHandle)                                                                              \
  X(createEvent, cuEventCreate, CuHandle *, unsigned)                                                                  \
  X(destroyEvent, cuEventDestroy_v2, CuHandle)                                                                         \
  X(recordEvent, cuEventRecord, CuHandle, CuHandle)                                                                    \
  X(waitEvent, cuStreamWaitEvent, CuHandle, CuHandle, unsigned)                                                        \
  X(awaitEvent, cuEventSynchronize, CuHandle)                                                                          \
  X(queryEvent, cuEventQuery, CuHandle)                                                                                \
  X(elapsedTime, cuEventElapsedTime, float *, CuHandle, CuHandle)                                                      \
  X(loadModule, cuModuleLoadDataEx, CuHandle *, const void *, unsigned, int *, void **)                                \
  X(unloadModule, cuModuleUnload, CuHandle)                                                                            \
  X(findFunction, cuModuleGetFunction, CuHandle *, CuHandle, const char *)                                             \
  X(launch, cuLaunchKernel, CuHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CuHandle,  \
    void **, void **)                                                                                                  \
  X(copyToDevice, cuMemcpyHtoDAsync_v2, CuAddress, const void *, size_t, CuHandle)                                     \
  X(copyToHost, cuMemcpyDtoHAsync_v2, void *, CuAddress, size_t, CuHandle)                                             \
  X(copy, cuMemcpyDtoDAsync_v2, CuAddress, CuAddress, size_t, CuHandle)                                                \
  X(fill8, cuMemsetD8Async, CuAddress, unsigned char, size_t, CuHandle)                                                \
  X(fill16, cuMemsetD16Async, CuAddress, unsigned short, size_t, CuHandle)                                             \
  X(fill32, cuMemsetD32Async, CuAddress, unsigned, size_t, CuHandle)                                                   \
  X(beginCapture, cuStreamBeginCapture_v2, CuHandle, int)                                                              \
  X(endCapture, cuStreamEndCapture, CuHandle, CuHandle *)                                                              \
  X(instantiate, cuGraphInstantiateWithFlags, CuHandle *, CuHandle, unsigned long long)                                \
  X(launchGraph, cuGraphLaunch, CuHandle, CuHandle)                                                                    \
  X(destroyGraph, cuGraphDestroy, CuHandle)                                                                            \
  X(destroyExecutable, cuGraphExecDestroy, CuHandle)

} // namespace dgc::rt::cuda
