#include "runtime/device/cuda/Nccl.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/collective/Copies.h"
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
      std::scoped_lock<std::mutex> lock(rest->mutex);
      ++rest->count;
    }
    std::thread([rest, comm, nccl = link->nccl]() mutable {
      nccl->abort(comm);
      nccl.reset(); // before anybody is told
      std::scoped_lock<std::mutex> lock(rest->mutex);
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
  const bool hasFunction = desc.kind == CollectiveKind::AllReduce || desc.kind == CollectiveKind::ReduceScatter;
  return !infoOf(desc.kind).reduces || (hasFunction && typeOf(desc.dtype) >= 0);
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
  NcclResult result = kNcclSuccess;
  auto keep = [&](NcclResult next) {
    if (result == kNcclSuccess || result == kNcclInProgress)
      result = next;
  };
  // What NCCL has no function for is copied between each pair of members.
  auto send = [&](const MemberCopy &copy) {
    if (!copy.isZero)
      keep(nccl->send(pointer(arena + copy.src), copy.bytes, kNcclU8, static_cast<int>(copy.to), comm, stream));
  };
  auto receive = [&](const MemberCopy &copy) {
    if (!copy.isZero)
      keep(nccl->receive(pointer(arena + copy.dst), copy.bytes, kNcclU8, static_cast<int>(copy.from), comm, stream));
  };
  auto copyBetweenPairs = [&] {
    for (uint32_t member = 0; member < c.members; ++member) {
      forEachCopy(desc, c, c.self, member, send);
      forEachCopy(desc, c, member, c.self, receive);
    }
  };
  auto forRanges = [&](auto function) {
    for (const CollectiveDesc::Range &range : c.ranges)
      if (range.srcCount)
        keep(function(range, pointer(arena + range.src), pointer(arena + range.dst)));
  };
  using Range = CollectiveDesc::Range;
  return grouped(std::string(nameOf(desc.kind)).c_str(), [&] {
    if (desc.kind == CollectiveKind::AllReduce)
      forRanges([&](const Range &range, void *src, void *dst) {
        return nccl->allReduce(src, dst, range.srcCount, typeOf(desc.dtype), operationOf(desc), comm, stream);
      });
    else if (desc.kind == CollectiveKind::ReduceScatter)
      forRanges([&](const Range &range, void *src, void *dst) {
        return nccl->reduceScatter(src, dst, range.dstCount, typeOf(desc.dtype), operationOf(desc), comm, stream);
      });
    else if (desc.kind == CollectiveKind::AllGather)
      forRanges([&](const Range &range, void *src, void *dst) {
        return nccl->allGather(src, dst, range.srcCount * c.elementSize, kNcclU8, comm, stream);
      });
    else if (desc.kind == CollectiveKind::Broadcast)
      forRanges([&](const Range &, void *src, void *dst) {
        return nccl->broadcast(src, dst, c.srcBytes, kNcclU8, static_cast<int>(desc.root), comm, stream);
      });
    else
      copyBetweenPairs();
    return result;
  });
}

absl::Status NcclLink::queue(const CollectiveDesc &desc, const CheckedCollective &c, Address arena, Driver &driver,
                             Driver::Stream stream) {
  absl::Status status;
  forEachCopy(desc, c, c.self, c.self, [&](const MemberCopy &copy) {
    if (copy.isZero && status.ok())
      status = driver.fill(arena + copy.dst, 0, 1, copy.bytes, stream);
  });
  DGC_RETURN_IF_ERROR(status);
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
