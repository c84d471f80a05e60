//===- OrderMicrobatches.cpp - put the ops of a pipeline in the order of its schedule ---===//

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/analysis/Layout.h"
#include "passes/partition/Passes.h"
#include "passes/partition/PipelineLoop.h"
#include "passes/place/Stages.h"
#include "llvm/ADT/SetVector.h"
#include <limits>
#include <map>
#include <tuple>

namespace dgc {
#define GEN_PASS_DEF_ORDERMICROBATCHESPASS
#include "passes/partition/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;
using SlotKind = PipelineSlot::Kind;

static std::optional<int64_t> microbatchOf(Operation *op) {
  auto number = op->getAttrOfType<IntegerAttr>(kMicrobatchAttr);
  return number ? std::optional(number.getInt()) : std::nullopt;
}

static int64_t levelOf(Operation *op) {
  auto level = op->getAttrOfType<IntegerAttr>(kMicrobatchLevelAttr);
  return level ? level.getInt() : 0;
}

/// The name of an op in the model, with its location there.
static StringAttr modelNameOf(Operation *op) {
  std::string text = describe(op);
  if (auto name = op->getLoc()->findInstanceOf<NameLoc>())
    text = name.getName().str() + text.substr(std::min(text.find(' '), text.size()));
  return StringAttr::get(op->getContext(), text);
}

namespace {
/// Orders the ops of one function.
///
/// The positions work off the slots of the schedule once where each pass of a micro-batch depends on that micro-batch
/// alone. A value of the whole batch (the statistics of batch normalization, a denominator that the model counts)
/// divides this into rounds: a round is all slots in the order of the schedule, each with those of its ops that are of
/// this round. An op is of the round of `dgc.microbatch_level`, or of the first one after it in which its slot is not
/// before what it needs.
class Scheduler {
public:
  /// `isRemarked`: whether the module has its remark about the order of stages already.
  Scheduler(func::FuncOp function, const PipelineSchedule &schedule, const PipelineTimes &times, bool &isRemarked)
      : function(function), body(function.getBody().front()), roundLength(times.end + 1), isRemarked(isRemarked) {
    for (int i = 0; i < schedule.positions; ++i)
      for (auto [slot, begin] : llvm::zip_equal(schedule.slots[i], times.begin[i]))
        beginOf[{slot.kind, schedule.stageOf(i, slot), slot.microbatch}] = begin;
    hasChunks = schedule.chunks > 1;
  }

  LogicalResult run() {
    forward = forwardOps(function);
    findFeeders();
    findWeightGradients();
    SmallVector<std::pair<double, Operation *>> order;
    for (Operation &op : body.without_terminator()) {
      FailureOr<double> when = timeOf(&op);
      if (failed(when))
        return failure();
      time[&op] = *when;
      order.push_back({*when, &op});
    }
    llvm::stable_sort(order, [](auto &a, auto &b) { return a.first < b.first; });
    Builder builder(function.getContext());
    int64_t number = -1;
    double last = -2;
    for (auto &[when, op] : order) {
      if (when != last)
        ++number;
      last = when;
      op->moveBefore(body.getTerminator());
      op->setDiscardableAttr(kSlotAttr, builder.getI64IntegerAttr(number));
      if (auto label = labels.find(op); label != labels.end()) // kept up to the artifact, for people
        op->setLoc(FusedLoc::get(op->getContext(), {op->getLoc()}, builder.getStringAttr(label->second)));
    }
    return success();
  }

  int64_t getRounds() const { return rounds; }
  /// The ops of the model that wait for all micro-batches.
  ArrayRef<Attribute> getBarriers() const { return barriers.getArrayRef(); }

private:
  /// Ops without a micro-batch that ops with one depend on: communication within a pass, with the micro-batch of what
  /// it moves, or -1; what is computed once for all micro-batches, with that of the last one.
  void findFeeders() {
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (!microbatchOf(&op) &&
          llvm::any_of(op.getUsers(), [&](Operation *user) { return microbatchOf(user) || feeders.contains(user); }))
        feeders[&op] = {-1, 0};
    for (Operation &op : body.without_terminator())
      if (auto it = feeders.find(&op); it != feeders.end())
        for (Value operand : op.getOperands())
          if (Operation *def = operand.getDefiningOp(); def && passOf(def))
            it->second = {*passOf(def), std::max(it->second.level, levelIn(def))};
  }

