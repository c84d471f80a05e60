// A driver that has no GPU but takes code: what cuDNN needs of one to compile for a GPU that is described to it.
int cuInit(unsigned flags) { return 100; /* no device */ }
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuDeviceGetCount(int *count) { return *count = 0, 0; }
int cuLibraryLoadData(void **library) { return *library = (void *)0x10, 0; }
int cuLibraryGetKernel(void **kernel) { return *kernel = (void *)0x20, 0; }
int cuLibraryUnload(void *library) { return 0; }

// It looks for these, and calls none.
#define NO(name)                                                                                                       \
  int name(void) { return 100; }
NO(cuCtxGetCurrent) NO(cuCtxGetDevice) NO(cuCtxGetLimit) NO(cuCtxPopCurrent) NO(cuCtxPushCurrent)
NO(cuDeviceGet) NO(cuDeviceGetAttribute) NO(cuDevicePrimaryCtxRelease) NO(cuDevicePrimaryCtxReset)
NO(cuDevicePrimaryCtxRetain) NO(cuFuncGetAttribute) NO(cuFuncSetAttribute) NO(cuGetErrorName) NO(cuGetErrorString)
NO(cuKernelGetAttribute) NO(cuKernelGetFunction) NO(cuKernelSetAttribute) NO(cuLaunchCooperativeKernel)
NO(cuLaunchKernel) NO(cuLaunchKernelEx) NO(cuLibraryLoadFromFile) NO(cuLinkAddData) NO(cuLinkAddData_v2)
NO(cuLinkAddFile_v2) NO(cuLinkComplete) NO(cuLinkCreate) NO(cuLinkCreate_v2) NO(cuLinkDestroy) NO(cuMemcpyDtoH_v2)
NO(cuModuleGetFunction) NO(cuModuleGetGlobal_v2) NO(cuModuleLoadData) NO(cuModuleLoadDataEx)
NO(cuModuleLoadFatBinary) NO(cuModuleUnload) NO(cuOccupancyMaxActiveBlocksPerMultiprocessor)
NO(cuOccupancyMaxPotentialClusterSize) NO(cuStreamGetCtx) NO(cuStreamGetGreenCtx) NO(cuStreamSynchronize)
NO(cuTensorMapEncodeTiled)
