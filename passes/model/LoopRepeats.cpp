// dgc-loop-repeats: makes loops of repeats.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dgc/TypeInference.h"
#include "dialects/dist/AttributeNames.h"
#include "dialects/dist/Dist.h"
#include "mlir/IR/IRMapping.h"
#include "passes/model/Batch.h"
#include "passes/model/Blocks.h"
#include "passes/model/Masker.h"
#include "passes/model/Passes.h"

namespace dgc {
#define GEN_PASS_DEF_LOOPREPEATSPASS
#include "passes/model/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

//===----------------------------------------------------------------------===//
// Making loops
//===----------------------------------------------------------------------===//

/// Moves a variable of a round out of the repeat, as the first of those of all rounds.
static void stack(VariableOp variable, RepeatOp repeat) {
  OpBuilder builder(repeat);
  RankedTensorType type = variable.getDeclared();
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), repeat.getCount());
  variable->moveBefore(repeat);
  variable.setStacked(variable.getStacked() + 1);
  variable.setDeclaredType(type.clone(shape));
  if (auto names = variable->getAttrOfType<ArrayAttr>("dims")) {
    SmallVector<Attribute> all(names.getValue());
    all.insert(all.begin(), builder.getStringAttr(""));
    variable->setAttr("dims", builder.getArrayAttr(all));
  }
  if (auto sharding = variable->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr)) {
    SmallVector<dist::DimShardingAttr> dims(sharding.getDims());
    dims.insert(dims.begin(), dist::DimShardingAttr::get(builder.getContext(), {}, /*open=*/false, 0));
    variable->setAttr(dist::kShardingAttr,
                      dist::ShardingAttr::get(builder.getContext(), sharding.getMesh(), dims, sharding.getReplicated(),
                                              sharding.getKind(), sharding.getUnreduced()));
  }
}

/// Writes a repeat, and those in it, as scans over the variables of all rounds.
static ScanOp makeLoop(RepeatOp repeat) {
  Block &body = repeat.getBody().front();
  for (RepeatOp inner : llvm::to_vector(body.getOps<RepeatOp>()))
    makeLoop(inner);
  const std::string name = (repeat.getName() + ".*").str();
  for (Operation &op : body.without_terminator())
    putInBlock(&op, name);

  SmallVector<Value> scanned, invariants;
  for (VariableOp variable : llvm::to_vector(body.getOps<VariableOp>())) {
    stack(variable, repeat);
    scanned.push_back(variable.getResult());
  }
  auto argumentFor = [&](Value value) {
    Value argument = body.addArgument(value.getType(), value.getLoc());
    value.replaceUsesWithIf(argument, [&](OpOperand &use) { return use.getOwner()->getBlock() == &body; });
  };
  llvm::for_each(scanned, argumentFor);
  for (Operation &op : body)
    for (Value operand : op.getOperands())
      if (operand.getParentBlock() != &body && !llvm::is_contained(invariants, operand))
        invariants.push_back(operand);
  llvm::for_each(invariants, argumentFor);

  OpBuilder builder(body.getTerminator());
  YieldOp::create(builder, body.getTerminator()->getLoc(), body.getTerminator()->getOperands());
  body.getTerminator()->erase();
  builder.setInsertionPoint(repeat);
  IntegerAttr count = scanned.empty() ? builder.getI64IntegerAttr(repeat.getCount()) : IntegerAttr();
  auto scan = ScanOp::create(builder, repeat.getLoc(), repeat.getResultTypes(), repeat.getInputs(), scanned, invariants,
                             /*dimension=*/0, /*reverse=*/false, count, /*saves=*/false, /*saved=*/0,
                             /*recomputes=*/false);
  scan.getBody().takeBody(repeat.getBody());
  scan->setDiscardableAttrs(repeat->getDiscardableAttrDictionary());
  putInBlock(scan, repeat.getName());
  repeat.replaceAllUsesWith(scan.getResults());
  repeat.erase();
  return scan;
}

//===----------------------------------------------------------------------===//
// Which repeats become loops
//===----------------------------------------------------------------------===//

/// Whether an op in the body of a repeat changes statistics, or says where it is.
static bool hasStatisticsOrPlaces(RepeatOp repeat) {
  WalkResult walked = repeat.getBody().walk([](Operation *op) {
    const bool isPlaced = llvm::any_of(op->getDiscardableAttrs(), [op](NamedAttribute attribute) {
      return attribute.getName().getValue().starts_with("dist.") &&
             !(isa<VariableOp>(op) && attribute.getName() == dist::kShardingAttr);
    });
    auto moded = dyn_cast<ModeOpInterface>(op);
    const bool isOfLoops = !isPlaced && !isa<AssignOp>(op) && (!moded || moded.drawsRandomNumbers());
    return isOfLoops ? WalkResult::advance() : WalkResult::interrupt();
  });
  return walked.wasInterrupted();
}

