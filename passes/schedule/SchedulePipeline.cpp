//===- SchedulePipeline.cpp - put the ops of a pipeline in the order of its schedule ---===//

#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/place/Stages.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/PipelineSchedule.h"
#include <map>
#include <tuple>

namespace dgc {
#define GEN_PASS_DEF_SCHEDULEPIPELINEPASS
#include "passes/schedule/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace mlir::dist;
using namespace ::dgc;
using SlotKind = PipelineSlot::Kind;

static constexpr llvm::StringLiteral kMicrobatchAttr = "dgc.microbatch";

static std::optional<int64_t> microbatchOf(Operation *op) {
  auto number = op->getAttrOfType<IntegerAttr>(kMicrobatchAttr);
  return number ? std::optional(number.getInt()) : std::nullopt;
}

/// Whether an op contracts operands: has the work of a matrix product or a convolution.
static bool isContraction(Operation *op) {
  auto rule = dyn_cast<mlir::dgc::ShardingRuleOpInterface>(op);
  if (!rule || op->getNumOperands() < 2)
    return false;
  return llvm::any_of(rule.getShardingRule().factors,
                      [](const mlir::dgc::Factor &factor) { return factor.kind == mlir::dgc::FactorKind::Reduction; });
}

namespace {
/// Orders the ops of one function.
class Scheduler {
public:
  Scheduler(func::FuncOp function, const PipelineSchedule &schedule, const PipelineTimes &times)
      : function(function), body(function.getBody().front()), schedule(schedule) {
    for (int i = 0; i < schedule.positions; ++i)
      for (auto [slot, begin] : llvm::zip_equal(schedule.slots[i], times.begin[i]))
        beginOf[{slot.kind, schedule.stageOf(i, slot), slot.microbatch}] = begin;
    tail = times.end + 1;
  }

  LogicalResult run() {
    findForward();
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

private:
  /// What loss, metrics and predictions depend on.
  void findForward() {
    SmallVector<Value> work;
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      if (!resultState(function, i))
        work.push_back(value);
    while (!work.empty())
      if (Operation *op = work.pop_back_val().getDefiningOp(); op && forward.insert(op).second)
        llvm::append_range(work, op->getOperands());
  }

  /// Ops without a micro-batch that ops with one depend on: communication within a pass, with the micro-batch of what
  /// it moves, or -1.
  void findFeeders() {
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (!microbatchOf(&op) &&
          llvm::any_of(op.getUsers(), [&](Operation *user) { return microbatchOf(user) || feeders.count(user); }))
        feeders[&op] = -1;
    for (Operation &op : body.without_terminator())
      if (auto it = feeders.find(&op); it != feeders.end())
        for (Value operand : op.getOperands())
          if (Operation *def = operand.getDefiningOp(); def && passOf(def))
            it->second = *passOf(def);
  }

  /// The micro-batch that an op is of, or works for.
  std::optional<int64_t> passOf(Operation *op) const {
    if (std::optional<int64_t> microbatch = microbatchOf(op))
      return microbatch;
    auto it = feeders.find(op);
    return it == feeders.end() || it->second < 0 ? std::nullopt : std::optional(it->second);
  }

  /// Backward ops behind which, in their micro-batch and stage, nothing is contracted and nothing is sent: they can
  /// wait.
  void findWeightGradients() {
    llvm::DenseSet<Operation *> needed; // by a contraction or another stage
    for (Operation &op : llvm::reverse(body.without_terminator())) {
      if (!passOf(&op) || forward.contains(&op))
        continue;
      for (Operation *user : op.getUsers()) {
        if (passOf(user) != passOf(&op))
          continue;
        if (needed.contains(user) || isContraction(user) || stageOf(user) != stageOf(&op))
          needed.insert(&op);
      }
      if (!needed.contains(&op))
        late.insert(&op);
    }
  }

  /// When an op runs: with its slot; one without a micro-batch when what it needs is there or, where no slot needs it, at
  /// the end: communication can be combined there, and nobody holds what updates compute of variables alone.
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
      return microbatch || feeders.count(op) ? ready : std::max(ready, tail);
    bool split = beginOf.count({SlotKind::BackwardInput, *stage, *microbatch});
    SlotKind kind = forward.contains(op) ? SlotKind::Forward
                    : !split             ? SlotKind::Backward
                    : late.contains(op)  ? SlotKind::BackwardWeight
                                         : SlotKind::BackwardInput;
    auto begin = beginOf.find({kind, *stage, *microbatch});
    if (begin == beginOf.end())
      return op->emitOpError() << "is of micro-batch " << *microbatch << " on stage " << *stage
                               << ", for which the schedule has no slot";
    if (begin->second < ready) {
      auto error = op->emitOpError() << "on stage " << *stage << " needs, in the "
                                     << (kind == SlotKind::Forward ? "forward" : "backward") << " pass of micro-batch "
                                     << *microbatch << ", a value that the schedule computes later";
      error.attachNote(latest->getLoc()) << "it is computed here, on stage " << stageOf(latest).value_or(0)
                                         << "; in a pipeline values go from each stage to higher ones";
      return failure();
    }
    const char *passes[] = {"F", "B", "B", "W"};
    labels[op] = passes[kind] + std::to_string(*microbatch);
    if (schedule.chunks > 1)
      labels[op] += "/" + std::to_string(*stage);
    return begin->second;
  }

