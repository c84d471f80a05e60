// Software pipelining of a loop over micro-batches that several stages go through.

#include "passes/partition/PipelineLoop.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/Decompose.h"
#include "dialects/dgc/RegionDims.h"
#include "dialects/dgc/TensorBuilder.h"
#include "passes/partition/PipelinePlaces.h"
#include "passes/partition/PipelineValues.h"
#include "passes/place/Stages.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;
using namespace dgc;
using SlotKind = PipelineSlot::Kind;

bool dgc::isContraction(Operation *op) {
  auto rule = dyn_cast<ShardingRuleOpInterface>(op);
  if (!rule || op->getNumOperands() < 2)
    return false;
  return llvm::any_of(rule.getShardingRule().factors,
                      [](const Factor &factor) { return factor.kind == FactorKind::Reduction; });
}

namespace {

class Pipeliner {
  using Instance = PipelineValues::Instance;
  using Rounds = PipelineValues::Rounds;

public:
  Pipeliner(func::FuncOp function, WhileOp loop, const SteadyState &state)
      : function(function), loop(loop), body(loop.getBody().front()), yield(body.getTerminator()), state(state),
        slots(function, loop, state), values(slots, state), builder(loop), first(loop.getCarried()) {}

  bool run() {
    if (!isCounter() || !isOrdered())
      return false;
    for (const PipelineRounds &steady : state.loops) {
      std::optional<Rounds> chosen = values.chooseRounds(steady);
      if (!chosen)
        return false;
      loops.push_back(*std::move(chosen));
    }
    number = 0;
    for (Operation &op : function.getBody().front())
      if (op.getBlock() == loop->getBlock() && op.isBeforeInBlock(loop))
        setSlot(&op);
    ++number;
    sums.assign(first.begin(), first.end());
    createStacks();
    size_t done = 0;
    for (const Rounds &each : loops) {
      emit(done, each.at.first);
      emitRounds(each);
      done = each.at.end();
    }
    emit(done, state.slots.size());
    for (auto [result, sum] : llvm::zip_equal(loop.getResults(), sums))
      result.replaceAllUsesWith(sum);
    for (Operation *op = loop->getNextNode(); op; op = op->getNextNode())
      setSlot(op);
    loop.erase();
    return true;
  }

private:
  /// True where the first value that is carried counts the micro-batches from 0.
  bool isCounter() const {
    auto next = yield->getOperand(0).getDefiningOp<AddOp>();
    return next && next.getLhs() == body.getArgument(0) && matchPattern(next.getRhs(), m_One()) && isZeros(first[0]);
  }

  /// True where every op comes after what it needs, and what is carried from micro-batch to micro-batch is used in the slot
  /// that gives the next value.
  bool isOrdered() const {
    for (size_t i = 1; i < first.size(); ++i) {
      if (yield->getOperand(i) == body.getArgument(i))
        continue;
      std::optional<PipelinePlace> own = slots.placeOf(yield->getOperand(i));
      if (!own || llvm::any_of(body.getArgument(i).getUsers(), [&](Operation *user) {
            return user == yield || user->getNumResults() == 0 || slots.placeOf(user->getResult(0)) != own;
          }))
        return false;
    }
    for (auto [at, slot] : llvm::enumerate(state.slots))
      for (Operation *op : slots.opsOf({slot.kind, slot.stage}))
        for (Value needed : slots.neededBy(op)) {
          std::optional<size_t> before = values.positionOf(needed, slot.microbatch);
          if (!before || *before > at)
            return false;
        }
    return true;
  }

  void setSlot(Operation *op) {
    if (!op->hasTrait<OpTrait::IsTerminator>())
      op->setDiscardableAttr(dist::kSlotAttr, builder.getI64IntegerAttr(number));
  }

