// Propagation over the values of a module.

#include "passes/shard/ModulePropagation.h"
#include "dialects/dgc/AttributeNames.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

static FlatSymbolRefAttr stateName(DictionaryAttr attributes) {
  return attributes ? attributes.getAs<FlatSymbolRefAttr>(kStateAttr) : FlatSymbolRefAttr();
}

LogicalResult ModulePropagation::build() {
  if (failed(collectStates()))
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(addFunction(function)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// Finds the one annotation of each variable, wherever it is.
LogicalResult ModulePropagation::collectStates() {
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (failed(collectState(function, function.getArgAttrDict(i))))
        return failure();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (failed(collectState(function, function.getResultAttrDict(i))))
        return failure();
  }
  return success();
}

LogicalResult ModulePropagation::collectState(func::FuncOp function, DictionaryAttr attributes) {
  FlatSymbolRefAttr name = stateName(attributes);
  if (!name)
    return success();
  State &state = states[name.getAttr()];
  auto sharding = attributes.getAs<ShardingAttr>(kShardingAttr);
  if (state.sharding && sharding && !state.sharding.hasSameLayout(sharding))
    return function.emitOpError() << "the variable " << name << " is annotated as " << sharding.describe()
                                  << " here and as " << state.sharding.describe()
                                  << " elsewhere; a variable has one sharding: annotate it once, or alike";
  if (!state.sharding)
    state.sharding = sharding;
  return success();
}

/// The state `name`, with its tensor.
ModulePropagation::State &ModulePropagation::stateOf(FlatSymbolRefAttr name, RankedTensorType type) {
  State &state = states[name.getAttr()];
  if (state.tensor != ~0u)
    return state;
  auto op = SymbolTable::lookupNearestSymbolFrom<StateOp>(module, name);
  StateOp variable = op ? variableOf(op) : op;
  if (variable != op && variable.getTensorType() == type) {
    auto it = states.find(variable.getSymNameAttr());
    if (it != states.end() && (!state.sharding || state.sharding == it->second.sharding)) {
      state.tensor = stateOf(FlatSymbolRefAttr::get(variable.getSymNameAttr()), type).tensor;
      return state;
    }
  }
  state.tensor = related.addTensor(type);
  if (state.sharding)
    annotate(state.tensor, type, state.sharding, AnnotationGroup::Variable);
  return state;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<unsigned> ModulePropagation::tensorOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return std::nullopt;
  auto [it, isNew] = tensors.try_emplace(value, 0);
  if (isNew)
    it->second = related.addTensor(type);
  return it->second;
}

/// The tensors of those values that are tensors.
SmallVector<unsigned> ModulePropagation::tensorsOf(ValueRange values) {
  SmallVector<unsigned> found;
  for (Value value : values)
    if (std::optional<unsigned> tensor = tensorOf(value))
      found.push_back(*tensor);
  return found;
}

void ModulePropagation::annotate(unsigned tensor, Type type, ShardingAttr sharding, AnnotationGroup::Kind kind) {
  related.annotate(tensor, sharding);
  auto [it, isNew] = groupNumbers.try_emplace({kind, type, sharding}, groups.size());
  if (isNew) {
    AnnotationGroup group{kind, cast<RankedTensorType>(type), sharding, {}};
    for (const AxisList &axes : mesh.dimsOf(sharding))
      for (AxisUse use : axes)
        group.axes |= uint64_t(1) << use.axis;
    groups.push_back(std::move(group));
  }
  groups[it->second].tensors.push_back(tensor);
}

/// The tensor of an argument or result of a function.
unsigned ModulePropagation::addBoundary(RankedTensorType type, DictionaryAttr attributes, AnnotationGroup::Kind kind) {
  if (FlatSymbolRefAttr name = stateName(attributes))
    return stateOf(name, type).tensor;
  unsigned tensor = related.addTensor(type);
  if (auto sharding = attributes ? attributes.getAs<ShardingAttr>(kShardingAttr) : ShardingAttr())
    annotate(tensor, type, sharding, kind);
  return tensor;
}

/// Whether each worker has all of a result, so that one can report it: a metric that is a tensor, and not of examples.
static bool isReportedWhole(DictionaryAttr attributes) {
  if (!attributes || attributes.contains(kBatchDimAttr))
    return false;
  auto role = attributes.getAs<StringAttr>(kRoleAttr);
  auto sharding = attributes.getAs<ShardingAttr>(kShardingAttr);
  return role && role.getValue() == "metric" && (!sharding || sharding.isWhole());
}

LogicalResult ModulePropagation::addFunction(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
    DictionaryAttr attributes = function.getResultAttrDict(i);
    results[function].push_back(type ? addBoundary(type, attributes, AnnotationGroup::Value) : ~0u);
    if (type && type.getRank() > 0 && isReportedWhole(attributes))
      annotate(results[function].back(), type, ShardingAttr::getWhole(mesh.name, type.getRank()),
               AnnotationGroup::Value);
  }
  if (function.isExternal())
    return success();
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("has several blocks; only straight-line functions can be partitioned");
  for (BlockArgument argument : function.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      tensors[argument] =
          addBoundary(type, function.getArgAttrDict(argument.getArgNumber()), AnnotationGroup::Argument);
  for (Operation &op : function.getBody().front())
    addOp(&op);
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void ModulePropagation::addOp(Operation *op) {
  SmallVector<unsigned> operands = tensorsOf(op->getOperands()), resultTensors = tensorsOf(op->getResults());
  bool allTensors = operands.size() == op->getNumOperands() && resultTensors.size() == op->getNumResults();
  auto say = [&](unsigned i, ShardingAttr sharding) {
    annotate(resultTensors[i], op->getResult(i).getType(), sharding, AnnotationGroup::Value);
  };
  if (auto constraint = dyn_cast<ConstraintOp>(op)) {
    say(0, constraint.getSharding());
  } else if (auto reshard = dyn_cast<ReshardOp>(op)) {
    say(0, reshard.getSharding().getClosed());
    return;
  } else if (auto manual = dyn_cast<ManualOp>(op)) {
    addManual(manual);
    return;
  } else if (auto shardings = op->getAttrOfType<ArrayAttr>(kShardingsAttr)) {
    for (auto [i, sharding] : llvm::enumerate(shardings.getAsRange<ShardingAttr>()))
      say(i, sharding);
  }
  if (isa<func::ReturnOp>(op)) {
    for (auto [value, result] : llvm::zip_equal(op->getOperands(), results[op->getParentOfType<func::FuncOp>()]))
      if (std::optional<unsigned> tensor = tensorOf(value))
        related.tie({*tensor, result});
    return;
  }
  if (auto regions = dyn_cast<RegionTiesOpInterface>(op)) {
    addRegions(regions);
    return;
  }
  auto rule = dyn_cast<ShardingRuleOpInterface>(op);
  if (rule && allTensors) {
    llvm::append_range(operands, resultTensors);
    related.relate(rule.getShardingRule(), operands);
  }
}

void ModulePropagation::addManual(ManualOp op) {
  for (auto [value, sharding] : llvm::zip_equal(op->getResults(), op.getOutShardings()))
    annotate(*tensorOf(value), value.getType(), cast<ShardingAttr>(sharding).getClosed(), AnnotationGroup::Value);
  // What goes into the region should be there as the region takes it.
  for (auto [value, sharding] : llvm::zip_equal(op->getOperands(), op.getInShardings())) {
    unsigned inside = related.addTensor(cast<RankedTensorType>(value.getType()));
    annotate(inside, value.getType(), cast<ShardingAttr>(sharding).getClosed(), AnnotationGroup::Value);
    related.tie({*tensorOf(value), inside});
  }
}

/// Shardings go into a loop or branch and out of it through the values that are the same inside and outside.
void ModulePropagation::addRegions(RegionTiesOpInterface op) {
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front().without_terminator())
      addOp(&inner);
  RegionTies ties = op.getRegionTies();
  auto tie = [&](ArrayRef<Value> values) {
    if (SmallVector<unsigned> tied = tensorsOf(values); tied.size() == values.size())
      related.tie(tied);
  };
  for (const RegionTies::Same &each : ties.same)
    tie({each.outside, each.inside});
  for (const RegionTies::Carried &each : ties.carried) {
    SmallVector<Value> values(each.inside.begin(), each.inside.end());
    values.append({each.first, each.next, each.result});
    tie(values);
  }
  for (const RegionTies::Sliced &each : ties.sliced) {
    std::optional<unsigned> whole = tensorOf(each.whole), slice = tensorOf(each.slice);
    if (!whole || !slice)
      continue;
    ShardingRule rule;
    rule.operands.resize(2); // the tensor and a slice
    auto shape = cast<RankedTensorType>(each.whole.getType()).getShape();
    for (auto [dim, size] : llvm::enumerate(shape)) {
      const bool isRound = int64_t(dim) == each.dim;
      rule.factors.push_back({size, isRound ? FactorKind::NeedReplication : FactorKind::PassThrough});
      rule.operands[0].dims.push_back({unsigned(dim)});
      if (!isRound)
        rule.operands[1].dims.push_back({unsigned(dim)});
    }
    related.relate(std::move(rule), {*whole, *slice});
  }
}

//===----------------------------------------------------------------------===//
// Fixed point
//===----------------------------------------------------------------------===//

uint64_t ModulePropagation::apply(ArrayRef<uint64_t> delays) {
  settled.emplace(related);
  for (auto [group, axes] : llvm::zip(groups, delays))
    for (unsigned tensor : group.tensors)
      settled->delay(tensor, axes);
  settled->run();
  numCut = 0;
  for (auto function : module.getOps<func::FuncOp>())
    write(function);
  return settled->getContested();
}

void ModulePropagation::write(func::FuncOp function) {
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

void ModulePropagation::writeRegions(RegionTiesOpInterface op) {
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front().without_terminator())
      writeOp(&inner);
  auto arguments = op->getRegion(0).getArguments();
  if (SmallVector<unsigned> found = tensorsOf(arguments); found.size() == arguments.size())
    declareArguments(op, llvm::map_to_vector(found, [&](unsigned tensor) { return shardingOf(tensor); }));
}

void ModulePropagation::writeOp(Operation *op) {
  if (auto regions = dyn_cast<RegionTiesOpInterface>(op))
    writeRegions(regions);
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