  /// The micro-batch that an op is of, or works for.
  std::optional<int64_t> passOf(Operation *op) const {
    if (std::optional<int64_t> microbatch = microbatchOf(op))
      return microbatch;
    auto it = feeders.find(op);
    return it == feeders.end() || it->second.microbatch < 0 ? std::nullopt : std::optional(it->second.microbatch);
  }

  /// The level of an op, or of what it works for.
  int64_t levelIn(Operation *op) const {
    auto it = feeders.find(op);
    return it == feeders.end() ? levelOf(op) : it->second.level;
  }

  /// Backward ops that can be delayed: in their micro-batch, level and stage nothing after them is contracted or sent,
  /// and no later level waits for them.
  void findWeightGradients() {
    llvm::DenseSet<Operation *> needed, awaited; // by a contraction or another stage; by a later level
    for (Operation &op : llvm::reverse(body.without_terminator())) {
      if (!passOf(&op) || forward.contains(&op))
        continue;
      for (Operation *user : op.getUsers()) {
        if (!passOf(user))
          continue;
        if (awaited.contains(user) || levelIn(user) > levelIn(&op))
          awaited.insert(&op);
        else if (passOf(user) == passOf(&op) &&
                 (needed.contains(user) || isContraction(user) || stageOf(user) != stageOf(&op)))
          needed.insert(&op);
      }
      if (!needed.contains(&op) && !awaited.contains(&op))
        late.insert(&op);
    }
  }

  int64_t roundOf(double when) const { return when < 0 ? 0 : static_cast<int64_t>(when / roundLength); }

  SlotKind kindOf(Operation *op, int64_t stage, int64_t microbatch) const {
    if (forward.contains(op))
      return SlotKind::Forward;
    if (!beginOf.contains({SlotKind::BackwardInput, stage, microbatch}))
      return SlotKind::Backward;
    return late.contains(op) ? SlotKind::BackwardWeight : SlotKind::BackwardInput;
  }

  /// When an op runs: with its slot. One without a micro-batch runs when its operands are available or, where no slot
  /// needs it, at the end: communication can be combined there, and what updates compute of variables is live for less.
  FailureOr<double> timeOf(Operation *op) {
    double ready = -1;
    Operation *latest = nullptr;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp(); def && time.lookup(def) > ready) {
        ready = time.lookup(def);
        latest = def;
      }
    std::optional<int64_t> microbatch = microbatchOf(op), stage = stageOf(op);
    if (!microbatch || !stage)
      return microbatch || feeders.contains(op) ? ready : kTail;
    SlotKind kind = kindOf(op, *stage, *microbatch);
    auto slot = beginOf.find({kind, *stage, *microbatch});
    if (slot == beginOf.end())
      return op->emitOpError() << "is of micro-batch " << *microbatch << " on stage " << *stage
                               << ", for which the schedule has no slot";
    const char *passes[] = {"F", "B", "B", "W"};
    labels[op] = passes[kind] + std::to_string(*microbatch);
    if (hasChunks)
      labels[op] += "/" + std::to_string(*stage);
    int64_t round = std::max(levelOf(op), roundOf(ready));
    auto begin = [&] { return static_cast<double>(round) * roundLength + slot->second; };
    if (begin() < ready) {
      ++round;
      if (kind == SlotKind::Forward && microbatchOf(latest) == microbatch && stageOf(latest))
        remarkOrder(op, latest);
    }
    // An op that only the level delays waits for nothing itself.
    if (latest && round > roundOf(ready) && (begin() - roundLength < ready || microbatchOf(latest) != microbatch))
      barriers.insert(modelNameOf(op));
    rounds = std::max(rounds, round + 1);
    return begin();
  }

  /// Says once per module that a forward pass goes to an earlier stage, for which the schedule has no slot in one
  /// round.
  void remarkOrder(Operation *op, Operation *latest) {
    if (!std::exchange(isRemarked, true))
      op->emitRemark() << "on stage " << *stageOf(op) << " needs, in the forward pass, a value of stage "
                       << *stageOf(latest) << ", which comes later in the pass: all micro-batches wait for each other "
                       << "there, and what they have computed is held; mark the op with stage " << *stageOf(latest)
                       << " or a later one to avoid it";
  }

