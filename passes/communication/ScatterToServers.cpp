// dgc-scatter-to-servers: each worker sends a parameter server the part of a gradient that it has added up.

#include "passes/communication/LinkModel.h"
#include "passes/communication/Passes.h"

#include "dialects/dgc/TensorBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-scatter-to-servers"

namespace dgc {
#define GEN_PASS_DEF_SCATTERTOSERVERSPASS
#include "passes/communication/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace mlir::dist;
using ::dgc::LinkModel;

namespace {
/// What an all-reduce gives for one server: its result, or some rows of it.
struct Push {
  AllReduceOp reduce;
  mlir::dgc::SliceOp rows; // null: all
  SendOp send;
  RecvOp receive;

  RankedTensorType type() { return send.getTransferType(); }
  int64_t bytes() { return type().getNumElements() * llvm::divideCeil(type().getElementTypeBitWidth(), 8); }
};

/// Pushes to one server that are sent together, in the place of the last.
struct Bucket {
  SmallVector<Push> pushes;
  int64_t bytes = 0;
};
} // namespace

static bool isSendToServer(Operation *op) {
  auto send = dyn_cast<SendOp>(op);
  return send && lookupMesh(send, send.getTargetAttr()).getNumDevices() == 1;
}

/// True when servers alone need what an all-reduce gives, whole or by rows.
static bool isOnlyForServers(AllReduceOp reduce) {
  return llvm::all_of(reduce->getUsers(), [](Operation *user) {
    return isSendToServer(user) || (isa<mlir::dgc::SliceOp>(user) && llvm::all_of(user->getUsers(), isSendToServer));
  });
}

/// The push that ends in `send`; nothing where that sends something else than what all workers have added up for
/// servers.
static std::optional<Push> pushOf(SendOp send, RecvOp receive) {
  Push push{{}, send.getInput().getDefiningOp<mlir::dgc::SliceOp>(), send, receive};
  if (!receive)
    return std::nullopt;
  push.reduce = (push.rows ? push.rows.getOperand() : send.getInput()).getDefiningOp<AllReduceOp>();
  MeshAttr source = lookupMesh(send, send.getSourceAttr()), target = lookupMesh(send, send.getTargetAttr());
  if (!push.reduce || push.reduce->getNumResults() != 1 || target.getNumDevices() != 1 ||
      getGroupSize(source, push.reduce.getAxes()) != source.getNumDevices() || !isOnlyForServers(push.reduce)) {
    LDBG() << "is not added up for servers alone: " << send;
    return std::nullopt;
  }
  return push;
}

/// Whether two pushes can be parts of one reduce-scatter.
static bool haveSameSum(Push a, Push b) {
  return a.type().getElementType() == b.type().getElementType() && a.reduce.getKind() == b.reduce.getKind() &&
         a.reduce.getAxesAttr() == b.reduce.getAxesAttr();
}

namespace {
/// Finds the buckets of one function. Pushes to a server stay in their order with everything else that goes to it.
class Buckets {
public:
  explicit Buckets(const DenseMap<Operation *, RecvOp> &receives) : receives(receives) {}

  SmallVector<Bucket> find(Block &block) {
    for (Operation &op : block) {
      if (auto send = dyn_cast<SendOp>(op))
        add(send);
      else if (isa<RecvOp>(op)) // may wait for what a server makes of a push
        closeAll();
    }
    closeAll();
    return std::move(closed);
  }

private:
  void add(SendOp send) {
    Bucket &bucket = open[send.getTargetAttr()];
    std::optional<Push> push = pushOf(send, receives.lookup(send));
    const int64_t limit = LinkModel::combineLimit(LinkModel::sameHost);
    if (!push || (!bucket.pushes.empty() &&
                  (!haveSameSum(bucket.pushes.front(), *push) || bucket.bytes + push->bytes() > limit)))
      close(bucket);
    if (!push)
      return;
    bucket.pushes.push_back(*push);
    bucket.bytes += push->bytes();
  }
  void close(Bucket &bucket) {
    if (!bucket.pushes.empty())
      closed.push_back(std::exchange(bucket, {}));
  }
  void closeAll() {
    for (auto &[target, bucket] : open)
      close(bucket);
  }

