// dgc-scatter-to-servers: each worker sends a parameter server the part of a gradient that it has added up.

#include "dialects/dgc/TensorUtil.h"
#include "passes/communicate/LinkModel.h"
#include "passes/communicate/Passes.h"
#include "passes/communicate/ServerTransfers.h"

#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/SumTerms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-scatter-to-servers"

namespace dgc {
#define GEN_PASS_DEF_SCATTERTOSERVERSPASS
#include "passes/communicate/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {
/// What an all-reduce gives for one server: its result, or some rows of it, and a number that it is multiplied with.
struct Push {
  AllReduceOp reduce;
  dgc::SliceOp rows; // null: all
  SendOp send;
  RecvOp receive;
  Value factor; // a scalar; null: none
  Value norm;   // the sum that the squares of the result are a term of; null: of none

  RankedTensorType type() { return send.getTransferType(); }
  int64_t bytes() { return bytesOf(type()); }
};

/// Pushes to one server that are sent together, in the place of the last.
struct Bucket {
  SmallVector<Push> pushes;
  int64_t bytes = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is added up for servers
//===----------------------------------------------------------------------===//

/// The scalar that `user` multiplies each element of `value` with, if that is all that it does.
static Value factorOf(Operation *user, Value value) {
  auto multiply = dyn_cast<MultiplyOp>(user);
  if (!multiply || multiply.getLhs() == multiply.getRhs())
    return {};
  Value other = multiply.getLhs() == value ? multiply.getRhs() : multiply.getLhs();
  auto broadcast = other.getDefiningOp<BroadcastInDimOp>();
  bool isScalar = broadcast && cast<RankedTensorType>(broadcast.getOperand().getType()).getRank() == 0;
  return isScalar ? broadcast.getOperand() : Value();
}

/// The sum of the squares of all elements that begins with `user`, maybe in a wider type; null when it is none.
static Value sumOfSquares(Operation *user) {
  auto soleUser = [](Operation *op) { return op->hasOneUse() ? *op->user_begin() : nullptr; };
  if (auto convert = dyn_cast<ConvertOp>(user))
    user = llvm::all_equal(convert->getUsers()) && !convert->use_empty() ? *convert->user_begin() : nullptr;
  auto square = dyn_cast_if_present<MultiplyOp>(user);
  if (!square || square.getLhs() != square.getRhs())
    return {};
  Value sum = square;
  size_t rank = cast<RankedTensorType>(square.getType()).getRank();
  if (auto reduce = dyn_cast_if_present<ReduceOp>(soleUser(square));
      reduce && reduce.getKind() == ReductionKind::Sum && reduce.getDims().size() == rank)
    sum = reduce;
  else if (rank > 0)
    return {};
  if (auto convert = dyn_cast_if_present<ConvertOp>(soleUser(sum.getDefiningOp())))
    sum = convert;
  return sum;
}

/// The whole sum that `term` is a term of; `term` itself where nothing is added to it.
static Value wholeSum(Value term) {
  while (term.hasOneUse() && isa<AddOp>(*term.user_begin()))
    term = term.user_begin()->getResult(0);
  return term;
}

/// True when the pushes of a value have each of its rows once.
static bool haveAllRows(ArrayRef<Push> pushes, RankedTensorType type) {
  if (pushes.size() == 1 && !pushes.front().rows)
    return true;
  SmallVector<std::pair<int64_t, int64_t>> ranges;
  for (Push push : pushes) {
    if (!push.rows || push.type().getShape().drop_front() != type.getShape().drop_front() ||
        llvm::any_of(push.rows.getStrides(), [](int64_t stride) { return stride != 1; }))
      return false;
    ranges.push_back({push.rows.getStartIndices()[0], push.rows.getLimitIndices()[0]});
  }
  llvm::sort(ranges);
  int64_t end = 0;
  for (auto [first, limit] : ranges)
    if (first != std::exchange(end, limit))
      return false;
  return end == type.getDimSize(0);
}

namespace {
/// Finds what one all-reduce gives to servers.
class PushFinder {
public:
  PushFinder(AllReduceOp reduce, const Receives &receives) : reduce(reduce), receives(receives) {}