  /// After all rounds.
  static constexpr double kTail = std::numeric_limits<double>::max();

  /// What an op without a micro-batch works for.
  struct Feeder {
    int64_t microbatch, level;
  };

  func::FuncOp function;
  Block &body;
  double roundLength;
  bool &isRemarked;
  bool hasChunks = false;
  int64_t rounds = 1;
  llvm::SetVector<Attribute> barriers;
  std::map<std::tuple<SlotKind, int64_t, int64_t>, double> beginOf; // kind, stage, micro-batch; within a round
  llvm::DenseSet<Operation *> forward, late;
  llvm::DenseMap<Operation *, Feeder> feeders;
  llvm::DenseMap<Operation *, double> time;
  llvm::DenseMap<Operation *, std::string> labels; // of the slots: F3, B3, W3; with several stages at a position F3/2
};

struct OrderMicrobatches : dgc::impl::OrderMicrobatchesPassBase<OrderMicrobatches> {
  using OrderMicrobatchesPassBase::OrderMicrobatchesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    int64_t stages = 0, microbatches = 0, positions = 0;
    module.walk([&](Operation *op) {
      if (std::optional<int64_t> stage = stageOf(op))
        stages = std::max(stages, *stage + 1);
      if (std::optional<int64_t> microbatch = microbatchOf(op))
        microbatches = std::max(microbatches, *microbatch + 1);
      if (isAcrossStages(op))
        microbatches = std::max<int64_t>(microbatches, cast<WhileOp>(op).getRounds().value_or(0));
    });
    for (auto mesh : module.getOps<MeshOp>())
      positions = std::max(positions, mesh.getMesh().getAxisSize(kStageAxis));
    if (positions == 0 || microbatches == 0 || stages == 0)
      return markAllAnalysesPreserved();
    std::string error;
    std::optional<PipelineSchedule> schedule =
        schedulePipeline(name, positions, microbatches, std::max<int64_t>(1, stages / positions), error);
    if (!schedule) {
      module.emitError() << error;
      return signalPassFailure();
    }
    std::optional<PipelineTimes> times = simulate(*schedule, {});
    std::optional<SteadyState> steady = findSteadyState(*schedule, *times);
    int64_t rounds = 1;
    bool isRemarked = false;
    llvm::SetVector<Attribute> barriers;
    for (auto function : module.getOps<func::FuncOp>()) {
      for (WhileOp loop : llvm::to_vector(function.getOps<WhileOp>()))
        if (isAcrossStages(loop))
          orderLoop(function, loop, steady);
      bool hasMicrobatches = false;
      function.walk([&](Operation *op) { hasMicrobatches |= microbatchOf(op).has_value(); });
      if (!hasMicrobatches)
        continue;
      Scheduler scheduler(function, *schedule, *times, isRemarked);
      if (failed(scheduler.run()))
        return signalPassFailure();
      rounds = std::max(rounds, scheduler.getRounds());
      barriers.insert_range(scheduler.getBarriers());
      ++numOrdered;
    }
    Builder builder(&getContext());
    auto number = [&](StringRef key, int64_t value) {
      return builder.getNamedAttr(key, builder.getI64IntegerAttr(value));
    };
    SmallVector<NamedAttribute> description{
        builder.getNamedAttr("schedule", builder.getStringAttr(nameOf<PipelineScheduleKind>(name))),
        number("positions", positions), number("microbatches", microbatches), number("chunks", schedule->chunks)};
    if (rounds > 1)
      description.append(
          {number("rounds", rounds), builder.getNamedAttr("barriers", builder.getArrayAttr(barriers.getArrayRef()))});
    module->setAttr(kPipelineAttr, builder.getDictionaryAttr(description));
  }

  /// A loop that cannot be in the order of the schedule stays as it is: one micro-batch after the other.
  void orderLoop(func::FuncOp function, WhileOp loop, const std::optional<SteadyState> &steady) {
    if (steady && pipelineLoop(function, loop, *steady))
      ++numPipelined;
    else
      loop.emitRemark() << "the micro-batches go through the stages one after the other: "
                        << (steady ? "the model does not give the stages their work in the order of the schedule"
                                   : "the schedule has no steady state with that number of them");
  }
};
} // namespace
