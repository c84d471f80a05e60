// Shardings in loops and branches: reshards in their regions, and of what goes into them.

#include "dialects/dgc/AttributeNames.h"
#include "passes/shard/Inserter.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// The sharding of what a tensor of this sharding has slices of along `dim`, and of such a slice.
static ShardingAttr withDim(const MeshRef &mesh, ShardingAttr sharding, int64_t dim) {
  DimAxes dims = mesh.dimsOf(sharding);
  dims.insert(dims.begin() + dim, AxisList());
  return mesh.shardingOf(dims);
}

static ShardingAttr withoutDim(const MeshRef &mesh, ShardingAttr sharding, int64_t dim) {
  DimAxes dims = mesh.dimsOf(sharding);
  dims.erase(dims.begin() + dim);
  return mesh.shardingOf(dims);
}

/// A value that a loop carries is sharded in one way in all rounds. Where it is a sum that the body does not leave
/// partial after all, it is combined in every round, and the loop is begun again.
LogicalResult Inserter::visitRegions(RegionTiesOpInterface op) {
  SmallVector<DimAxes> declared =
      llvm::map_to_vector(op->getResults(), [&](Value result) { return mesh.dimsOf(shardingOf(result)); });
  llvm::SmallDenseSet<unsigned> combined; // of what is carried, by number
  while (true) {
    const LoopSums sums = findLoopSums(op, mesh, combined);
    Operation *untouched = sums.sums.empty() ? nullptr : op->clone();
    const size_t before = combined.size();
    LogicalResult fits = fitRegions(op, sums, combined);
    if (succeeded(fits) && combined.size() != before) {
      OpBuilder(op).insert(untouched);
      op->replaceAllUsesWith(untouched);
      op->erase();
      op = cast<RegionTiesOpInterface>(untouched);
      continue;
    }
    if (untouched)
      untouched->erase();
    if (failed(fits))
      return failure();
    break;
  }
  fitOperands(op);
  for (auto [result, dims] : llvm::zip_equal(op->getResults(), declared))
    settle(result, dims);
  return success();
}

/// Works through the regions of `op`, and declares its arguments and results. A sum that has to be combined in every round
/// is added to `combined`; then the rest is left undone.
LogicalResult Inserter::fitRegions(RegionTiesOpInterface op, const LoopSums &sums,
                                   llvm::SmallDenseSet<unsigned> &combined) {
  const RegionTies ties = op.getRegionTies();
  const size_t before = combined.size();
  auto isTensor = [](Value value) { return isa<RankedTensorType>(value.getType()); };
  if (!llvm::all_of(op->getOperands(), isTensor) || !llvm::all_of(op->getResults(), isTensor))
    return visitWithoutRule(op);
  SmallVector<ShardingAttr> arguments = llvm::map_to_vector(
      op->getRegion(0).getArguments(), [&](Value argument) { return shardingOf(argument).getClosed(); });
  SmallVector<Attribute> results;
  SmallVector<ShardingAttr> given; // by the regions, for each result
  for (Value result : op->getResults()) {
    results.push_back(shardingOf(result).getClosed());
    given.push_back(shardingOf(result).getClosed());
  }
  for (const RegionTies::Sliced &each : ties.sliced)
    if (auto result = dyn_cast<OpResult>(each.whole); result && each.operand < 0) {
      const unsigned number = result.getResultNumber();
      given[number] = withoutDim(mesh, given[number], each.dim);
      results[number] = withDim(mesh, given[number], each.dim);
    }
  for (auto [i, each] : llvm::enumerate(ties.carried)) {
    const unsigned number = cast<OpResult>(each.result).getResultNumber();
    for (const LoopSum &sum : sums.sums)
      if (sum.carried == i) {
        AxisList axes = sum.axes;
        for (AxisUse &use : axes)
          use.origin = originOf(op);
        results[number] = given[number] = mesh.shardingOf(mesh.dimsOf(given[number]), Reduction::Sum, axes);
      }
    for (Value inside : each.inside)
      arguments[cast<BlockArgument>(inside).getArgNumber()] = given[number];
  }
  declareArguments(op, arguments);

  ReshardCounts inside;
  for (Region &region : op->getRegions()) {
    Inserter inner(function, mesh, sums.terms);
    if (failed(inner.run(region.front())))
      return failure();
    const RegionTies now = op.getRegionTies();
    for (OpOperand &value : region.front().getTerminator()->getOpOperands()) {
      const unsigned number = value.getOperandNumber();
      if (llvm::is_contained(now.deciders, value.get())) // every device decides for itself
        inner.fit(value, ShardingAttr::getWhole(mesh.name, 0));
      else if (given[number].getUnreduced().empty() || shardingOf(value.get()).hasSameLayout(given[number]))
        inner.fit(value, given[number]);
      else
        combined.insert(number);
    }
    inside.reshards += inner.counts.reshards;
    inside.partial += inner.counts.partial;
  }
  if (combined.size() != before)
    return success();
  counts.reshards += inside.reshards;
  counts.partial += inside.partial;
  if (!ties.carried.empty() || !ties.sliced.empty()) // a loop
    hoistReshards(op, arguments);
  declareArguments(op, arguments);
  declare(op, results);
  return success();
}