  func::FuncOp function;
  Block &body;
  const PipelineSchedule &schedule;
  std::map<std::tuple<SlotKind, int64_t, int64_t>, double> beginOf; // kind, stage, micro-batch
  double tail;
  llvm::DenseSet<Operation *> forward, late;
  llvm::DenseMap<Operation *, int64_t> feeders; // and their micro-batches; -1: none
  llvm::DenseMap<Operation *, double> time;
  llvm::DenseMap<Operation *, std::string> labels; // of the slots: F3, B3, W3; with several stages at a position F3/2
};

struct SchedulePipeline : ::dgc::impl::SchedulePipelinePassBase<SchedulePipeline> {
  using SchedulePipelinePassBase::SchedulePipelinePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    int64_t stages = 0, microbatches = 0, positions = 0;
    module.walk([&](Operation *op) {
      if (std::optional<int64_t> stage = stageOf(op))
        stages = std::max(stages, *stage + 1);
      if (std::optional<int64_t> microbatch = microbatchOf(op))
        microbatches = std::max(microbatches, *microbatch + 1);
    });
    for (auto mesh : module.getOps<MeshOp>())
      positions = std::max(positions, mesh.getMesh().getAxisSize(kStageAxis));
    if (name.empty() || positions == 0 || microbatches == 0 || stages == 0)
      return markAllAnalysesPreserved();
    std::string error;
    std::optional<PipelineSchedule> schedule =
        schedulePipeline(name, positions, microbatches, std::max<int64_t>(1, stages / positions), error);
    if (!schedule) {
      module.emitError() << error;
      return signalPassFailure();
    }
    std::optional<PipelineTimes> times = simulate(*schedule, {});
    for (auto function : module.getOps<func::FuncOp>()) {
      bool hasMicrobatches = false;
      function.walk([&](Operation *op) { hasMicrobatches |= microbatchOf(op).has_value(); });
      if (!hasMicrobatches)
        continue;
      if (failed(Scheduler(function, *schedule, *times).run()))
        return signalPassFailure();
      ++numOrdered;
    }
    Builder builder(&getContext());
    auto number = [&](StringRef key, int64_t value) {
      return builder.getNamedAttr(key, builder.getI64IntegerAttr(value));
    };
    module->setAttr(kPipelineAttr,
                    builder.getDictionaryAttr({builder.getNamedAttr("schedule", builder.getStringAttr(name)),
                                               number("positions", positions), number("microbatches", microbatches),
                                               number("chunks", schedule->chunks)}));
  }
};
} // namespace
