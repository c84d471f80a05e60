// Finds the computations for one device of a program from before Shardy.

#include "compiler/import/ShardMaps.h"
#include "dialects/stablehlo/StableHLO.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dgc::import {

static constexpr llvm::StringLiteral kMhloShardingAttr = "mhlo.sharding";

/// Whether the op is a call of `target` of one value.
static bool isCall(Operation *op, StringRef target) {
  auto call = dyn_cast_or_null<stablehlo::CustomCallOp>(op);
  return call && call.getCallTargetName() == target && op->getNumOperands() == 1 && op->getNumResults() == 1;
}

/// Where the part of a device begins to be a value of its own.
static bool isStart(Operation *op) { return isCall(op, "SPMDFullToShardShape"); }
/// Where the parts of all devices are one value again.
static bool isEnd(Operation *op) { return isCall(op, "SPMDShardToFullShape"); }
static bool isSharding(Operation *op) { return isCall(op, "Sharding"); }

/// Calls `visit` with each value that the op and the ops in its regions use of those outside of it.
static void forEachUsed(Operation *op, function_ref<void(Value)> visit) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
        visit(operand);
  });
}

/// How many ops are around the op.
static unsigned depthOf(Operation *op) {
  unsigned depth = 0;
  while ((op = op->getParentOp()))
    ++depth;
  return depth;
}

static LogicalResult refuseNested(Operation *op) {
  return op->emitError("a computation for one device (shard_map) in another one is not supported: write one over the "
                       "axes of both");
}

static LogicalResult refuseOfAll(Operation *op) {
  return op->emitError("a value of all devices is used in a computation for one device (shard_map), without "
                       "@SPMDFullToShardShape in front of it: export the program with Shardy "
                       "(jax_use_shardy_partitioner)");
}

/// Refuses what cannot be in a computation for one device.
static LogicalResult checkInside(Operation *op) {
  if (isEnd(op))
    return refuseOfAll(op);
  const WalkResult nested = op->walk([&](Operation *inner) {
    const bool isOther = isStart(inner) || isEnd(inner) || inner->getName().getStringRef() == "sdy.manual_computation";
    return isOther ? WalkResult::interrupt() : WalkResult::advance();
  });
  return nested.wasInterrupted() ? refuseNested(op) : success();
}

namespace {

/// The computations of one block.
class ShardMapTaker {
public:
  ShardMapTaker(Block &block, std::vector<ShardMap> &all) : block(block), all(all) {}
  LogicalResult run();

private:
  using Ops = llvm::SetVector<Operation *>;
  void findLocal();
  LogicalResult readStarts();
  LogicalResult collect(ArrayRef<Operation *> ends, Ops &starts, Ops &body);
  LogicalResult take(ArrayRef<Operation *> ends);
  Operation *build(ArrayRef<Operation *> ends, ValueRange operands, ArrayRef<Operation *> starts,
                   ArrayRef<Operation *> body);
  void erase(Operation *op);
  LogicalResult eraseLocal();

  Block &block;
  std::vector<ShardMap> &all;
  DenseSet<Operation *> local;             // what uses the part of one device, up to the ends
  DenseMap<Operation *, StringAttr> texts; // how the operands of the starts are cut
};

} // namespace

/// Finds the ops that depend on a start.
void ShardMapTaker::findLocal() {
  for (Operation &op : block) {
    bool isLocal = isStart(&op);
    if (!isEnd(&op))
      forEachUsed(&op, [&](Value value) { isLocal |= value.getDefiningOp() && local.contains(value.getDefiningOp()); });
    if (isLocal)
      local.insert(&op);
  }
}