  /// Adds the ops of slots.
  void emit(size_t begin, size_t end) {
    for (const SteadyState::Slot &slot : ArrayRef(state.slots).slice(begin, end - begin)) {
      startSlot(slot);
      for (Operation *op : slots.opsOf({slot.kind, slot.stage}))
        emit(op, slot.microbatch);
      for (size_t i = 1; i < first.size(); ++i)
        if (slots.placeOf(yield->getOperand(i)) == PipelinePlace(slot.kind, slot.stage))
          sums[i] = made.lookup({yield->getOperand(i), slot.microbatch});
      ++number;
    }
  }

  /// What was computed again for another micro-batch is not kept.
  void startSlot(const SteadyState::Slot &slot) {
    kind = slot.kind;
    here = &again[slot.stage];
    if (std::exchange(here->microbatch, slot.microbatch) != slot.microbatch)
      here->values.clear();
    const char *passes[] = {"F", "B", "B", "W"};
    std::string text = std::to_string(slot.microbatch);
    if (round) // in a round of the loop
      text = (period > 1 ? "(" + std::to_string(period) + "i" : std::string("(i")) + "+" + text + ")";
    label = passes[slot.kind] + text;
    if (state.hasChunks)
      label += "/" + std::to_string(slot.stage);
  }

  /// What an op that adds the first addend of all gives; null for others.
  Value firstAddend(Operation *op, int microbatch) {
    if (auto add = dyn_cast<AddOp>(op); add && isCarried(add.getLhs()) && isZeros(valueOf(add.getLhs(), microbatch)))
      return valueOf(add.getRhs(), microbatch);
    return {};
  }

  void emit(Operation *op, int microbatch) {
    if (Value addend = firstAddend(op, microbatch)) {
      made[{op->getResult(0), microbatch}] = addend;
    } else {
      IRMapping mapping;
      for (Value operand : op->getOperands())
        mapping.map(operand, valueOf(operand, microbatch));
      Operation *copy = builder.clone(*op, mapping);
      setSlot(copy);
      copy->setLoc(labelled(op->getLoc()));
      for (auto [original, result] : llvm::zip_equal(op->getResults(), copy->getResults()))
        (slots.placeOf(original) ? made : here->values)[{original, microbatch}] = result;
    }
    for (Value result : op->getResults())
      if (auto it = stacks.find(result); it != stacks.end())
        it->second = withRow(it->second, result, microbatch);
  }

  Location labelled(Location location) {
    return FusedLoc::get(builder.getContext(), {location}, builder.getStringAttr(label));
  }

  /// Builds ops in the slot that is written, on the stage of a value.
  Value onStageOf(Value value, llvm::function_ref<Value(TensorBuilder &)> build) {
    SmallVector<Operation *> built;
    InsertedOps listener(built);
    OpBuilder own(builder.getContext(), &listener);
    own.setInsertionPoint(builder.getInsertionBlock(), builder.getInsertionPoint());
    TensorBuilder b(own, labelled(value.getLoc()));
    Value result = build(b);
    for (Operation *op : built) {
      setStage(op, *stageOf(value.getDefiningOp()));
      setSlot(op);
    }
    return result;
  }

