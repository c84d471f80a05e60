#include "test/unit/device/cuda/FakeNccl.h"

#include "runtime/collective/Reduce.h"

#include <cstring>

using namespace dgc::rt;
using namespace dgc::rt::cuda;

namespace dgc::testing {

static constexpr NcclResult kCudaError = 1, kSystemError = 2, kInvalidUsage = 5;

FakeNetwork::~FakeNetwork() = default;

static DType typeOf(int type) {
  constexpr DType types[] = {DType::I8,  DType::U8,  DType::I32, DType::U32, DType::I64,
                             DType::U64, DType::F16, DType::F32, DType::F64, DType::BF16};
  return types[type];
}

//===-- Operations, as the GPU does them --------------------------------===//

static bool isMessage(int kind) { return kind >= 4; }

/// Tells the other members that this one has come by.
void FakeNetwork::arrive(Communicator &comm, const std::vector<Operation> &operations) {
  comm.arrived = true;
  comm.sendNumbers.clear();
  Group &group = *comm.group;
  std::string what;
  std::vector<std::string> sent;
  for (const Operation &op : operations) {
    const uint64_t bytes = op.count * sizeOf(op.type);
    if (op.kind == Operation::Send) {
      std::pair pair(comm.rank, op.peer);
      comm.sendNumbers.push_back(group.sent[pair]++);
      group.messages[pair].emplace_back(reinterpret_cast<const char *>(op.src), bytes);
    } else if (op.kind == Operation::Receive) {
      ++group.wanted[{op.peer, comm.rank}];
    } else {
      uint64_t from = op.kind == Operation::ReduceScatter ? bytes * static_cast<uint64_t>(group.members) : bytes;
      what += op.what + "; ";
      sent.emplace_back(reinterpret_cast<const char *>(op.src), from);
    }
  }
  if (sent.empty())
    return;
  Rendezvous &current = group.rendezvous[comm.rendezvous++];
  if (current.sent.empty())
    current.what = what;
  else if (current.what != what)
    wrong("member " + std::to_string(comm.rank) + " does " + what + "where another one does " + current.what);
  current.sent[comm.rank] = std::move(sent);
}

bool FakeNetwork::isReady(Communicator &comm, const std::vector<Operation> &operations) {
  std::scoped_lock<std::mutex> lock(mutex);
  if (comm.aborted)
    return true;
  if (!comm.arrived)
    arrive(comm, operations);
  Group &group = *comm.group;
  size_t sends = 0;
  bool meets = false;
  std::map<int, size_t> receives;
  for (const Operation &op : operations) {
    if (op.kind == Operation::Send && group.wanted[{comm.rank, op.peer}] <= comm.sendNumbers[sends++])
      return false;
    if (op.kind == Operation::Receive && group.messages[{op.peer, comm.rank}].size() < ++receives[op.peer])
      return false;
    meets |= !isMessage(op.kind);
  }
  return !meets || group.rendezvous[comm.rendezvous - 1].sent.size() == static_cast<size_t>(group.members);
}

void FakeNetwork::run(Communicator &comm, const std::vector<Operation> &operations) {
  std::scoped_lock<std::mutex> lock(mutex);
  if (comm.aborted)
    return; // what is there then is nobody's business
  comm.arrived = false;
  Group &group = *comm.group;
  size_t index = 0;
  for (const Operation &op : operations) {
    const uint64_t bytes = op.count * sizeOf(op.type);
    if (op.kind == Operation::Send)
      continue;
    if (op.kind == Operation::Receive) {
      std::deque<std::string> &messages = group.messages[{op.peer, comm.rank}];
      if (messages.front().size() != bytes)
        wrong("a message of " + std::to_string(messages.front().size()) + " bytes is received as one of " +
              std::to_string(bytes));
      std::memcpy(op.dst, messages.front().data(), std::min<size_t>(bytes, messages.front().size()));
      messages.pop_front();
      continue;
    }
    std::vector<const void *> srcs;
    for (auto &[member, sent] : group.rendezvous[comm.rendezvous - 1].sent)
      if (index < sent.size())
        srcs.push_back(sent[index].data());
    ++index;
    if (op.kind == Operation::AllGather) {
      for (size_t m = 0; m < srcs.size(); ++m)
        std::memcpy(op.dst + m * bytes, srcs[m], bytes);
    } else if (op.kind == Operation::Broadcast) {
      std::memcpy(op.dst, srcs[static_cast<size_t>(op.peer)], bytes);
    } else {
      for (const void *&src : srcs)
        src = static_cast<const std::byte *>(src) +
              (op.kind == Operation::ReduceScatter ? static_cast<uint64_t>(comm.rank) * bytes : 0);
      void *dst = op.dst;
      selectReduce(op.type, op.reduction)(&dst, 1, srcs.data(), static_cast<int>(srcs.size()), op.count);
    }
  }
}

//===-- Functions, as one rank calls them -------------------------------===//

struct FakeRank {
  FakeNetwork &network;
  FakeDriver &driver;
  std::shared_ptr<FakeLog> log;
  int untilFailure;
  int depth = 0;
  std::string last;
  // Of the group of calls that is open.
  std::vector<FakeNetwork::Operation> pending;
  FakeNetwork::Communicator *pendingOn = nullptr;
  void *pendingStream = nullptr;
  NcclResult started = 0;

