// Micro-batches as rounds of loops.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/RegionDims.h"
#include "dialects/dgc/TensorBuilder.h"
#include "dialects/dgc/TensorUtil.h"
#include "passes/gradient/MicrobatchWriter.h"
#include "passes/place/Stages.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dgc;

namespace {

/// A scan for each level. Round m is micro-batch m: it takes slice m along dimension 1 of tensors [batch / count, count, ..].
class LoopWriter : MicrobatchWriter {
public:
  LoopWriter(func::FuncOp function, const MicrobatchAnalysis &analysis, int64_t count)
      : MicrobatchWriter(function, analysis, count), outside(block.getTerminator()) {}

  /// True where each micro-batch has the same to do, and only examples and sums leave it. Where that is on several stages,
  /// they take what a micro-batch gives to the next one in the order of the stages, and there is one loop.
  bool isPossible() {
    llvm::SmallSetVector<Attribute, 4> stages; // null: of an op without one
    int64_t firstLevel = 0;
    for (Operation &op : block.without_terminator()) {
      const MicrobatchExecution &execution = analysis.getExecution(&op);
      if (!execution.perMicrobatch)
        continue;
      areLevels |= !stages.empty() && execution.level != firstLevel;
      stages.insert(op.getDiscardableAttr(dist::kStageAttr));
      firstLevel = execution.level;
      for (auto [operand, dim] : llvm::zip_equal(op.getOperands(), execution.operandDims))
        if (dim == MicrobatchExecution::kPartial && levelOf(operand) != execution.level)
          return false;
      for (Value result : op.getResults()) {
        const MicrobatchLayout layout = analysis.getLayout(result);
        if ((layout.kind == MicrobatchLayout::Whole && !result.use_empty()) ||
            (analysis.isSummed(result) && layout.reduction != dist::Reduction::Sum))
          return false;
      }
    }
    if (stages.size() == 1)
      stage = stages.front();
    isAcrossStages = llvm::count_if(stages, [](Attribute each) { return each != nullptr; }) > 1;
    return stages.size() == 1 || (isAcrossStages && !areLevels && followsStages());
  }

  void run() {
    SmallVector<Operation *> ops = llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
    Levels each = levels();
    for (level = 0; level < static_cast<int64_t>(each.once.size()); ++level) {
      llvm::for_each(each.once[level], [&](Operation *op) { moveOnce(op); });
      if (!each.perMicrobatch[level].empty())
        writeScan(each.perMicrobatch[level]);
    }
    for (OpOperand &operand : block.getTerminator()->getOpOperands())
      operand.set(outsideOf(operand.get()));
    eraseOriginals(ops);
  }

  SmallVector<ScanOp> loops;
  Attribute stage; // of all that micro-batches compute; null: there are no stages, or several

private:
  /// True where the forward pass goes from stage to stage, and the backward pass, which is all that loss, metrics and outputs
  /// do not need, goes back.
  bool followsStages() {
    const llvm::DenseSet<Operation *> forward = forwardOps(function);
    auto stageOf = [&](Operation *op) {
      return op && analysis.getExecution(op).perMicrobatch ? op->getAttrOfType<IntegerAttr>(dist::kStageAttr)
                                                           : IntegerAttr();
    };
    for (Operation &op : block.without_terminator())
      for (Value operand : op.getOperands()) {
        IntegerAttr to = stageOf(&op), from = stageOf(operand.getDefiningOp());
        const bool isForward = forward.contains(&op);
        if (to && from && isForward == forward.contains(operand.getDefiningOp()) &&
            (isForward ? from.getInt() > to.getInt() : from.getInt() < to.getInt()))
          return false;
      }
    return true;
  }

  int64_t levelOf(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && analysis.knows(op) ? analysis.getExecution(op).level : -1;
  }

  /// True for what a micro-batch computes at this level.
  bool isHere(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && analysis.knows(op) && analysis.getExecution(op).perMicrobatch && levelOf(value) == level;
  }