  const DenseMap<Operation *, RecvOp> &receives;
  llvm::MapVector<Attribute, Bucket> open;
  SmallVector<Bucket> closed;
};
} // namespace

/// "a | b", each once.
static StringAttr originOf(const Bucket &bucket) {
  SmallVector<StringRef> origins;
  for (Push push : bucket.pushes)
    if (StringAttr origin = push.reduce.getOriginAttr(); origin && !llvm::is_contained(origins, origin.getValue()))
      origins.push_back(origin.getValue());
  return origins.empty() ? StringAttr()
                         : StringAttr::get(Push(bucket.pushes.front()).send.getContext(), llvm::join(origins, " | "));
}

/// Adds up the values of a bucket one behind the other, so that each device has a part, and sends the parts. Returns
/// the type of all parts together.
static RankedTensorType scatterAndSend(const Bucket &bucket) {
  Push last = bucket.pushes.back();
  OpBuilder builder(last.send);
  Location location = last.send.getLoc();
  mlir::dgc::TensorBuilder b(builder, location);
  SmallVector<Value> flat;
  for (Push push : bucket.pushes) {
    Value value = push.reduce.getInputs()[0];
    if (push.rows)
      value = b.slice(value, push.rows.getStartIndices(), push.rows.getLimitIndices(), push.rows.getStrides());
    flat.push_back(b.reshape(value, {push.type().getNumElements()}));
  }
  Value all = flat.size() == 1 ? flat[0] : mlir::dgc::ConcatenateOp::create(builder, location, flat, 0).getResult();
  int64_t elements = cast<RankedTensorType>(all.getType()).getNumElements();
  int64_t members = lookupMesh(last.send, last.send.getSourceAttr()).getNumDevices();
  int64_t padded = llvm::alignTo(elements, members);
  all = b.padZero(all, {0}, {padded - elements});
  auto whole = cast<RankedTensorType>(all.getType());
  auto part = RankedTensorType::get({padded / members}, whole.getElementType());
  AllReduceOp reduce = last.reduce;
  Value sum = ReduceScatterOp::create(builder, location, part, all, reduce.getKind(), 0, reduce.getMesh(),
                                      reduce.getAxesAttr(), originOf(bucket))
                  .getResult(0);
  SendOp::create(builder, location, sum, last.send.getChannelAttr(), last.send.getSourceAttr(),
                 last.send.getTargetAttr(), last.send.getOriginAttr(), /*gathered=*/builder.getUnitAttr());
  return RankedTensorType::get({padded}, whole.getElementType());
}

/// Receives the parts of a bucket, and gives what was received one by one.
static void receiveAll(const Bucket &bucket, RankedTensorType type) {
  RecvOp first = bucket.pushes.front().receive;
  SendOp send = bucket.pushes.back().send;
  for (Push push : bucket.pushes)
    if (push.receive->isBeforeInBlock(first))
      first = push.receive;
  OpBuilder builder(first);
  mlir::dgc::TensorBuilder b(builder, first.getLoc());
  Value all = RecvOp::create(builder, first.getLoc(), type, send.getChannelAttr(), first.getSourceAttr(),
                             first.getTargetAttr(), first.getOriginAttr(), /*gathered=*/builder.getUnitAttr());
  int64_t begin = 0;
  for (Push push : bucket.pushes) {
    int64_t end = begin + push.type().getNumElements();
    RecvOp receive = push.receive;
    receive.getResult().replaceAllUsesWith(b.reshape(b.slice(all, {begin}, {end}), push.type().getShape()));
    begin = end;
  }
}

/// Erases what a bucket has replaced.
static void eraseReplaced(const Bucket &bucket) {
  for (Push push : bucket.pushes) {
    push.send.erase();
    push.receive.erase();
    if (push.rows && push.rows->use_empty())
      push.rows.erase();
  }
  llvm::SmallPtrSet<Operation *, 8> reduces;
  for (Push push : bucket.pushes)
    reduces.insert(push.reduce);
  for (Operation *reduce : reduces)
    if (reduce->use_empty())
      reduce->erase();
}

/// The two ends of each transfer between functions of one step: of one channel, the first belongs to the first.
static DenseMap<Operation *, RecvOp> findReceives(ModuleOp module) {
  using Key = std::tuple<Attribute, Attribute, Attribute, uint64_t>;
  llvm::MapVector<Key, std::pair<SmallVector<SendOp>, SmallVector<RecvOp>>> transfers;
  for (auto function : module.getOps<func::FuncOp>())
    for (auto transfer : function.getOps<TransferOpInterface>()) {
      auto &[sends, receives] = transfers[{function->getAttr(kStepAttr), transfer.getSourceAttr(),
                                           transfer.getTargetAttr(), transfer.getChannel()}];
      if (auto send = dyn_cast<SendOp>(*transfer))
        sends.push_back(send);
      else
        receives.push_back(cast<RecvOp>(*transfer));
    }
  DenseMap<Operation *, RecvOp> result;
  for (auto &[key, ends] : transfers)
    for (auto [send, receive] : llvm::zip(ends.first, ends.second))
      result[send] = receive;
  return result;
}

namespace {
struct ScatterToServers : ::dgc::impl::ScatterToServersPassBase<ScatterToServers> {
  void runOnOperation() override {
    const DenseMap<Operation *, RecvOp> receives = findReceives(getOperation());
    SmallVector<Bucket> buckets;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        llvm::append_range(buckets, Buckets(receives).find(function.getBody().front()));
    for (const Bucket &bucket : buckets) {
      receiveAll(bucket, scatterAndSend(bucket));
      ++numBuckets;
      numPushes += bucket.pushes.size();
    }
    for (const Bucket &bucket : buckets)
      eraseReplaced(bucket);
  }
};
} // namespace