  FakeRank(FakeNetwork &network, FakeDriver &driver, std::shared_ptr<FakeLog> log, int failAt)
      : network(network), driver(driver), log(std::move(log)), untilFailure(failAt) {}
  ~FakeRank() {
    for (auto &comm : network.all)
      if (mine.contains(&comm) && !comm.ended)
        network.wrong("a communicator is neither destroyed nor aborted");
  }
  std::set<FakeNetwork::Communicator *> mine;

  bool fails() {
    if (untilFailure < 0 || untilFailure-- > 0)
      return false;
    last = "injected";
    return true;
  }

  /// Before each use of a communicator.
  FakeNetwork::Communicator &use(NcclComm handle, const char *what) {
    auto &comm = *static_cast<FakeNetwork::Communicator *>(handle);
    if (comm.ended)
      network.wrong(std::string(what) + " on a communicator that has ended");
    else if (comm.error)
      network.wrong(std::string(what) + " on a communicator after an error");
    else if (comm.polls > 0)
      network.wrong(std::string(what) + " while the call before is in progress");
    return comm;
  }

  NcclResult init(NcclComm *out, int members, NcclUniqueId id, int rank, NcclConfig *config) {
    std::scoped_lock<std::mutex> lock(network.mutex);
    if (fails())
      return kSystemError;
    if (config->blocking != 0 || config->magic != 0xcafebeef)
      network.wrong("a communicator that blocks");
    FakeNetwork::Group &group = network.groups[id.bytes];
    if (group.members && group.members != members)
      network.wrong("members do not agree how many they are");
    group.members = members;
    ++group.joined;
    for (const GpuId &gpu : group.gpus)
      group.duplicate |= gpu == driver.gpu().id;
    group.gpus.push_back(driver.gpu().id);
    auto &comm = network.all.emplace_back();
    comm.group = &group;
    comm.rank = rank;
    comm.polls = 2;
    comm.askings = 3;
    mine.insert(&comm);
    ++network.communicators;
    *out = &comm;
    return kNcclInProgress;
  }

  NcclResult asyncError(NcclComm handle, NcclResult *result) {
    std::scoped_lock<std::mutex> lock(network.mutex);
    auto &comm = *static_cast<FakeNetwork::Communicator *>(handle);
    if (comm.ended)
      network.wrong("asyncError on a communicator that has ended");
    if (comm.group->duplicate) {
      last = "Duplicate GPU detected";
      comm.error = kInvalidUsage;
    }
    // How often it is asked while it, or the GPU, waits for others depends on when these come.
    const bool waits = comm.group->joined < comm.group->members || comm.askings == 0;
    comm.askings -= !waits;
    if (!comm.error && (waits ? network.failsInWaits == driver.gpu().id[0] : fails()))
      comm.error = kSystemError;
    *result = comm.error;
    if (!comm.error && (comm.group->joined < comm.group->members || comm.polls > 0)) {
      comm.polls -= comm.group->joined == comm.group->members;
      *result = kNcclInProgress;
    }
    return kNcclSuccess;
  }