  /// Nothing where the workers need the result, but for its norm.
  SmallVector<Push> run() {
    MeshAttr mesh = lookupMesh(reduce, reduce.getMeshAttr());
    if (reduce->getNumResults() != 1 || getGroupSize(mesh, reduce.getAxes()) != mesh.getNumDevices())
      return {};
    llvm::SmallSetVector<Operation *, 4> users(reduce->user_begin(), reduce->user_end());
    Value norm;
    for (Operation *user : users) {
      Value factor = factorOf(user, reduce.getResult(0)), sum = sumOfSquares(user);
      if (sum && !norm && reduce.getKind() == Reduction::Sum)
        norm = wholeSum(sum);
      else if (factor ? !llvm::all_of(user->getUsers(), [&](Operation *each) { return add(each, factor); })
                      : !add(user, {}))
        return refuse("is needed by the workers");
    }
    if (pushes.empty() || (norm && !haveAllRows(pushes, cast<RankedTensorType>(reduce.getResult(0).getType()))))
      return refuse("does not go to servers as a whole");
    for (Push &push : pushes)
      push.norm = norm;
    return std::move(pushes);
  }

private:
  /// Adds what `user`, a transfer or a slice for transfers, sends to servers.
  bool add(Operation *user, Value factor) {
    auto rows = dyn_cast<dgc::SliceOp>(user);
    auto addSend = [&](Operation *op) {
      RecvOp receive = isSendToServer(op) ? receives.lookup(op) : RecvOp();
      if (receive)
        pushes.push_back({reduce, rows, cast<SendOp>(op), receive, factor, {}});
      return bool(receive);
    };
    return rows ? llvm::all_of(rows->getUsers(), addSend) : addSend(user);
  }
  SmallVector<Push> refuse(StringRef why) {
    LDBG() << why << ": " << reduce;
    return {};
  }

  AllReduceOp reduce;
  const Receives &receives;
  SmallVector<Push> pushes;
};
} // namespace

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

/// Whether two pushes can be parts of one reduce-scatter.
static bool haveSameSum(Push a, Push b) {
  return a.type().getElementType() == b.type().getElementType() && a.reduce.getKind() == b.reduce.getKind() &&
         a.reduce.getAxesAttr() == b.reduce.getAxesAttr() && a.factor == b.factor && a.norm == b.norm;
}

namespace {
/// Finds the buckets of one function. Pushes to a server stay in their order with everything else that goes to it.
class Buckets {
public:
  SmallVector<Bucket> find(Block &block, const Receives &receives) {
    for (auto reduce : block.getOps<AllReduceOp>())
      for (const Push &push : PushFinder(reduce, receives).run())
        pushes[Push(push).send] = push;
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
    auto found = pushes.find(send);
    if (found == pushes.end())
      return close(bucket);
    Push push = found->second;
    const int64_t limit = LinkModel::combineLimit(LinkModel::sameHost);
    if (!bucket.pushes.empty() && (!haveSameSum(bucket.pushes.front(), push) || bucket.bytes + push.bytes() > limit))
      close(bucket);
    bucket.pushes.push_back(push);
    bucket.bytes += push.bytes();
  }
  void close(Bucket &bucket) {
    if (!bucket.pushes.empty())
      closed.push_back(std::exchange(bucket, {}));
  }
  void closeAll() {
    for (auto &[target, bucket] : open)
      close(bucket);
  }