  /// Outside of loops: the value, the sum over the micro-batches, or all their examples.
  Value outsideOf(Value value) {
    const MicrobatchLayout layout = analysis.getLayout(value);
    if (layout.kind == MicrobatchLayout::Partial)
      return sums.lookup(value);
    if (layout.kind == MicrobatchLayout::Whole || isa<BlockArgument>(value))
      return value;
    return allOf(value, [&] { return joined(value, layout.dim); });
  }

  Value wholeOf(Value value) override {
    Value whole = outsideOf(value);
    if (!body) // of an op that runs once
      return whole;
    Value &inside = invariant[whole];
    if (inside)
      return inside;
    if (Operation *op = whole.getDefiningOp(); op && matchPattern(op, m_Constant()))
      return inside = builder.clone(*op)->getResult(0);
    invariants.push_back(whole);
    return inside = body->addArgument(whole.getType(), whole.getLoc());
  }

  Value addendOf(Value value) override { return here.lookup(value); }

  Value partOf(Value whole, unsigned dim) override {
    Value value = cutOf(whole);
    if (isHere(value) && analysis.getLayout(value).kind == MicrobatchLayout::Cut)
      return here.lookup(value);
    Value &part = parts[{value, dim}];
    if (!part) {
      Value made = rematerialized(value, dim);
      if (!made)
        made = slice(value, dim);
      return parts[{value, dim}] = made;
    }
    return part;
  }

  /// An argument for the examples of the round.
  Value slice(Value value, unsigned dim) {
    Value all = stacked.lookup(value);
    if (!all) {
      // [.., batch * rest, ..] to [.., batch / count, count, rest, ..], with the rounds in dimension 1.
      Value whole = outsideOf(value);
      TensorBuilder b(outside, value.getLoc());
      all = b.transpose(b.reshape(whole, splitShape(shapeOf(whole), dim, analysis.getExamples(0), {count})),
                        roundsTo1(dim, /*rank=*/shapeOf(whole).size() + 2));
    }
    auto type = cast<RankedTensorType>(*sliceType(all.getType(), 1));
    scanned.push_back(all);
    Value argument = body->insertArgument(numCarried() + scanned.size() - 1, type, value.getLoc());
    SmallVector<int64_t> shape(shapeOf(value));
    shape[dim] = sizeOfPart(shape[dim]);
    return TensorBuilder(builder, value.getLoc()).reshape(argument, shape);
  }

  /// What brings the rounds from behind the examples, which are dimension `dim`, to dimension 1.
  static SmallVector<int64_t> roundsTo1(unsigned dim, size_t rank) {
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    order.erase(order.begin() + dim + 1);
    order.insert(order.begin() + 1, dim + 1);
    return order;
  }

  size_t numCarried() const { return carried.size(); }