  /// The array of a value with that of a micro-batch.
  Value withRow(Value whole, Value value, int microbatch) {
    Value index = indexOf(microbatch), row = made.lookup({value, microbatch});
    return onStageOf(value, [&](TensorBuilder &b) -> Value {
      auto type = cast<RankedTensorType>(whole.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape.front() = 1;
      Value one = b.reshape(b.convert(row, type.getElementType()), shape);
      return DynamicUpdateSliceOp::create(b.builder, b.location, whole, one, index, 0);
    });
  }

  /// The value of a micro-batch in its array.
  Value rowOf(Value value, int microbatch) {
    Value &row = rows[{value, microbatch}];
    if (row)
      return row;
    Value index = indexOf(microbatch), whole = stacks.lookup(value);
    return row = onStageOf(value, [&](TensorBuilder &b) {
             auto type = cast<RankedTensorType>(value.getType());
             Value one = GatherOp::create(b.builder, b.location, whole, b.reshape(index, {1}), Value(), 0);
             return b.convert(b.reshape(one, type.getShape()), type.getElementType());
           });
  }

  /// Makes the arrays, with zeros; booleans are numbers where they are gathered.
  void createStacks() {
    TensorBuilder b(builder, loop.getLoc());
    int64_t microbatches = 0;
    for (const SteadyState::Slot &slot : state.slots)
      microbatches = std::max<int64_t>(microbatches, slot.microbatch + 1);
    for (const SteadyState::Slot &slot : state.slots)
      for (Operation *op : slots.opsOf({slot.kind, slot.stage}))
        for (Value value : slots.neededBy(op)) {
          if (!values.isStacked(value, slot.kind) || stacks.contains(value))
            continue;
          auto type = cast<RankedTensorType>(value.getType());
          SmallVector<int64_t> shape(type.getShape());
          shape.insert(shape.begin(), microbatches);
          Type element = type.getElementType().isInteger(1) ? builder.getI8Type() : type.getElementType();
          stacks[value] = b.splat(0, RankedTensorType::get(shape, element));
        }
  }

  bool isCarried(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getArgNumber() > 0 && argument.getArgNumber() < first.size();
  }

  Value valueOf(Value value, int microbatch) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      const unsigned i = argument.getArgNumber();
      if (i == 0)
        return indexOf(microbatch);
      if (i < first.size())
        return sums[i];
      return round ? round.getBody().getArgument(i - first.size() + round.getCarried().size()) : loop->getOperand(i);
    }
    if (slots.placeOf(value) && values.isStacked(value, kind))
      return rowOf(value, microbatch);
    if (Value known = made.lookup({value, microbatch}))
      return known;
    if (Value known = here->values.lookup({value, microbatch}))
      return known;
    emit(value.getDefiningOp(), microbatch);
    return here->values.lookup({value, microbatch});
  }

  /// The number of a micro-batch; in a round, that of the first round plus those of the rounds before.
  Value indexOf(int microbatch) {
    Value &index = here->values[{body.getArgument(0), microbatch}];
    if (index)
      return index;
    TensorBuilder b(builder, loop.getLoc());
    auto type = cast<RankedTensorType>(body.getArgument(0).getType());
    Value number = b.splat(microbatch, type);
    if (round) {
      Value begin = round.getBody().getArgument(0);
      if (period > 1)
        begin = b.multiply(begin, b.splat(period, type));
      number = b.add(begin, number);
    }
    return index = number;
  }

  /// Whether slots of rounds give what the loop carries a next value, or none does.
  bool isCarriedBy(const PipelineRounds &at, size_t i) const {
    std::optional<PipelinePlace> own = slots.placeOf(yield->getOperand(i));
    return !own || llvm::any_of(ArrayRef(state.slots).slice(at.first, at.length), [&](const SteadyState::Slot &slot) {
      return *own == PipelinePlace(slot.kind, slot.stage);
    });
  }

