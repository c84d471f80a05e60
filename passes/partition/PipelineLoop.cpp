// Software pipelining of a loop over micro-batches that several stages go through.

#include "passes/partition/PipelineLoop.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/RegionDims.h"
#include "dialects/dgc/TensorBuilder.h"
#include "passes/place/Stages.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

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

/// The slot that an op of a micro-batch is in: its pass and its stage.
using Place = std::pair<SlotKind, int>;

/// Which slot each op of the body belongs to.
class SlotsOfLoop {
public:
  SlotsOfLoop(func::FuncOp function, WhileOp loop, const SteadyState &state)
      : body(loop.getBody().front()), numCarried(loop.getCarried().size()), forward(forwardOps(function)) {
    for (const SteadyState::Slot &slot : state.slots)
      hasInputPass |= slot.kind == SlotKind::BackwardInput;
    findWeightGradients();
    for (Operation &op : body.without_terminator()) {
      if (followsFromInputs(&op))
        recomputed.insert(&op);
      else if (std::optional<int64_t> stage = stageOf(&op))
        ops[placeOf(&op, static_cast<int>(*stage))].push_back(&op);
    }
  }

  /// The ops of a slot, in order.
  ArrayRef<Operation *> opsOf(Place place) const {
    auto it = ops.find(place);
    return it == ops.end() ? ArrayRef<Operation *>() : ArrayRef(it->second);
  }

  /// The slot that computes a value; none for what is computed wherever it is needed, and for arguments.
  std::optional<Place> placeOf(Value value) const {
    Operation *op = value.getDefiningOp();
    if (!op || recomputed.contains(op) || !stageOf(op))
      return std::nullopt;
    return placeOf(op, static_cast<int>(*stageOf(op)));
  }

  /// The values of other slots that an op needs.
  SmallVector<Value> neededBy(Operation *op) const {
    SmallVector<Value> needed, work(op->getOperands());
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (placeOf(value))
        needed.push_back(value);
      else if (Operation *def = value.getDefiningOp())
        llvm::append_range(work, def->getOperands());
    }
    return needed;
  }

private:
  Place placeOf(Operation *op, int stage) const {
    if (forward.contains(op))
      return {SlotKind::Forward, stage};
    if (!hasInputPass)
      return {SlotKind::Backward, stage};
    return {late.contains(op) ? SlotKind::BackwardWeight : SlotKind::BackwardInput, stage};
  }

  /// Backward ops after which nothing of the stage and micro-batch is contracted or sent.
  void findWeightGradients() {
    llvm::DenseSet<Operation *> needed;
    for (Operation &op : llvm::reverse(body.without_terminator())) {
      if (forward.contains(&op))
        continue;
      for (Operation *user : op.getUsers())
        if (user != body.getTerminator() &&
            (needed.contains(user) || isContraction(user) || stageOf(user) != stageOf(&op)))
          needed.insert(&op);
      if (!needed.contains(&op))
        late.insert(&op);
    }
  }

  /// What depends on the number of the micro-batch and on what is the same for all, and is not much work: no gather (which has
  /// a factor of reduction, too) and no contraction.
  bool followsFromInputs(Operation *op) const {
    if (!stageOf(op))
      return true; // uniform
    return isMemoryEffectFree(op) && op->getNumRegions() == 0 && !isa<dist::CollectiveOpInterface>(op) &&
           !isContraction(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
             if (auto argument = dyn_cast<BlockArgument>(operand))
               return argument.getArgNumber() == 0 || argument.getArgNumber() >= numCarried;
             return recomputed.contains(operand.getDefiningOp());
           });
  }

  Block &body;
  size_t numCarried;
  bool hasInputPass = false;
  llvm::DenseSet<Operation *> forward, late, recomputed;
  std::map<Place, SmallVector<Operation *>> ops;
};

class Pipeliner {
public:
  Pipeliner(func::FuncOp function, WhileOp loop, const SteadyState &state)
      : function(function), loop(loop), body(loop.getBody().front()), yield(body.getTerminator()), state(state),
        slots(function, loop, this->state), builder(loop), first(loop.getCarried()) {
    for (auto [at, slot] : llvm::enumerate(state.slots))
      position[{slot.kind, slot.stage, slot.microbatch}] = at;
  }

  bool run() {
    if (!isCounter() || !isOrdered() || !chooseRounds())
      return false;
    number = 0;
    for (Operation &op : function.getBody().front())
      if (op.getBlock() == loop->getBlock() && op.isBeforeInBlock(loop))
        setSlot(&op);
    ++number;
    sums.assign(first.begin(), first.end());
    emit(0, state.first);
    emitRounds();
    emit(state.end(), state.slots.size());
    for (auto [result, sum] : llvm::zip_equal(loop.getResults(), sums))
      result.replaceAllUsesWith(sum);
    for (Operation *op = loop->getNextNode(); op; op = op->getNextNode())
      setSlot(op);
    loop.erase();
    return true;
  }

private:
  using Instance = std::pair<Value, int>; // a value of the body, in a micro-batch
  static constexpr int mostUnrolled = 8;  // a round is that many times as long as one of the schedule, at most