  void writeScan(ArrayRef<Operation *> ops) {
    auto owned = std::make_unique<Block>();
    body = owned.get();
    builder.setInsertionPointToEnd(body);
    carried.clear();
    scanned.clear();
    invariants.clear();
    invariant.clear();
    parts.clear();
    here.clear();
    SmallVector<Value> nextSums, summed, slices, given;
    for (Operation *op : ops) {
      Operation *copy = copyOf(op);
      for (auto [original, result] : llvm::zip_equal(op->getResults(), copy->getResults())) {
        here.map(original, result);
        if (analysis.isSummed(original)) {
          Value sum = body->insertArgument(numCarried(), result.getType(), result.getLoc());
          carried.push_back(TensorBuilder(outside, result.getLoc()).splat(0, result));
          nextSums.push_back(TensorBuilder(builder, result.getLoc()).add(sum, result));
          // Addends are added up where they are.
          if (Attribute stage = copy->getDiscardableAttr(dist::kStageAttr))
            nextSums.back().getDefiningOp()->setDiscardableAttr(dist::kStageAttr, stage);
          summed.push_back(original);
        } else if (isNeededElsewhere(original)) {
          given.push_back(original);
          slices.push_back(examplesOf(original, result));
        }
      }
    }
    SmallVector<Type> types = llvm::map_to_vector(carried, [](Value value) { return value.getType(); });
    for (Value each : slices)
      types.push_back(stackedType(each.getType(), 1, count));
    if (types.empty()) // nothing needs it
      return leave();
    SmallVector<Value> results(nextSums);
    llvm::append_range(results, slices);
    YieldOp::create(builder, function.getLoc(), results);
    auto rounds = scanned.empty() ? builder.getI64IntegerAttr(count) : IntegerAttr();
    auto scan = ScanOp::create(outside, function.getLoc(), types, carried, scanned, invariants, /*dimension=*/1,
                               /*reverse=*/false, rounds, /*saves=*/true, /*saved=*/0);
    scan.getBody().push_back(owned.release());
    for (auto [original, sum] : llvm::zip_equal(summed, scan.getResults().take_front(summed.size())))
      sums[original] = sum;
    for (auto [original, all] : llvm::zip_equal(given, scan.getResults().drop_front(summed.size())))
      stacked[original] = all;
    loops.push_back(scan);
    leave();
  }

  void leave() {
    body = nullptr;
    builder.setInsertionPoint(block.getTerminator());
  }

  bool isNeededElsewhere(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      user = block.findAncestorOpInBlock(*user);
      return user == block.getTerminator() || !analysis.getExecution(user).perMicrobatch ||
             analysis.getExecution(user).level != level;
    });
  }

  /// A cut value as a slice: [.., batch / count, rest, ..].
  Value examplesOf(Value original, Value result) {
    const unsigned dim = analysis.getLayout(original).dim;
    SmallVector<int64_t> shape = splitShape(shapeOf(original), dim, analysis.getExamples(0), {1});
    shape.erase(shape.begin() + dim + 1);
    return TensorBuilder(builder, result.getLoc()).reshape(result, shape);
  }

  /// All examples of what the rounds give, in their order.
  Value joined(Value value, unsigned dim) {
    TensorBuilder b(outside, value.getLoc());
    Value all = stacked.lookup(value);
    SmallVector<int64_t> back = llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(all).size()));
    back.erase(back.begin() + 1);
    back.insert(back.begin() + dim + 1, 1);
    return b.reshape(b.transpose(all, back), shapeOf(value));
  }

  OpBuilder outside;
  bool isAcrossStages = false, areLevels = false; // micro-batches wait for each other: there are levels
  int64_t level = 0;
  DenseMap<Value, Value> sums, stacked; // by the value that the micro-batches had: what a loop gives
  // Of the loop that is being written:
  Block *body = nullptr;
  SmallVector<Value> carried, scanned, invariants;
  DenseMap<Value, Value> invariant; // inside, by the value outside
  DenseMap<std::pair<Value, unsigned>, Value> parts;
  IRMapping here;
};

} // namespace

bool dgc::writeMicrobatchLoops(func::FuncOp function, const MicrobatchAnalysis &analysis, int64_t count,
                               int64_t workers) {
  if (analysis.getBatch() % (count * workers) != 0)
    return false;
  LoopWriter writer(function, analysis, count);
  if (!writer.isPossible())
    return false;
  writer.run();
  for (ScanOp scan : writer.loops) {
    OpBuilder builder(scan);
    SmallVector<Value> results = *scan.decompose(builder);
    Operation *loop = results.front().getDefiningOp();
    loop->setAttr(kMicrobatchLoopAttr, builder.getUnitAttr());
    if (writer.stage) { // the whole loop is there
      loop->walk([](Operation *op) { op->removeDiscardableAttr(dist::kStageAttr); });
      loop->setDiscardableAttr(dist::kStageAttr, writer.stage);
    }
    scan.replaceAllUsesWith(results);
    scan.erase();
  }
  return true;
}