  void emitRounds(const Rounds &rounds) {
    const auto &[at, live] = rounds;
    const int shift = at.rounds * at.period;
    TensorBuilder b(builder, loop.getLoc());
    auto counter = cast<RankedTensorType>(body.getArgument(0).getType());
    SmallVector<Value> carried{b.splat(0, counter)}, invariants(loop.getInvariants());
    for (auto [value, microbatch] : live)
      carried.push_back(made.lookup({value, microbatch}));
    SmallVector<Type> types = llvm::map_to_vector(carried, [](Value value) { return value.getType(); });
    SmallVector<Value *> others; // what else is carried: sums, of what is zeros before the loop it may be partial in it
    for (size_t i = 1; i < sums.size(); ++i)
      if (isCarriedBy(at, i)) {
        others.push_back(&sums[i]);
        types.push_back(loop.getResult(i).getType());
      }
    const bool fillsStacks = state.slots[at.first].kind == SlotKind::Forward;
    for (auto &[value, whole] : stacks) {
      if (!fillsStacks) {
        invariants.push_back(whole);
        continue;
      }
      others.push_back(&whole);
      types.push_back(whole.getType());
    }
    for (Value *other : others)
      carried.push_back(*other);
    auto roundsLoop =
        WhileOp::create(builder, loop.getLoc(), types, carried, invariants, builder.getI64IntegerAttr(at.rounds));
    for (StringRef name : {kMicrobatchLoopAttr, kCountedAttr})
      if (Attribute mark = loop->getAttr(name))
        roundsLoop->setAttr(name, mark);
    {
      OpBuilder::InsertionGuard guard(builder);
      for (Region *region : roundsLoop.getRegions()) {
        Block *block = builder.createBlock(region);
        for (auto [i, operand] : llvm::enumerate(roundsLoop->getOperands()))
          block->addArgument(i < types.size() ? types[i] : operand.getType(), operand.getLoc());
      }
      builder.setInsertionPointToStart(&roundsLoop.getCondition().front());
      ConditionOp::create(
          builder, loop.getLoc(),
          b.compare(ComparisonDirection::LT, roundsLoop.getCondition().getArgument(0), b.splat(at.rounds, counter)));
      builder.setInsertionPointToStart(&roundsLoop.getBody().front());
      round = roundsLoop;
      period = at.period;
      forget();
      auto arguments = roundsLoop.getBody().getArguments();
      for (auto [i, instance] : llvm::enumerate(live))
        made[instance] = arguments[1 + i];
      for (auto [i, other] : llvm::enumerate(others))
        *other = arguments[1 + live.size() + i];
      auto outside = stacks;
      if (!fillsStacks)
        for (auto [i, stack] : llvm::enumerate(stacks))
          stack.second = arguments[types.size() + loop.getInvariants().size() + i];
      emit(at.first, at.first + at.length);
      SmallVector<Value> next{b.add(arguments[0], b.splat(1, counter))};
      for (auto [value, microbatch] : live)
        next.push_back(made.lookup({value, microbatch + at.period}));
      for (Value *other : others)
        next.push_back(*other);
      if (!fillsStacks)
        stacks = std::move(outside);
      YieldOp::create(builder, loop.getLoc(), next);
    }
    round = nullptr;
    forget();
    for (auto [i, instance] : llvm::enumerate(live))
      made[{instance.first, instance.second + shift}] = roundsLoop.getResult(1 + i);
    for (auto [i, other] : llvm::enumerate(others))
      *other = roundsLoop.getResult(1 + live.size() + i);
    setSlot(roundsLoop);
    ++number;
  }

  /// Values of one block are not those of another.
  void forget() {
    made.clear();
    again.clear();
    rows.clear();
  }

  func::FuncOp function;
  WhileOp loop;
  Block &body;
  Operation *yield;
  const SteadyState &state;
  PipelinePlaces slots;
  PipelineValues values;
  OpBuilder builder;
  ValueRange first; // what the loop carries, at first
  std::vector<Rounds> loops;

  int64_t number = 0;
  WhileOp round; // the new loop while its body is written
  int period = 1;
  SlotKind kind = SlotKind::Forward; // of the slot that is written
  std::string label;
  llvm::DenseMap<Instance, Value> made, rows;
  llvm::MapVector<Value, Value> stacks; // what is kept of all micro-batches, so far
  SmallVector<Value> sums;              // what the loop carries, so far
  /// What is computed wherever it is needed, on one stage.
  struct Again {
    int microbatch = -1;
    llvm::DenseMap<Instance, Value> values;
  };
  std::map<int, Again> again;
  Again *here = nullptr;
};

} // namespace

bool dgc::pipelineLoop(func::FuncOp function, WhileOp loop, const SteadyState &state) {
  return Pipeliner(function, loop, state).run();
}
