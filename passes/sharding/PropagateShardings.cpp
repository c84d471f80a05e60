// dgc-propagate-shardings: decides how every value is cut.

#include "passes/sharding/Passes.h"
#include "passes/sharding/Propagation.h"

#include "llvm/ADT/MapVector.h"

namespace dgc {
#define GEN_PASS_DEF_PROPAGATESHARDINGSPASS
#include "passes/sharding/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace mlir::dist;
using namespace ::dgc;
using mlir::dgc::CostOpInterface;
using mlir::dgc::ShardingRuleOpInterface;

/// True for an op that costs about as much as moving its result and depends on
/// scalars alone: a constant, an iota, a broadcast scalar.
static bool isCheapSource(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() || !isPure(op) || !isa<ShardingRuleOpInterface>(op))
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || type.getRank() == 0)
    return false;
  auto cost = dyn_cast<CostOpInterface>(op);
  if (cost && cost.getCost().flops > 2 * uint64_t(type.getNumElements()))
    return false;
  bool positional = isa<mlir::dgc::PositionalOpInterface>(op);
  return llvm::all_of(op->getOperandTypes(), [&](Type operand) {
    auto tensor = dyn_cast<RankedTensorType>(operand);
    return !positional && tensor && tensor.getRank() == 0;
  });
}

/// Gives each use of a cheap source its own copy. Returns how many were made.
static unsigned splitCheapSources(func::FuncOp function) {
  unsigned copies = 0;
  SmallVector<Operation *> sources;
  function.walk([&](Operation *op) {
    if (isCheapSource(op) && !op->use_empty())
      sources.push_back(op);
  });
  for (Operation *op : sources) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    for (OpOperand &use : llvm::make_early_inc_range(llvm::drop_begin(op->getResult(0).getUses()))) {
      use.set(builder.clone(*op)->getResult(0));
      ++copies;
    }
  }
  return copies;
}

namespace {
/// The tensors and relations of a module.
class ModulePropagation {
public:
  ModulePropagation(ModuleOp module, const MeshRef &mesh) : module(module), mesh(mesh), propagation(mesh) {}

  LogicalResult run() {
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(addFunction(function)))
        return failure();
    for (auto &[state, tensors] : states)
      propagation.tie(tensors);
    propagation.run();
    for (auto function : module.getOps<func::FuncOp>())
      write(function);
    return success();
  }

  unsigned numCut = 0;

private:
  std::optional<unsigned> tensorOf(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return std::nullopt;
    auto [it, isNew] = tensors.try_emplace(value, 0);
    if (isNew)
      it->second = propagation.addTensor(type);
    return it->second;
  }

  /// The tensors of several values; none when one of them is not a tensor.
  SmallVector<unsigned> tensorsOf(ValueRange values) {
    SmallVector<unsigned> found;
    for (Value value : values)
      if (std::optional<unsigned> tensor = tensorOf(value))
        found.push_back(*tensor);
    return found;
  }