  NcclResult end(NcclComm handle, bool aborts, bool hung = false) {
    std::unique_lock<std::mutex> lock(network.mutex);
    auto &comm = *static_cast<FakeNetwork::Communicator *>(handle);
    if (comm.ended)
      network.wrong("a communicator is ended twice");
    else if (!hung && driver.isInGraphs("nccl"))
      network.wrong("a communicator is ended while graphs have parts of it");
    else if (!aborts && (comm.error || !comm.finalized || comm.polls > 0))
      network.wrong("a communicator is destroyed that was not finalized, or after an error");
    comm.ended = true;
    comm.aborted = aborts;
    network.aborts += aborts;
    return kNcclSuccess;
  }

  NcclResult finalize(NcclComm handle) {
    std::scoped_lock<std::mutex> lock(network.mutex);
    auto &comm = use(handle, "ncclCommFinalize");
    if (fails())
      return comm.error = kSystemError;
    comm.finalized = true;
    comm.polls = 2;
    comm.askings = 3;
    return kNcclInProgress;
  }

  NcclResult call(FakeNetwork::Operation op, NcclComm handle, void *stream) {
    std::unique_lock<std::mutex> lock(network.mutex);
    auto &comm = use(handle, "a collective");
    if (fails())
      return comm.error = kSystemError;
    if (pendingOn && (pendingOn != &comm || pendingStream != stream))
      network.wrong("a group of calls on more than one communicator or stream");
    pendingOn = &comm;
    pendingStream = stream;
    pending.push_back(std::move(op));
    lock.unlock();
    return depth ? kNcclSuccess : flush();
  }

