#include "runtime/device/cuda/Nccl.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/collective/Wait.h"
#include "runtime/device/cuda/Library.h"

#include <algorithm>
#include <condition_variable>
#include <thread>

namespace dgc::rt::cuda {

/// How long communicators are given to end, after an error; less where waits are shorter.
static constexpr double kAbortSeconds = 5;

std::string versionOfNccl(int number) { return str(number / 10000, ".", number / 100 % 100, ".", number % 100); }

absl::StatusOr<NcclFunctions> openNccl() {
  DGC_ASSIGN_OR_RETURN(Library library, findLibrary("NCCL", {"libnccl.so.2"}));
  auto nccl = std::make_shared<Nccl>();
  const char *lacking = nullptr;
#define DGC_FIND(name, symbol, result, ...)                                                                            \
  if (void *found = library.find(#symbol))                                                                             \
    nccl->name = reinterpret_cast<result (*)(__VA_ARGS__)>(found);                                                     \
  else                                                                                                                 \
    lacking = #symbol;
  DGC_NCCL_FUNCTIONS(DGC_FIND)
#undef DGC_FIND
  if (nccl->version)
    nccl->version(&nccl->number);
  if (lacking || nccl->number < kNcclNeededVersion)
    return withExitCode(
        absl::FailedPreconditionError(str(library.path, " is NCCL ", versionOfNccl(nccl->number),
                                          lacking ? str(" and has no ", lacking) : "", "; 2.18 is needed")),
        ExitCode::Machine);
  nccl->path = library.path;
  return NcclFunctions(std::move(nccl));
}

//===-- Errors and waiting ----------------------------------------------===//

absl::Status NcclLink::failure(NcclResult result, const char *what) {
  const char *detail = nccl->lastError(comm);
  return withExitCode(absl::InternalError(str(what, ": ", nccl->errorText(result), detail && *detail ? ": " : "",
                                              detail ? detail : "", " (NCCL error ", result, ")")),
                      ExitCode::Machine);
}

/// Waits until the communicator has done what it does in the background.
absl::Status NcclLink::settle(const char *what) {
  NcclResult now = kNcclInProgress, asked = kNcclSuccess;
  Waiter waiter(abortJob, timeoutSeconds);
  DGC_RETURN_IF_ERROR(waiter.until(
      [&] {
        asked = nccl->asyncError(comm, &now);
        return asked != kNcclSuccess || now != kNcclInProgress;
      },
      [&] {
        std::string others;
        for (uint32_t rank : group)
          others += str(others.empty() ? "" : ", ", rank);
        return str(what, " has taken more than ", timeoutSeconds, " s between ranks ", others);
      }));
  if (asked != kNcclSuccess)
    return failure(asked, "ncclCommGetAsyncError");
  return now == kNcclSuccess ? absl::OkStatus() : failure(now, what);
}

absl::Status NcclLink::check(NcclResult result, const char *what) {
  if (result != kNcclSuccess && result != kNcclInProgress)
    return failure(result, what);
  return settle(what);
}

absl::Status NcclLink::error() {
  NcclResult now = kNcclSuccess;
  if (NcclResult asked = nccl->asyncError(comm, &now); asked != kNcclSuccess)
    return failure(asked, "ncclCommGetAsyncError");
  return now == kNcclSuccess || now == kNcclInProgress ? absl::OkStatus() : failure(now, "communication");
}

//===-- Beginning and end -----------------------------------------------===//

absl::StatusOr<std::unique_ptr<NcclLink>> NcclLink::create(NcclFunctions nccl, std::vector<uint32_t> group, int self,
                                                           const NcclUniqueId &id, Abort &abort,
                                                           double timeoutSeconds) {
  const int members = static_cast<int>(group.size());
  std::unique_ptr<NcclLink> link(new NcclLink(std::move(nccl), std::move(group), abort, timeoutSeconds));
  NcclConfig config;
  config.blocking = 0;
  DGC_RETURN_IF_ERROR(link->check(link->nccl->init(&link->comm, members, id, self, &config), "ncclCommInitRankConfig"));
  return link;
}

NcclLink::~NcclLink() {
  if (comm)
    nccl->abort(comm);
}

absl::Status NcclLink::close(std::span<const std::unique_ptr<NcclLink>> links) {
  for (const std::unique_ptr<NcclLink> &link : links) {
    DGC_RETURN_IF_ERROR(link->check(link->nccl->finalize(link->comm), "ncclCommFinalize"));
    NcclComm comm = std::exchange(link->comm, nullptr);
    link->nccl->destroy(comm);
  }
  return absl::OkStatus();
}

bool NcclLink::abort(std::span<const std::unique_ptr<NcclLink>> links) {
  struct Rest {
    std::mutex mutex;
    std::condition_variable changed;
    size_t count = 0;
  };
  auto rest = std::make_shared<Rest>();
  double seconds = kAbortSeconds;
  for (const std::unique_ptr<NcclLink> &link : links) {
    NcclComm comm = link ? std::exchange(link->comm, nullptr) : nullptr;
    if (!comm)
      continue;
    seconds = std::min(seconds, link->timeoutSeconds);
    {
      std::lock_guard<std::mutex> lock(rest->mutex);
      ++rest->count;
    }
    std::thread([rest, comm, nccl = link->nccl]() mutable {
      nccl->abort(comm);
      nccl.reset(); // before anybody is told
      std::lock_guard<std::mutex> lock(rest->mutex);
      --rest->count;
      rest->changed.notify_all();
    }).detach();
  }
  std::unique_lock<std::mutex> lock(rest->mutex);
  return rest->changed.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return rest->count == 0; });
}

//===-- Operations ------------------------------------------------------===//

/// What NCCL calls a type, to be reduced; -1: it has none.
static int typeOf(DType type) {
  switch (type) {
  case DType::I1: // 0 or 1
  case DType::U8:
    return kNcclU8;
  case DType::I8:
    return kNcclI8;
  case DType::I32:
    return kNcclI32;
  case DType::U32:
    return kNcclU32;
  case DType::I64:
    return kNcclI64;
  case DType::U64:
    return kNcclU64;
  case DType::F16:
    return kNcclF16;
  case DType::BF16:
    return kNcclBF16;
  case DType::F32:
    return kNcclF32;
  case DType::F64:
    return kNcclF64;
  case DType::I16:
  case DType::U16:
    break;
  }
  return -1;
}

/// Of i1, a sum is "or" and a product "and".
static int operationOf(const CollectiveDesc &desc) {
  const bool isBool = desc.dtype == DType::I1;
  switch (desc.reduction) {
  case Reduction::Sum:
    return isBool ? kNcclMax : kNcclSum;
  case Reduction::Product:
    return isBool ? kNcclMin : kNcclProduct;
  case Reduction::Max:
    return kNcclMax;
  case Reduction::Min:
    break;
  }
  return kNcclMin;
}

bool NcclLink::does(const CollectiveDesc &desc) {
  bool reduces = desc.kind == CollectiveKind::AllReduce || desc.kind == CollectiveKind::ReduceScatter;
  return !reduces || typeOf(desc.dtype) >= 0;
}

static void *pointer(Address address) { return reinterpret_cast<void *>(address); }

template <typename Calls> absl::Status NcclLink::grouped(const char *what, Calls calls) {
  NcclResult result = nccl->groupStart();
  if (result != kNcclSuccess)
    return failure(result, "ncclGroupStart");
  NcclResult each = calls();
  result = nccl->groupEnd(); // also after an error: a group is of the thread
  return check(each != kNcclSuccess && each != kNcclInProgress ? each : result, what);
}

absl::Status NcclLink::call(const CollectiveDesc &desc, const CheckedCollective &c, Address arena,
                            Driver::Stream stream) {
  const uint32_t members = c.members;
  NcclResult result = kNcclSuccess;
  auto keep = [&](NcclResult next) {
    if (result == kNcclSuccess || result == kNcclInProgress)
      result = next;
  };
  auto send = [&](uint32_t member, uint64_t from, uint64_t bytes) {
    keep(nccl->send(pointer(arena + from), bytes, kNcclU8, static_cast<int>(member), comm, stream));
  };
  auto receive = [&](uint32_t member, uint64_t to, uint64_t bytes) {
    keep(nccl->receive(pointer(arena + to), bytes, kNcclU8, static_cast<int>(member), comm, stream));
  };
  return grouped(collectiveName(desc.kind).data(), [&] {
    for (const CollectiveDesc::Range &range : c.ranges) {
      void *src = pointer(arena + range.src), *dst = pointer(arena + range.dst);
      if (range.srcCount == 0)
        continue;
      switch (desc.kind) {
      case CollectiveKind::AllReduce:
        keep(nccl->allReduce(src, dst, range.srcCount, typeOf(desc.dtype), operationOf(desc), comm, stream));
        break;
      case CollectiveKind::ReduceScatter:
        keep(nccl->reduceScatter(src, dst, range.dstCount, typeOf(desc.dtype), operationOf(desc), comm, stream));
        break;
      case CollectiveKind::AllGather:
        keep(nccl->allGather(src, dst, range.srcCount * c.elementSize, kNcclU8, comm, stream));
        break;
      case CollectiveKind::Broadcast:
        keep(nccl->broadcast(src, dst, c.srcBytes, kNcclU8, static_cast<int>(desc.root), comm, stream));
        break;
      case CollectiveKind::AllToAll:
        for (uint32_t m = 0; m < members; ++m) {
          const uint64_t part = c.srcBytes / members;
          send(m, desc.src + m * part, part);
          receive(m, desc.dst + m * part, part);
        }
        break;
      case CollectiveKind::Permute:
        if (uint32_t to = desc.permutation[c.self]; to != CollectiveDesc::kNoRank)
          send(to, desc.src, c.srcBytes);
        if (uint32_t from = permutationSource(desc.permutation, c.self); from != CollectiveDesc::kNoRank)
          receive(from, desc.dst, c.srcBytes);
        break;
      }
    }
    return result;
  });
}

absl::Status NcclLink::queue(const CollectiveDesc &desc, const CheckedCollective &c, Address arena, Driver &driver,
                             Driver::Stream stream) {
  if (desc.kind == CollectiveKind::Permute && c.dstBytes &&
      permutationSource(desc.permutation, c.self) == CollectiveDesc::kNoRank)
    DGC_RETURN_IF_ERROR(driver.fill(arena + desc.dst, 0, 1, c.dstBytes, stream));
  return call(desc, c, arena, stream);
}

absl::Status NcclLink::queueSend(Address data, uint64_t bytes, uint32_t toRank, Driver::Stream stream) {
  auto member = static_cast<int>(std::find(group.begin(), group.end(), toRank) - group.begin());
  return bytes == 0 ? absl::OkStatus()
                    : grouped("send", [&] { return nccl->send(pointer(data), bytes, kNcclU8, member, comm, stream); });
}

absl::Status NcclLink::queueReceive(Address data, uint64_t bytes, uint32_t fromRank, Driver::Stream stream) {
  auto member = static_cast<int>(std::find(group.begin(), group.end(), fromRank) - group.begin());
  return bytes == 0
             ? absl::OkStatus()
             : grouped("receive", [&] { return nccl->receive(pointer(data), bytes, kNcclU8, member, comm, stream); });
}

} // namespace dgc::rt::cuda