/// Calls `visit` for each variable in each round of a repeat, with what it is called there and stacked: "layer.3.w",
/// "layer.*.w". `name` and `stacked` are the beginnings of both.
static void forEachName(RepeatOp repeat, const std::string &name, const std::string &stacked,
                        llvm::function_ref<void(StringRef name, StringRef stacked)> visit) {
  const std::string own = repeat.getName().str() + ".";
  for (int64_t round = 0; round < static_cast<int64_t>(repeat.getCount()); ++round) {
    const std::string inside = name + own + std::to_string(round) + ".", all = stacked + own + "*.";
    for (Operation &op : repeat.getBody().getOps()) {
      if (auto variable = dyn_cast<VariableOp>(op))
        visit(inside + variable.getName().str(), all + variable.getName().str());
      else if (auto inner = dyn_cast<RepeatOp>(op))
        forEachName(inner, inside, all, visit);
    }
  }
}

/// Whether the optimizer trains the variables of all rounds in one way: what it says by name, it says of all.
static bool isTrainedAlike(RepeatOp repeat, OptimizerOp optimizer) {
  if (!optimizer || !optimizer.getGroups())
    return true;
  bool isAlike = true;
  llvm::StringMap<WeightGroupAttr> groups;
  forEachName(repeat, "", "", [&](StringRef name, StringRef stacked) {
    WeightGroupAttr group = optimizer.groupOf(name);
    isAlike &= groups.try_emplace(stacked, group).first->second == group;
  });
  return isAlike;
}

/// Whether names are those of this repeat alone: none has a `*`, which stands for rounds, and no variable or repeat next to it
/// has its name, or one that begins so.
static bool hasNamesOfItsOwn(RepeatOp repeat) {
  auto nameOf = [](Operation &op) -> StringRef {
    if (auto variable = dyn_cast<VariableOp>(op))
      return variable.getName();
    auto other = dyn_cast<RepeatOp>(op);
    return other ? other.getName() : "";
  };
  bool isOwn = !repeat.getName().contains('*');
  repeat.getBody().walk([&](Operation *op) {
    auto inner = dyn_cast<RepeatOp>(op);
    isOwn &= !nameOf(*op).contains('*') && (!inner || hasNamesOfItsOwn(inner));
  });
  for (Operation &op : *repeat->getBlock()) {
    StringRef name = nameOf(op);
    isOwn &= &op == repeat || !name.consume_front(repeat.getName()) || !(name.empty() || name.starts_with("."));
  }
  return isOwn;
}

/// Whether the loss may depend on each variable of each round, as far as the body says: else it is said of that variable, once
/// the rounds are written out, that it is not trained.
static bool usesAll(RepeatOp repeat) {
  if (llvm::any_of(repeat.getResults(), [](Value result) { return result.use_empty(); }))
    return false;
  Block &body = repeat.getBody().front();
  llvm::SetVector<Operation *> reached;
  reached.insert(body.getTerminator());
  for (size_t i = 0; i < reached.size(); ++i)
    if (!isa<StopGradientOp>(reached[i]))
      reached[i]->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *source = operand.getDefiningOp(); source && source->getBlock() == &body)
            reached.insert(source);
      });
  return llvm::all_of(body, [&](Operation &op) {
    auto variable = dyn_cast<VariableOp>(op);
    auto inner = dyn_cast<RepeatOp>(op);
    return (!variable || variable.getFrozen() || reached.contains(&op)) && (!inner || usesAll(inner));
  });
}

/// Infers the types in the body of a repeat for inputs of these types. Fails where there are none, or where a round gives
/// other types than it takes.
static LogicalResult inferRound(RepeatOp repeat, int64_t batch) {
  Block &body = repeat.getBody().front();
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), repeat.getInputs()))
    argument.setType(input.getType());
  for (Operation &op : body.without_terminator()) {
    auto inner = dyn_cast<RepeatOp>(op);
    if (failed(inner ? inferRound(inner, batch) : inferTypes(&op, batch)))
      return failure();
  }
  if (body.getTerminator()->getOperandTypes() != body.getArgumentTypes())
    return failure();
  for (auto [result, argument] : llvm::zip_equal(repeat.getResults(), body.getArguments()))
    result.setType(argument.getType());
  return success();
}

namespace {
/// Finds the repeats of a model whose rounds take and give the same types, and in which padding can be masked, with a copy of
/// the model in which types are inferred.
class RoundTypes {
public:
  RoundTypes(ModelOp model, int64_t batch)
      : batch(batch), copy(cast<ModelOp>(OpBuilder(model).clone(*model, mapping))) {
    // What is wrong with the model is said where its types are inferred for good.
    ScopedDiagnosticHandler quiet(model.getContext(), [](Diagnostic &) { return success(); });
    auto module = model->getParentOfType<ModuleOp>();
    mayUnroll = succeeded(checkWrittenOps(module, SymbolTable(module)));
    for (RepeatOp repeat : model.getBody().getOps<RepeatOp>())
      originals[mapping.lookup(repeat.getOperation())] = repeat;
    Block &body = copy.getBody().front();
    for (auto it = body.begin(); it != body.end();)
      if (Operation *op = &*it++; failed(infer(op, it)))
        return;
  }
  ~RoundTypes() { copy.erase(); }