  LogicalResult addFunction(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
      unsigned tensor = type ? propagation.addTensor(type) : ~0u;
      results[function].push_back(tensor);
      if (type)
        annotate(tensor, function.getResultAttrDict(i));
    }
    if (function.isExternal())
      return success();
    if (!llvm::hasSingleElement(function.getBody()))
      return function.emitOpError("has several blocks; only straight-line functions can be partitioned");
    for (BlockArgument argument : function.getArguments())
      if (std::optional<unsigned> tensor = tensorOf(argument))
        annotate(*tensor, function.getArgAttrDict(argument.getArgNumber()));
    for (Operation &op : function.getBody().front())
      addOp(&op);
    return success();
  }

  /// Takes over an annotation and notes what belongs to a variable.
  void annotate(unsigned tensor, DictionaryAttr attributes) {
    if (!attributes)
      return;
    if (auto sharding = attributes.getAs<ShardingAttr>(kShardingAttr))
      propagation.annotate(tensor, sharding);
    if (auto state = attributes.getAs<FlatSymbolRefAttr>("dgc.state"))
      states[state.getAttr()].push_back(tensor);
  }

  void addOp(Operation *op) {
    SmallVector<unsigned> operands = tensorsOf(op->getOperands()), resultTensors = tensorsOf(op->getResults());
    bool allTensors = operands.size() == op->getNumOperands() && resultTensors.size() == op->getNumResults();
    if (auto constraint = dyn_cast<ConstraintOp>(op)) {
      propagation.annotate(resultTensors[0], constraint.getSharding());
    } else if (auto reshard = dyn_cast<ReshardOp>(op)) {
      propagation.annotate(resultTensors[0], close(reshard.getSharding()));
      return;
    } else if (auto manual = dyn_cast<ManualOp>(op)) {
      for (auto [tensor, sharding] : llvm::zip_equal(resultTensors, manual.getOutShardings()))
        propagation.annotate(tensor, close(cast<ShardingAttr>(sharding)));
      // What goes into the region should be there as the region takes it.
      for (auto [value, tensor, sharding] : llvm::zip_equal(op->getOperands(), operands, manual.getInShardings())) {
        unsigned inside = propagation.addTensor(cast<RankedTensorType>(value.getType()));
        propagation.annotate(inside, close(cast<ShardingAttr>(sharding)));
        propagation.tie({tensor, inside});
      }
      return;
    } else if (auto shardings = op->getAttrOfType<ArrayAttr>(kShardingsAttr)) {
      for (auto [tensor, sharding] : llvm::zip(resultTensors, shardings))
        propagation.annotate(tensor, cast<ShardingAttr>(sharding));
    }
    if (isa<func::ReturnOp>(op)) {
      for (auto [value, result] : llvm::zip_equal(op->getOperands(), results[op->getParentOfType<func::FuncOp>()]))
        if (std::optional<unsigned> tensor = tensorOf(value))
          propagation.tie({*tensor, result});
      return;
    }
    auto rule = dyn_cast<ShardingRuleOpInterface>(op);
    if (rule && allTensors) {
      llvm::append_range(operands, resultTensors);
      propagation.relate(rule.getShardingRule(), operands);
    }
  }

  static ShardingAttr close(ShardingAttr sharding) {
    MLIRContext *context = sharding.getContext();
    SmallVector<DimShardingAttr> dims;
    for (DimShardingAttr dim : sharding.getDims())
      dims.push_back(DimShardingAttr::get(context, dim.getAxes(), /*open=*/false, 0));
    return ShardingAttr::get(context, sharding.getMesh(), dims, sharding.getReplicated(), sharding.getKind(),
                             sharding.getUnreduced());
  }

  ShardingAttr shardingOf(unsigned tensor) { return mesh.shardingOf(propagation.getDims(tensor)); }

  void write(func::FuncOp function) {
    for (auto [i, tensor] : llvm::enumerate(results[function]))
      if (tensor != ~0u)
        function.setResultAttr(i, kShardingAttr, shardingOf(tensor));
    if (function.isExternal())
      return;
    for (BlockArgument argument : function.getArguments())
      if (auto it = tensors.find(argument); it != tensors.end())
        function.setArgAttr(argument.getArgNumber(), kShardingAttr, shardingOf(it->second));
    for (Operation &op : function.getBody().front())
      writeOp(&op);
  }

  void writeOp(Operation *op) {
    SmallVector<unsigned> found = tensorsOf(op->getResults());
    if (isa<ReshardOp>(op) || found.empty() || found.size() != op->getNumResults())
      return;
    SmallVector<Attribute> shardings;
    bool cut = false;
    for (unsigned tensor : found) {
      auto sharding = shardingOf(tensor);
      shardings.push_back(sharding);
      cut |= !sharding.isWhole();
      numCut += !sharding.isWhole();
    }
    op->removeAttr(kShardingsAttr);
    if (cut)
      op->setAttr(kShardingsAttr, ArrayAttr::get(op->getContext(), shardings));
  }

  ModuleOp module;
  const MeshRef &mesh;
  Propagation propagation;
  DenseMap<Value, unsigned> tensors;
  DenseMap<Operation *, SmallVector<unsigned>> results; // of functions; ~0: not a tensor
  llvm::MapVector<StringAttr, SmallVector<unsigned>> states;
};

struct PropagateShardings : ::dgc::impl::PropagateShardingsPassBase<PropagateShardings> {
  void runOnOperation() override {
    FailureOr<MeshRef> mesh = findMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      numSplit += splitCheapSources(function);
    ModulePropagation propagation(getOperation(), *mesh);
    if (failed(propagation.run()))
      return signalPassFailure();
    numCut += propagation.numCut;
  }
};
} // namespace