  std::optional<size_t> positionOf(Value value, int microbatch) const {
    std::optional<Place> place = slots.placeOf(value);
    if (!place)
      return std::nullopt;
    auto it = position.find({place->first, place->second, microbatch});
    return it == position.end() ? std::nullopt : std::optional(it->second);
  }

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
      std::optional<Place> own = slots.placeOf(yield->getOperand(i));
      if (!own || llvm::any_of(body.getArgument(i).getUsers(), [&](Operation *user) {
            return user == yield || user->getNumResults() == 0 || slots.placeOf(user->getResult(0)) != own;
          }))
        return false;
    }
    for (auto [at, slot] : llvm::enumerate(state.slots))
      for (Operation *op : slots.opsOf({slot.kind, slot.stage}))
        for (Value needed : slots.neededBy(op)) {
          std::optional<size_t> before = positionOf(needed, slot.microbatch);
          if (!before || *before > at)
            return false;
        }
    return true;
  }

  /// Of one choice of rounds, in bits: what is copied for each micro-batch, and the most that micro-batches hold.
  struct Cost {
    int64_t copied = 0, held = 0;
    /// Memory first: a copy takes much less time than what computes the value.
    std::pair<int64_t, int64_t> weighed() const { return {2 * held + copied, copied}; }
  };

  /// Rounds of so many micro-batches, and that begin where, it costs the least memory, without copies of what is carried if
  /// that costs little more.
  bool chooseRounds() {
    const SteadyState steady = state;
    std::optional<std::pair<Cost, SteadyState>> best;
    for (int times = 1; times <= mostUnrolled && !(best && best->first.copied == 0); ++times) {
      std::optional<SteadyState> unrolled = steady.unrolled(times);
      if (!unrolled)
        break;
      for (size_t delay = 0; delay < steady.length; ++delay) {
        std::optional<SteadyState> delayed = unrolled->delayed(delay);
        if (!delayed)
          break;
        state = *delayed;
        if (!findLive())
          continue;
        if (Cost cost = costOfRounds(); !best || cost.weighed() < best->first.weighed())
          best = {cost, state};
      }
    }
    if (!best)
      return false;
    state = best->second;
    return findLive();
  }

  static int64_t bitsOf(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    Type element = type.getElementType();
    return type.getNumElements() * (element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 128);
  }

  Cost costOfRounds() const {
    const size_t end = state.first + state.length;
    llvm::DenseMap<Instance, size_t> lastUse; // in a round
    for (size_t at = state.first; at < end; ++at)
      for (Operation *op : slots.opsOf({state.slots[at].kind, state.slots[at].stage}))
        for (Value value : slots.neededBy(op))
          lastUse[{value, state.slots[at].microbatch}] = at;
    Cost cost;
    llvm::DenseSet<Instance> placed; // where what is carried is
    for (auto [value, microbatch] : live) {
      cost.held += bitsOf(value); // all the time
      const Instance following(value, microbatch + state.period);
      auto last = lastUse.find({value, microbatch});
      const size_t next = *positionOf(value, following.second);
      const bool isCarried = next < state.first;
      if (!isCarried && (last == lastUse.end() || last->second < next)) {
        placed.insert(following);
        continue;
      }
      cost.copied += bitsOf(value);
      if (!isCarried)
        lastUse[following] = end - 1; // where it is copied
    }
    SmallVector<int64_t> change(state.length + 1); // of what else is held
    for (auto [instance, last] : lastUse) {
      const size_t made = *positionOf(instance.first, instance.second);
      if (made < state.first || placed.contains(instance))
        continue;
      change[made - state.first] += bitsOf(instance.first);
      change[last + 1 - state.first] -= bitsOf(instance.first);
    }
    int64_t now = 0, most = 0;
    for (int64_t each : change)
      most = std::max(most, now += each);
    return {cost.copied / state.period, cost.held + most};
  }

  /// Which values of which micro-batches there are at the beginning of a round, numbered as in the first one.
  bool findLive() {
    live.clear();
    auto need = [&](size_t begin, size_t end, int shift) {
      for (size_t at = begin; at < end; ++at)
        for (Operation *op : slots.opsOf({state.slots[at].kind, state.slots[at].stage}))
          for (Value value : slots.neededBy(op))
            if (const int microbatch = state.slots[at].microbatch; *positionOf(value, microbatch) < begin)
              live.insert({value, microbatch - shift});
    };
    need(state.first, state.first + state.length, 0);
    need(state.end(), state.slots.size(), state.rounds * state.period);
    for (size_t i = 0; i < live.size(); ++i) {
      auto [value, microbatch] = live[i];
      std::optional<size_t> now = positionOf(value, microbatch), next = positionOf(value, microbatch + state.period);
      if (!now || *now >= state.first || !next || *next >= state.first + state.length)
        return false;
      if (*next < state.first)
        live.insert({value, microbatch + state.period});
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
        if (slots.placeOf(yield->getOperand(i)) == Place(slot.kind, slot.stage))
          sums[i] = made.lookup({yield->getOperand(i), slot.microbatch});
      ++number;
    }
  }

  /// What was computed again for another micro-batch is not kept.
  void startSlot(const SteadyState::Slot &slot) {
    here = &again[slot.stage];
    if (std::exchange(here->microbatch, slot.microbatch) != slot.microbatch)
      here->values.clear();
    const char *passes[] = {"F", "B", "B", "W"};
    std::string text = std::to_string(slot.microbatch);
    if (round) // in a round of the loop
      text = (state.period > 1 ? "(" + std::to_string(state.period) + "i" : std::string("(i")) + "+" + text + ")";
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
      return;
    }
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, valueOf(operand, microbatch));
    Operation *copy = builder.clone(*op, mapping);
    setSlot(copy);
    copy->setLoc(FusedLoc::get(op->getContext(), {op->getLoc()}, builder.getStringAttr(label)));
    for (auto [original, result] : llvm::zip_equal(op->getResults(), copy->getResults()))
      (slots.placeOf(original) ? made : here->values)[{original, microbatch}] = result;
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
      if (state.period > 1)
        begin = b.multiply(begin, b.splat(state.period, type));
      number = b.add(begin, number);
    }
    return index = number;
  }

  void emitRounds() {
    const int shift = state.rounds * state.period;
    TensorBuilder b(builder, loop.getLoc());
    auto counter = cast<RankedTensorType>(body.getArgument(0).getType());
    SmallVector<Value> carried{b.splat(0, counter)};
    for (auto [value, microbatch] : live)
      carried.push_back(made.lookup({value, microbatch}));
    SmallVector<Type> types = llvm::map_to_vector(carried, [](Value value) { return value.getType(); });
    for (size_t i = 1; i < sums.size(); ++i) { // of what is zeros before the loop, it may be partial in it
      carried.push_back(sums[i]);
      types.push_back(loop.getResult(i).getType());
    }
    auto rounds = WhileOp::create(builder, loop.getLoc(), types, carried, loop.getInvariants(),
                                  builder.getI64IntegerAttr(state.rounds));
    for (StringRef name : {kMicrobatchLoopAttr, kCountedAttr})
      if (Attribute mark = loop->getAttr(name))
        rounds->setAttr(name, mark);
    {
      OpBuilder::InsertionGuard guard(builder);
      for (Region *region : rounds.getRegions()) {
        Block *block = builder.createBlock(region);
        for (auto [i, operand] : llvm::enumerate(rounds->getOperands()))
          block->addArgument(i < types.size() ? types[i] : operand.getType(), operand.getLoc());
      }
      builder.setInsertionPointToStart(&rounds.getCondition().front());
      ConditionOp::create(
          builder, loop.getLoc(),
          b.compare(ComparisonDirection::LT, rounds.getCondition().getArgument(0), b.splat(state.rounds, counter)));
      builder.setInsertionPointToStart(&rounds.getBody().front());
      round = rounds;
      made.clear();
      again.clear();
      auto arguments = rounds.getBody().getArguments();
      for (auto [i, instance] : llvm::enumerate(live))
        made[instance] = arguments[1 + i];
      for (size_t i = 1; i < sums.size(); ++i)
        sums[i] = arguments[live.size() + i];
      emit(state.first, state.first + state.length);
      SmallVector<Value> next{b.add(arguments[0], b.splat(1, counter))};
      for (auto [value, microbatch] : live)
        next.push_back(made.lookup({value, microbatch + state.period}));
      next.append(sums.begin() + 1, sums.end());
      YieldOp::create(builder, loop.getLoc(), next);
    }
    round = nullptr;
    made.clear();
    again.clear();
    for (auto [i, instance] : llvm::enumerate(live))
      made[{instance.first, instance.second + shift}] = rounds.getResult(1 + i);
    for (size_t i = 1; i < sums.size(); ++i)
      sums[i] = rounds.getResult(live.size() + i);
    setSlot(rounds);
    ++number;
  }

  func::FuncOp function;
  WhileOp loop;
  Block &body;
  Operation *yield;
  SteadyState state;
  SlotsOfLoop slots;
  OpBuilder builder;
  ValueRange first;                                          // what the loop carries, at first
  std::map<std::tuple<SlotKind, int, int>, size_t> position; // of slots: kind, stage, micro-batch
  llvm::SetVector<Instance> live;

  int64_t number = 0;
  WhileOp round; // the new loop while its body is written
  std::string label;
  llvm::DenseMap<Instance, Value> made;
  SmallVector<Value> sums; // what the loop carries, so far
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