  bool areAlike(RepeatOp repeat) const { return alike.contains(repeat.getOperation()); }

private:
  LogicalResult infer(Operation *op, Block::iterator &next) {
    auto repeat = dyn_cast<RepeatOp>(op);
    if (!repeat)
      return inferTypes(op, batch);
    auto attempt = cast<RepeatOp>(OpBuilder(repeat).clone(*repeat));
    bool fits = succeeded(inferRound(attempt, batch));
    for (auto [result, tried] : llvm::zip_equal(repeat.getResults(), attempt.getResults()))
      result.setType(tried.getType());
    if (fits)
      fits = takesPadding(makeLoop(attempt));
    else
      attempt.erase();
    if (!fits && !mayUnroll)
      return failure();
    if (fits) {
      if (Operation *original = originals.lookup(op))
        alike.insert(original);
      return success();
    }
    Operation *before = repeat->getPrevNode();
    SmallVector<RepeatOp> inner;
    unrollRepeat(repeat, inner);
    next = before ? std::next(Block::iterator(before)) : copy.getBody().front().begin();
    return success();
  }

  /// Whether the padding in a loop can be masked. Takes the first dimension of values for that of examples where it could be.
  /// Erases the loop.
  bool takesPadding(ScanOp scan) const {
    SmallVector<Operation *> variables;
    bool takes = true;
    for (Value value : scan.getScanned()) {
      variables.push_back(value.getDefiningOp());
      takes &= succeeded(inferTypes(variables.back(), batch));
    }
    takes = takes && succeeded(inferTypes(scan, batch));
    if (takes && batch > 1) {
      OwningOpRef<func::FuncOp> function = functionOf(scan);
      takes = succeeded(Masker(*function, function->getArguments().back(), batch).run());
    }
    scan.erase();
    for (Operation *variable : variables)
      variable->erase();
    return takes;
  }

  /// A function of what the loop takes, and of the number of real examples, that gives what the loop gives.
  func::FuncOp functionOf(ScanOp scan) const {
    OpBuilder builder(scan.getContext());
    SmallVector<Type> types(scan->getOperandTypes());
    types.push_back(RankedTensorType::get({}, builder.getI32Type()));
    auto function = func::FuncOp::create(scan.getLoc(), ScanOp::getOperationName(),
                                         builder.getFunctionType(types, scan->getResultTypes()));
    Block *block = function.addEntryBlock();
    IRMapping inside;
    for (auto [i, operand] : llvm::enumerate(scan->getOperands())) {
      inside.map(operand, block->getArgument(i));
      auto type = cast<RankedTensorType>(operand.getType());
      if (!operand.getDefiningOp<VariableOp>() && type.getNumElements() > 0 && type.getRank() > 0 &&
          type.getDimSize(0) % batch == 0)
        function.setArgAttr(i, kBatchDimAttr, builder.getI64IntegerAttr(0));
    }
    builder.setInsertionPointToStart(block);
    func::ReturnOp::create(builder, scan.getLoc(), builder.clone(*scan, inside)->getResults());
    return function;
  }

  int64_t batch;
  bool mayUnroll = false;
  IRMapping mapping;
  ModelOp copy;
  DenseMap<Operation *, Operation *> originals;
  DenseSet<Operation *> alike;
};
} // namespace

namespace {
struct LoopRepeatsPass : dgc::impl::LoopRepeatsPassBase<LoopRepeatsPass> {
  using LoopRepeatsPassBase::LoopRepeatsPassBase;

  void runOnOperation() override {
    for (ModelOp model : getOperation().getOps<ModelOp>())
      if (failed(run(model)))
        return signalPassFailure();
  }

  LogicalResult run(ModelOp model) {
    SmallVector<RepeatOp> repeats;
    OptimizerOp optimizer;
    for (OptimizerOp each : model.getBody().getOps<OptimizerOp>())
      optimizer = each;
    for (RepeatOp repeat : model.getBody().getOps<RepeatOp>())
      if (rounds > 0 && static_cast<int64_t>(repeat.getCount()) >= rounds && hasNamesOfItsOwn(repeat) &&
          !hasStatisticsOrPlaces(repeat) && (!optimizer || usesAll(repeat)) && isTrainedAlike(repeat, optimizer))
        repeats.push_back(repeat);
    if (repeats.empty())
      return success();
    FailureOr<int64_t> size = findBatch(model, batch);
    if (failed(size))
      return failure();
    {
      RoundTypes types(model, *size);
      llvm::erase_if(repeats, [&](RepeatOp repeat) { return !types.areAlike(repeat); });
    }
    numLoops += repeats.size();
    for (RepeatOp repeat : repeats) {
      ScanOp loop = makeLoop(repeat);
      if (unrollDisable)
        loop.walk([](ScanOp each) { each->setAttr(kUnrollDisableAttr, UnitAttr::get(each.getContext())); });
    }
    return success();
  }
};
} // namespace