/// Collects what the ends depend on: the starts, and the ops of the body in their order.
LogicalResult ShardMapTaker::collect(ArrayRef<Operation *> ends, Ops &starts, Ops &body) {
  SmallVector<Operation *> users(ends);
  Ops found;
  BlockArgument argument;
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    if (found.contains(user) && failed(checkInside(user)))
      return failure();
    forEachUsed(user, [&](Value value) {
      Operation *op = value.getDefiningOp();
      if (!op)
        argument = cast<BlockArgument>(value);
      else if (isStart(op) && op->getBlock() == &block)
        starts.insert(op);
      else if (found.insert(op))
        users.push_back(op);
    });
    if (argument)
      return refuseOfAll(user);
  }
  // What is in a block around this one comes first.
  DenseMap<Operation *, unsigned> depths;
  for (Operation *op : found)
    depths[op] = depthOf(op);
  SmallVector<Operation *> sorted = found.takeVector();
  llvm::sort(sorted, [&](Operation *x, Operation *y) {
    return depths[x] != depths[y] ? depths[x] < depths[y] : x->isBeforeInBlock(y);
  });
  body.insert(sorted.begin(), sorted.end());
  SmallVector<Operation *> inOrder = starts.takeVector();
  llvm::sort(inOrder, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  starts.insert(inOrder.begin(), inOrder.end());
  return success();
}

/// The text that says how the operand of a start is cut: of the op that makes it, or of an argument.
static FailureOr<StringAttr> textOfOperand(Operation *start) {
  Value value = start->getOperand(0);
  Operation *op = value.getDefiningOp();
  StringAttr text = op ? op->getAttrOfType<StringAttr>(kMhloShardingAttr) : StringAttr();
  if (auto function = op ? func::FuncOp() : dyn_cast<func::FuncOp>(value.getParentRegion()->getParentOp()))
    text = function.getArgAttrOfType<StringAttr>(cast<BlockArgument>(value).getArgNumber(), kMhloShardingAttr);
  if (text)
    return text;
  if (start->getOperandTypes() == start->getResultTypes())
    return StringAttr::get(start->getContext(), "{replicated}");
  return start->emitError("nothing says how the operand is cut: a call of @Sharding with mhlo.sharding is expected "
                          "in front of it");
}

/// The operand of a start, in front of the call that says how it is cut.
static Value valueOfOperand(Operation *start) {
  Operation *op = start->getOperand(0).getDefiningOp();
  return isSharding(op) && op->hasAttr(kMhloShardingAttr) ? op->getOperand(0) : start->getOperand(0);
}

/// The text that says how the result of an end is cut.
static FailureOr<StringAttr> textOfResult(Operation *end) {
  if (auto text = end->getAttrOfType<StringAttr>(kMhloShardingAttr))
    return text;
  if (end->getOperandTypes() == end->getResultTypes())
    return StringAttr::get(end->getContext(), "{replicated}");
  return end->emitError("nothing says how the result is cut: mhlo.sharding is expected");
}

/// Builds the computation in front of the ends, whose results it replaces.
Operation *ShardMapTaker::build(ArrayRef<Operation *> ends, ValueRange operands, ArrayRef<Operation *> starts,
                                ArrayRef<Operation *> body) {
  OpBuilder builder(ends.front());
  OperationState state((starts.empty() ? ends : starts).front()->getLoc(), "sdy.manual_computation");
  state.addOperands(operands);
  for (Operation *end : ends)
    state.addTypes(end->getResult(0).getType());
  Block &inside = state.addRegion()->emplaceBlock();
  IRMapping mapping;
  for (Operation *start : starts)
    mapping.map(start->getResult(0), inside.addArgument(start->getResult(0).getType(), start->getLoc()));
  Operation *made = builder.create(state);
  builder.setInsertionPointToEnd(&made->getRegion(0).front());
  for (Operation *op : body)
    builder.clone(*op, mapping);
  SmallVector<Value> results;
  for (Operation *end : ends)
    results.push_back(mapping.lookup(end->getOperand(0)));
  builder.create(OperationState(made->getLoc(), "sdy.return", results, TypeRange()));
  for (auto [end, result] : llvm::zip_equal(ends, made->getResults()))
    end->getResult(0).replaceAllUsesWith(result);
  return made;
}

void ShardMapTaker::erase(Operation *op) {
  local.erase(op);
  op->erase();
}

