/* A libcuda.so.1 for tests of what is said when the driver is not as it should
 * be. $FAKE_CUDA says what is wrong. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *what) {
  const char *mode = getenv("FAKE_CUDA");
  return mode && strcmp(mode, what) == 0;
}

int cuInit(unsigned flags) { return is("no GPU") ? 100 : 0; }
int cuDriverGetVersion(int *version) {
  *version = is("old") ? 11040 : 13000;
  return 0;
}
int cuGetErrorName(int error, const char **name) {
  *name = error == 46  ? "CUDA_ERROR_DEVICE_UNAVAILABLE"
          : error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY"
                       : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuGetErrorString(int error, const char **text) {
  *text = error == 46  ? "CUDA-capable device(s) is/are busy or unavailable"
          : error == 2 ? "out of memory"
                       : "unknown error";
  return 0;
}
int cuDeviceGetCount(int *count) {
  *count = is("zero GPUs") ? 0 : is("two GPUs") ? 2 : 1;
  return 0;
}
int cuDeviceGet(int *device, int index) {
  *device = index;
  return 0;
}
int cuDeviceGetName(char *name, int size, int device) {
  strncpy(name, device == 0 ? "Test GPU" : "Second GPU", (size_t)size);
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? 8 : 6;
  return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  *bytes = (size_t)1 << 30;
  return 0;
}
int cuDeviceGetPCIBusId(char *id, int size, int device) {
  strncpy(id, "0000:65:00.0", (size_t)size);
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = (void *)1;
  return is("busy") ? 46 : 0;
}

int cuDeviceGetUuid_v2(char *id, int device) {
  memset(id, device, 16);
  return 0;
}
int cuDeviceCanAccessPeer(int *can, int device, int peer) {
  *can = !is("apart");
  return 0;
}
int cuCtxEnablePeerAccess(void *context, unsigned flags) { return is("enabled") ? 704 : is("refuses") ? 217 : 0; }
int cuIpcGetMemHandle(char *handle, unsigned long long memory) {
  memcpy(handle, &memory, sizeof memory);
  return is("no IPC") ? 801 : 0;
}
int cuMemAlloc_v2(unsigned long long *memory, size_t bytes) {
  if (is("hangs"))
    sleep(600);
  if (is("crashes"))
    abort();
  return is("out of memory") ? 2 : 0;
}
typedef struct {
  char bytes[64];
} Handle;
int cuIpcOpenMemHandle_v2(unsigned long long *memory, Handle handle, unsigned flags) {
  memcpy(memory, handle.bytes, sizeof *memory);
  return flags == 1 ? 0 : 1;
}
int cuStreamQuery(void *stream) { return stream == 0 ? 600 : stream == (void *)1 ? 0 : 719; }

/* The rest is there, and does nothing. */
#define REST(name)                                                                                                     \
  int name(void) { return 0; }
REST(cuDevicePrimaryCtxRelease_v2)
REST(cuCtxSetCurrent)
REST(cuEventSynchronize)
REST(cuEventQuery)
REST(cuEventElapsedTime)
REST(cuMemFree_v2)
REST(cuIpcCloseMemHandle)
REST(cuMemHostAlloc)
REST(cuMemFreeHost)
REST(cuMemHostRegister_v2)
REST(cuMemHostUnregister)
REST(cuStreamCreate)
REST(cuStreamDestroy_v2)
REST(cuStreamSynchronize)
REST(cuEventCreate)
REST(cuEventDestroy_v2)
REST(cuEventRecord)
REST(cuStreamWaitEvent)
REST(cuModuleLoadDataEx)
REST(cuModuleUnload)
REST(cuModuleGetFunction)
REST(cuLaunchKernel)
REST(cuMemcpyHtoDAsync_v2)
REST(cuMemcpyDtoHAsync_v2)
REST(cuMemcpyDtoDAsync_v2)
REST(cuMemsetD8Async)
REST(cuMemsetD16Async)
REST(cuMemsetD32Async)
REST(cuStreamBeginCapture_v2)
REST(cuStreamEndCapture)
REST(cuGraphInstantiateWithFlags)
REST(cuGraphLaunch)
REST(cuGraphDestroy)
REST(cuGraphExecDestroy)
