// Which values may differ between devices.

#include "passes/communicate/Uniformity.h"

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

Uniformity::Uniformity(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (auto sharding = function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), kShardingAttr)) {
      Varies varies{{}, function};
      for (DimShardingAttr dim : sharding.getDims())
        for (AxisRefAttr axis : dim.getAxes())
          varies.axes.push_back(axis.getName());
      add(argument, varies);
    }
  walk(function.getBody().front(), {});
}

/// Adds axes, which `because` makes a value differ along. Returns whether that is more than before.
static bool join(Uniformity::Varies &varies, ArrayRef<StringAttr> axes, Operation *because) {
  bool grew = false;
  for (StringAttr axis : axes)
    if (!llvm::is_contained(varies.axes, axis)) {
      varies.axes.push_back(axis);
      varies.because = varies.because ? varies.because : because;
      grew = true;
    }
  return grew;
}

bool Uniformity::add(Value value, const Varies &more) { return join(values[value], more.axes, more.because); }

/// The values of a block, to which devices come that differ along `decided` in whether they do.
bool Uniformity::walk(Block &block, const Varies &decided) {
  bool grew = false;
  for (Operation &op : block)
    grew |= visit(&op, decided);
  return grew;
}

bool Uniformity::visit(Operation *op, const Varies &decided) {
  if (auto regions = dyn_cast<RegionTiesOpInterface>(op))
    return visitRegions(regions, decided);
  bool grew = false;
  auto give = [&](ValueRange from, ValueRange results) {
    Varies varies = made(op, from);
    join(varies, decided.axes, decided.because);
    for (Value result : results)
      grew |= add(result, varies);
  };
  if (isa<CollectiveOpInterface>(op)) // of several values each by itself
    for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults()))
      give(operand, result);
  else
    give(op->getOperands(), op->getResults());
  return grew;
}

/// What an op makes of operands.
Uniformity::Varies Uniformity::made(Operation *op, ValueRange from) const {
  Varies varies;
  for (Value operand : from)
    if (Varies each = of(operand))
      join(varies, each.axes, each.because);
  auto along = [](ArrayAttr axes) { return llvm::to_vector(axes.getAsRange<StringAttr>()); };
  if (auto index = dyn_cast<AxisIndexOp>(op)) {
    join(varies, along(index.getAxes()), op);
  } else if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    SmallVector<StringAttr> axes = along(collective.getAxes());
    if (collective.describe().makesEqual)
      llvm::erase_if(varies.axes, [&](StringAttr axis) { return llvm::is_contained(axes, axis); });
    else
      join(varies, axes, op);
  } else if (auto transfer = dyn_cast<TransferOpInterface>(op)) {
    if (MeshAttr mesh = lookupMesh(op, transfer.getTargetAttr()))
      for (MeshAxisAttr axis : mesh.getAxes())
        join(varies, axis.getName(), op);
  }
  return varies;
}

bool Uniformity::visitRegions(RegionTiesOpInterface op, const Varies &decided) {
  const RegionTies ties = op.getRegionTies();
  bool grew = false;
  for (bool again = true; again;) { // what a value may differ along only grows
    again = false;
    Varies inside = decided;
    if (!op->hasAttr(kCountedAttr)) // devices do those rounds whatever the condition gives
      for (Value value : ties.deciders)
        if (Varies each = of(value))
          join(inside, each.axes, each.because);
    auto flow = [&](Value from, Value to) { again |= add(to, of(from)); };
    for (const RegionTies::Same &each : ties.same)
      each.operand >= 0 ? flow(each.outside, each.inside) : flow(each.inside, each.outside);
    for (const RegionTies::Sliced &each : ties.sliced)
      each.operand >= 0 ? flow(each.whole, each.slice) : flow(each.slice, each.whole);
    for (const RegionTies::Carried &each : ties.carried) {
      for (Value value : each.inside) {
        flow(each.first, value);
        flow(each.next, value);
      }
      flow(each.inside[0], each.result);
    }
    for (Value result : op->getResults())
      again |= add(result, inside);
    for (Region &region : op->getRegions())
      again |= walk(region.front(), inside);
    grew |= again;
  }
  return grew;
}

LogicalResult dgc::verifyUniform(func::FuncOp function) {
  SmallVector<RegionTiesOpInterface> loops;
  function.walk([&](RegionTiesOpInterface op) {
    if (communicatesInside(op) && !op->hasAttr(kCountedAttr))
      loops.push_back(op);
  });
  if (loops.empty())
    return success();
  Uniformity uniformity(function);
  for (RegionTiesOpInterface op : loops)
    for (Value value : op.getRegionTies().deciders)
      if (Uniformity::Varies varies = uniformity.of(value)) {
        std::string axes =
            llvm::join(llvm::map_range(varies.axes, [](StringAttr axis) { return axis.getValue(); }), ", ");
        InFlightDiagnostic error =
            op->emitOpError()
            << "communicates, and what decides it may differ between devices along " << axes
            << ": some would wait for others that do not come; make it whole, by a collective in front "
               "of what decides";
        error.attachNote(varies.because->getLoc()) << "this makes it differ";
        return failure();
      }
  return success();
}