/// Makes a computation of what these ends depend on.
LogicalResult ShardMapTaker::take(ArrayRef<Operation *> ends) {
  Ops starts, body;
  if (failed(collect(ends, starts, body)))
    return failure();
  ShardMap made;
  SmallVector<Value> operands;
  for (Operation *start : starts) {
    operands.push_back(valueOfOperand(start));
    made.in.push_back(texts.lookup(start));
    if (auto manual = start->getAttrOfType<StringAttr>(kMhloShardingAttr))
      made.manual.push_back(manual);
  }
  for (Operation *end : ends) {
    FailureOr<StringAttr> text = textOfResult(end);
    if (failed(text))
      return failure();
    made.out.push_back(*text);
    Operation *last = end->getOperand(0).getDefiningOp();
    if (auto manual = isSharding(last) ? last->getAttrOfType<StringAttr>(kMhloShardingAttr) : StringAttr())
      made.manual.push_back(manual);
  }
  if (made.manual.empty())
    made.manual.push_back(StringAttr::get(block.getParentOp()->getContext(), "{manual}"));
  made.op = build(ends, operands, starts.getArrayRef(), body.getArrayRef());
  for (Operation *end : ends)
    erase(end);
  for (Operation *op : llvm::reverse(body))
    if (op->use_empty())
      erase(op);
  all.push_back(std::move(made));
  return success();
}

/// Erases what is left of the computations, which nothing may use, and the shardings of what goes in.
LogicalResult ShardMapTaker::eraseLocal() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!local.contains(&op))
      continue;
    if (!isStart(&op) && !isSharding(&op) && failed(checkInside(&op)))
      return failure();
    if (!op.use_empty() || op.hasTrait<OpTrait::IsTerminator>())
      continue;
    Operation *source = isStart(&op) ? op.getOperand(0).getDefiningOp() : nullptr;
    erase(&op);
    if (isSharding(source) && source->use_empty())
      local.insert(source);
  }
  for (Operation &op : block)
    if (local.contains(&op) && !isStart(&op))
      return op.emitError("uses a value that is written for one device (shard_map), and of which no "
                          "@SPMDShardToFullShape makes one of all devices: export the program with Shardy "
                          "(jax_use_shardy_partitioner)");
  return success();
}

/// Reads how the operands of the starts are cut, while all that says so is there.
LogicalResult ShardMapTaker::readStarts() {
  for (Operation &op : block) {
    if (!isStart(&op))
      continue;
    if (local.contains(op.getOperand(0).getDefiningOp()))
      return refuseNested(&op);
    FailureOr<StringAttr> text = textOfOperand(&op);
    if (failed(text))
      return failure();
    texts[&op] = *text;
  }
  return success();
}

LogicalResult ShardMapTaker::run() {
  findLocal();
  if (failed(readStarts()))
    return failure();
  // One computation has its starts first, then its ends. All ends that no start is between are those of one computation.
  SmallVector<SmallVector<Operation *>> groups;
  bool isOpen = false;
  for (Operation &op : block) {
    if (isEnd(&op) && !isOpen)
      groups.emplace_back();
    isOpen = isEnd(&op) || (isOpen && !isStart(&op));
    if (isEnd(&op))
      groups.back().push_back(&op);
  }
  for (ArrayRef<Operation *> ends : groups)
    if (failed(take(ends)))
      return failure();
  return eraseLocal();
}

LogicalResult takeShardMaps(ModuleOp module, std::vector<ShardMap> &all) {
  SetVector<Block *> blocks;
  module.walk([&](Operation *op) {
    if (isStart(op) || isEnd(op))
      blocks.insert(op->getBlock());
  });
  for (Block *block : blocks)
    for (Region *region = block->getParent(); region; region = region->getParentRegion())
      if (!region->hasOneBlock())
        return region->getParentOp()->emitError("has several blocks and a computation for one device (shard_map): "
                                                "only regions of one block are supported");
  for (Block *block : blocks)
    if (failed(ShardMapTaker(*block, all).run()))
      return failure();
  return success();
}

} // namespace dgc::import