  /// Queues the group.
  NcclResult flush() {
    std::vector<FakeNetwork::Operation> operations = std::exchange(pending, {});
    FakeNetwork::Communicator *comm = std::exchange(pendingOn, nullptr);
    if (!comm)
      return kNcclSuccess;
    std::vector<FakeDriver::Access> accesses;
    for (const FakeNetwork::Operation &op : operations) {
      uint64_t bytes = op.count * sizeOf(op.type), all = bytes * static_cast<uint64_t>(comm->group->members);
      if (op.src)
        accesses.push_back(
            {driver.device(op.src), op.kind == FakeNetwork::Operation::ReduceScatter ? all : bytes, false});
      if (op.dst)
        accesses.push_back({driver.device(op.dst), op.kind == FakeNetwork::Operation::AllGather ? all : bytes, true});
    }
    ++network.operations;
    absl::Status queued = driver.enqueue(
        "nccl", pendingStream, std::move(accesses),
        [&network = network, comm, operations] { network.run(*comm, operations); },
        [&network = network, comm, operations] { return network.isReady(*comm, operations); });
    std::scoped_lock<std::mutex> lock(network.mutex);
    if (!queued.ok()) {
      last = std::string(queued.message());
      return comm->error = kCudaError;
    }
    comm->polls = 2;
    comm->askings = 3;
    return kNcclInProgress;
  }
};

NcclFunctions FakeNetwork::functions(FakeDriver &driver, std::shared_ptr<FakeLog> log) {
  std::scoped_lock<std::mutex> lock(mutex);
  auto failure = failures.find(driver.gpu().id[0]);
  auto rank =
      std::make_shared<FakeRank>(*this, driver, std::move(log), failure == failures.end() ? -1 : failure->second);
  auto nccl = std::make_shared<Nccl>();
  nccl->number = 22809;
  nccl->path = "libnccl.so.2";
  nccl->version = [](int *number) { return *number = 22809, kNcclSuccess; };
  nccl->uniqueId = [rank](NcclUniqueId *id) {
    std::scoped_lock<std::mutex> lock(rank->network.mutex);
    if (rank->fails())
      return kSystemError;
    std::snprintf(id->bytes, sizeof id->bytes, "group %d", rank->network.ids++);
    return kNcclSuccess;
  };
  nccl->init = [rank](NcclComm *out, int members, NcclUniqueId id, int self, NcclConfig *config) {
    return rank->init(out, members, id, self, config);
  };
  nccl->finalize = [rank](NcclComm comm) { return rank->finalize(comm); };
  nccl->destroy = [rank](NcclComm comm) { return rank->end(comm, false); };
  nccl->abort = [rank](NcclComm comm) {
    const bool hung = rank->network.hangsInAbort; // then all else may be gone
    while (rank->network.hangsInAbort)
      std::this_thread::yield();
    return rank->end(comm, true, hung);
  };
  nccl->asyncError = [rank](NcclComm comm, NcclResult *result) { return rank->asyncError(comm, result); };
  nccl->errorText = [](NcclResult result) {
    return result == kInvalidUsage ? "invalid usage"
           : result == kCudaError  ? "unhandled cuda error"
                                   : "unhandled system error";
  };
  nccl->lastError = [rank](NcclComm) { return rank->last.c_str(); };
  nccl->groupStart = [rank] {
    ++rank->depth;
    return kNcclSuccess;
  };
  nccl->groupEnd = [rank] {
    if (rank->depth-- <= 0)
      rank->network.wrong("ncclGroupEnd without ncclGroupStart");
    return rank->depth ? kNcclSuccess : rank->flush();
  };
  using Op = Operation;
  FakeDriver *gpu = &driver;
  auto at = [gpu](const void *address) { return gpu->host(reinterpret_cast<Address>(address)); };
  auto make = [at](Op::Kind kind, const void *src, void *dst, size_t count, int type, int operation, int peer) {
    Op op{std::to_string(kind) + " of " + std::to_string(count) + " x " + std::to_string(type) + " by " +
              std::to_string(operation) + " from " + std::to_string(peer),
          kind};
    op.src = src ? at(src) : nullptr;
    op.dst = dst ? at(dst) : nullptr;
    op.count = count;
    op.type = typeOf(type);
    op.reduction = static_cast<Reduction>(operation);
    op.peer = peer;
    return op;
  };
  nccl->allReduce = [=](const void *src, void *dst, size_t n, int type, int op, NcclComm comm, NcclStream stream) {
    return rank->call(make(Op::AllReduce, src, dst, n, type, op, 0), comm, stream);
  };
  nccl->reduceScatter = [=](const void *src, void *dst, size_t n, int type, int op, NcclComm comm, NcclStream stream) {
    return rank->call(make(Op::ReduceScatter, src, dst, n, type, op, 0), comm, stream);
  };
  nccl->allGather = [=](const void *src, void *dst, size_t n, int type, NcclComm comm, NcclStream stream) {
    return rank->call(make(Op::AllGather, src, dst, n, type, 0, 0), comm, stream);
  };
  nccl->broadcast = [=](const void *src, void *dst, size_t n, int type, int root, NcclComm comm, NcclStream stream) {
    return rank->call(make(Op::Broadcast, src, dst, n, type, 0, root), comm, stream);
  };
  nccl->send = [=](const void *src, size_t n, int type, int peer, NcclComm comm, NcclStream stream) {
    return rank->call(make(Op::Send, src, nullptr, n, type, 0, peer), comm, stream);
  };
  nccl->receive = [=](void *dst, size_t n, int type, int peer, NcclComm comm, NcclStream stream) {
    return rank->call(make(Op::Receive, nullptr, dst, n, type, 0, peer), comm, stream);
  };
  return nccl;
}

} // namespace dgc::testing
