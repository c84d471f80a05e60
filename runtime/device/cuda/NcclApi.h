// The functions of NCCL that are used, declared here for the same reason as those of the driver (CudaApi.h).
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

namespace dgc::rt::cuda {

using NcclResult = int;
using NcclComm = void *;
using NcclStream = void *;

constexpr NcclResult kNcclSuccess = 0, kNcclInProgress = 7;                                     // ncclResult_t
constexpr int kNcclSum = 0, kNcclProduct = 1, kNcclMax = 2, kNcclMin = 3;                       // ncclRedOp_t
constexpr int kNcclI8 = 0, kNcclU8 = 1, kNcclI32 = 2, kNcclU32 = 3, kNcclI64 = 4, kNcclU64 = 5; // ncclDataType_t
constexpr int kNcclF16 = 6, kNcclF32 = 7, kNcclF64 = 8, kNcclBF16 = 9;
/// The oldest that has all that is used here.
constexpr int kNcclNeededVersion = 21800;

struct NcclUniqueId {
  char bytes[128];
};

/// As it was in version 2.18: newer ones take what is there, and have defaults for the rest.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = kNcclNeededVersion;
  int blocking = INT_MIN; // INT_MIN, null: as NCCL sees fit
  int clusterSize = INT_MIN;
  int fewestBlocks = INT_MIN, mostBlocks = INT_MIN;
  const char *network = nullptr;
  int splitShare = INT_MIN;
};

// X(name of the member, symbol of the library, type of the result, types of the arguments)
#define DGC_NCCL_FUNCTIONS(X)                                                                                          \
  X(version, ncclGetVersion, NcclResult, int *)                                                                        \
  X(uniqueId, ncclGetUniqueId, NcclResult, NcclUniqueId *)                                                             \
  X(init, ncclCommInitRankConfig, NcclResult, NcclComm *, int, NcclUniqueId, int, NcclConfig *)                        \
  X(finalize, ncclCommFinalize, NcclResult, NcclComm)                                                                  \
  X(destroy, ncclCommDestroy, NcclResult, NcclComm)                                                                    \
  X(abort, ncclCommAbort, NcclResult, NcclComm)                                                                        \
  X(asyncError, ncclCommGetAsyncError, NcclResult, NcclComm, NcclResult *)                                             \
  X(errorText, ncclGetErrorString, const char *, NcclResult)                                                           \
  X(lastError, ncclGetLastError, const char *, NcclComm)                                                               \
  X(groupStart, ncclGroupStart, NcclResult, )                                                                          \
  X(groupEnd, ncclGroupEnd, NcclResult, )                                                                              \
  X(allReduce, ncclAllReduce, NcclResult, const void *, void *, size_t, int, int, NcclComm, NcclStream)                \
  X(reduceScatter, ncclReduceScatter, NcclResult, const void *, void *, size_t, int, int, NcclComm, NcclStream)        \
  X(allGather, ncclAllGather, NcclResult, const void *, void *, size_t, int, NcclComm, NcclStream)                     \
  X(broadcast, ncclBroadcast, NcclResult, const void *, void *, size_t, int, int, NcclComm, NcclStream)                \
  X(send, ncclSend, NcclResult, const void *, size_t, int, int, NcclComm, NcclStream)                                  \
  X(receive, ncclRecv, NcclResult, void *, size_t, int, int, NcclComm, NcclStream)

} // namespace dgc::rt::cuda
