#include "passes/partition/Differences.h"

#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "passes/place/Stages.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

/// True for a collective over all devices of a group after which they have the same.
static bool unites(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective)
    return false;
  MeshAttr mesh = lookupMesh(op, collective.getMeshAttr());
  CollectiveKind kind = collective.describe().kind;
  return (kind == CollectiveKind::AllReduce || kind == CollectiveKind::AllGather ||
          kind == CollectiveKind::Broadcast) &&
         getGroupSize(mesh, collective.getAxes()) * mesh.getAxisSize(kStageAxis) == mesh.getNumDevices();
}

Differences::Differences(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (isDataInput(function, argument.getArgNumber()))
      values.insert(argument);
  visit(function.getBody().front());
}

void Differences::visit(Block &block) {
  for (Operation &op : block) {
    if (isAcrossStages(&op))
      visitLoop(&op);
    else if (isa<AxisIndexOp>(op) ||
             (!unites(&op) && llvm::any_of(op.getOperands(), [&](Value operand) { return values.contains(operand); })))
      values.insert_range(op.getResults());
  }
}

void Differences::visitLoop(Operation *loop) {
  Block &body = cast<WhileOp>(loop).getBody().front();
  for (size_t before = values.size() + 1; before != values.size();) {
    before = values.size();
    for (BlockArgument argument : body.getArguments())
      if (llvm::any_of(sourcesOf(argument), [&](Value source) { return values.contains(source); }))
        values.insert(argument);
    visit(body);
  }
  for (Value result : loop->getResults())
    if (values.contains(sourcesOf(result).front()))
      values.insert(result);
}