  DenseMap<Operation *, Push> pushes; // by what sends them
  llvm::MapVector<Attribute, Bucket> open;
  SmallVector<Bucket> closed;
};
} // namespace

/// The causes of all reductions of a bucket.
static ArrayAttr originsOf(const Bucket &bucket) {
  ArrayAttr origins;
  for (Push push : bucket.pushes)
    origins = mergeOrigins(origins, push.reduce.getOriginsAttr());
  return origins;
}

/// Adds up the concatenated values of a bucket, so that each device has a part, which is returned.
static Value scatter(const Bucket &bucket) {
  AllReduceOp reduce = Push(bucket.pushes.back()).reduce; // the last
  for (Push push : bucket.pushes)
    if (reduce->isBeforeInBlock(push.reduce))
      reduce = push.reduce;
  OpBuilder builder(reduce);
  TensorBuilder b(builder, reduce.getLoc());
  SmallVector<Value> flat;
  for (Push push : bucket.pushes) {
    Value value = push.reduce.getInputs()[0];
    if (push.rows)
      value = b.slice(value, push.rows.getStartIndices(), push.rows.getLimitIndices(), push.rows.getStrides());
    flat.push_back(b.reshape(value, {push.type().getNumElements()}));
  }
  Value all = flat.size() == 1 ? flat[0] : ConcatenateOp::create(builder, b.location, flat, 0).getResult();
  int64_t elements = cast<RankedTensorType>(all.getType()).getNumElements();
  int64_t members = lookupMesh(reduce, reduce.getMeshAttr()).getNumDevices();
  int64_t padded = llvm::alignTo(elements, members);
  all = b.padZero(all, {0}, {padded - elements});
  auto part = RankedTensorType::get({padded / members}, cast<RankedTensorType>(all.getType()).getElementType());
  return ReduceScatterOp::create(builder, b.location, part, all, reduce.getKind(), 0, reduce.getMesh(),
                                 reduce.getAxesAttr(), originsOf(bucket))
      .getResult(0);
}

/// Sends the parts of a bucket. Returns the type of all of them together.
static RankedTensorType sendParts(const Bucket &bucket, Value part) {
  Push last = bucket.pushes.back();
  OpBuilder builder(last.send);
  CompositeBuilder b(builder, last.send.getLoc());
  auto type = cast<RankedTensorType>(part.getType());
  if (last.factor)
    part = b.multiply(part, b.broadcastScalar(last.factor, type.getShape()));
  SendOp::create(builder, b.location, part, last.send.getChannelAttr(), last.send.getSourceAttr(),
                 last.send.getTargetAttr(), last.send.getOriginsAttr(), /*gathered=*/builder.getUnitAttr());
  return type.clone({type.getDimSize(0) * lookupMesh(last.send, last.send.getSourceAttr()).getNumDevices()});
}

/// Receives the parts of a bucket, and gives what was received one by one.
static void receiveAll(const Bucket &bucket, RankedTensorType type) {
  RecvOp first = bucket.pushes.front().receive;
  SendOp send = bucket.pushes.back().send;
  for (Push push : bucket.pushes)
    if (push.receive->isBeforeInBlock(first))
      first = push.receive;
  OpBuilder builder(first);
  TensorBuilder b(builder, first.getLoc());
  Value all = RecvOp::create(builder, first.getLoc(), type, send.getChannelAttr(), first.getSourceAttr(),
                             first.getTargetAttr(), first.getOriginsAttr(), /*gathered=*/builder.getUnitAttr());
  int64_t begin = 0;
  for (Push push : bucket.pushes) {
    int64_t end = begin + push.type().getNumElements();
    RecvOp receive = push.receive;
    receive.getResult().replaceAllUsesWith(b.reshape(b.slice(all, {begin}, {end}), push.type().getShape()));
    begin = end;
  }
}

/// Computes the norm `sum` from the parts that it is of: each device adds up the squares of its own, and one number is
/// added up over all. `parts` are of buckets that have all of a value, or nothing of it; padding is 0.
static void addUpSquares(Value sum, ArrayRef<std::pair<const Bucket *, Value>> parts) {
  llvm::SmallPtrSet<Operation *, 8> scattered;
  for (auto &[bucket, part] : parts)
    for (Push push : bucket->pushes)
      scattered.insert(push.reduce);
  auto isScattered = [&](Value term) {
    return llvm::any_of(scattered, [&](Operation *reduce) {
      return llvm::any_of(reduce->getUsers(), [&](Operation *user) { return sumOfSquares(user) == term; });
    });
  };
  AllReduceOp reduce = Push(parts.front().first->pushes.front()).reduce;
  OpBuilder builder(sum.getDefiningOp());
  CompositeBuilder b(builder, sum.getLoc());
  auto add = [&](Value x, Value y) { return b.add(x, y); };
  SmallVector<Value> squares;
  for (auto &[bucket, part] : parts) {
    Value wide = b.convert(part, computeType(elementOf(part)));
    squares.push_back(b.convert(b.sum(b.multiply(wide, wide), {0}), elementOf(sum)));
  }
  SmallVector<Value> terms{
      AllReduceOp::create(builder, b.location, Reduction::Sum, addInPairs(squares, add), reduce.getMesh(),
                          reduce.getAxes(), builder.getStrArrayAttr(StringRef("the norm of what servers get in parts")))
          .getResult(0)};
  auto whole = sum.getDefiningOp<AddOp>();
  for (Value term : whole ? termsOf(whole) : SmallVector<Value>{sum})
    if (!isScattered(term))
      terms.push_back(term);
  sum.replaceAllUsesWith(addInPairs(terms, add));
}

/// Erases the transfers that buckets have replaced, and the ops that are dead without them.
static void eraseReplaced(ArrayRef<Bucket> buckets) {
  SetVector<Block *> blocks;
  llvm::SmallPtrSet<Operation *, 8> reduces;
  for (const Bucket &bucket : buckets)
    for (Push push : bucket.pushes) {
      blocks.insert(push.send->getBlock());
      reduces.insert(push.reduce);
      push.send.erase();
      push.receive.erase();
    }
  // Users come after what they use.
  for (Block *block : blocks)
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (isOpTriviallyDead(&op) || (reduces.contains(&op) && op.use_empty()))
        op.erase();
}

namespace {
struct ScatterToServers : dgc::impl::ScatterToServersPassBase<ScatterToServers> {
  void runOnOperation() override {
    const Receives receives = findReceives(getOperation());
    SmallVector<Bucket> buckets;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        llvm::append_range(buckets, Buckets().find(function.getBody().front(), receives));
    llvm::MapVector<Value, SmallVector<std::pair<const Bucket *, Value>>> norms;
    for (const Bucket &bucket : buckets) {
      Value part = scatter(bucket);
      receiveAll(bucket, sendParts(bucket, part));
      if (Value norm = bucket.pushes.front().norm)
        norms[norm].push_back({&bucket, part});
      ++numBuckets;
      numPushes += bucket.pushes.size();
    }
    for (auto &[norm, parts] : norms)
      addUpSquares(norm, parts);
    numNorms += norms.size();
    eraseReplaced(buckets);
  }
};
} // namespace