/// Reshards what is the same in all rounds before the loop: the operand itself where all ops need it in one other way,
/// else one more for each way. What is for one use is gone before the next one, and so before the next round.
void Inserter::hoistReshards(RegionTiesOpInterface op, SmallVectorImpl<ShardingAttr> &arguments) {
  llvm::MapVector<int64_t, SmallVector<Value>> inside; // by operand
  for (const RegionTies::Same &each : op.getRegionTies().same)
    if (each.operand >= 0)
      inside[each.operand].push_back(each.inside);
  auto useInstead = [&](ArrayRef<ReshardOp> reshards, unsigned argument) {
    arguments[argument] = ReshardOp(reshards[0]).getSharding();
    for (ReshardOp reshard : reshards) {
      reshard.replaceAllUsesWith(reshard->getParentRegion()->getArgument(argument));
      reshard.erase();
      --counts.reshards;
    }
  };
  for (auto &[operand, values] : inside) {
    SmallVector<SmallVector<ReshardOp>> ways;
    bool isUsedAsItIs = false;
    for (Value value : values)
      for (Operation *user : value.getUsers()) {
        auto reshard = dyn_cast<ReshardOp>(user);
        if (reshard && reshard->hasAttr(kUseAttr))
          reshard = ReshardOp();
        isUsedAsItIs |= !reshard;
        if (!reshard)
          continue;
        auto *same = llvm::find_if(ways, [&](ArrayRef<ReshardOp> way) {
          return ReshardOp(way[0]).getSharding().hasSameLayout(reshard.getSharding());
        });
        if (same != ways.end())
          same->push_back(reshard);
        else
          ways.push_back({reshard});
      }
    if (ways.size() == 1 && !isUsedAsItIs) {
      useInstead(ways[0], cast<BlockArgument>(values[0]).getArgNumber());
      continue;
    }
    for (ArrayRef<ReshardOp> way : ways)
      if (op.addInvariant(op->getOperand(operand))) {
        arguments.emplace_back();
        useInstead(way, arguments.size() - 1);
      }
  }
}

/// Makes the operands of a loop or branch be sharded as the arguments of its regions.
void Inserter::fitOperands(RegionTiesOpInterface op) {
  const RegionTies ties = op.getRegionTies();
  llvm::SmallDenseMap<unsigned, ShardingAttr> wanted;
  for (const RegionTies::Same &each : ties.same)
    if (each.operand >= 0)
      wanted[each.operand] = shardingOf(each.inside);
  for (const RegionTies::Carried &each : ties.carried) // zeros are the addends of zeros
    wanted[each.operand] = mesh.shardingOf(mesh.dimsOf(shardingOf(each.inside[0])));
  for (const RegionTies::Sliced &each : ties.sliced)
    if (each.operand >= 0)
      wanted[each.operand] = withDim(mesh, shardingOf(each.slice), each.dim);
  for (OpOperand &operand : op->getOpOperands()) {
    auto it = wanted.find(operand.getOperandNumber());
    fit(operand, it != wanted.end() ? it->second // else it decides between branches
                                    : ShardingAttr::getWhole(mesh.name, 0));
  }
}
