//===- LowerControlFlow.cpp - loops and branches of exec programs ----------===//

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "passes/schedule/ProgramBuilder.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::exec;

namespace dgc::schedule {

/// The steps of a region, in a region of a step.
LogicalResult ProgramBuilder::lowerRegion(Region &region, Region &inside) {
  OpBuilder::InsertionGuard guard(steps);
  steps.setInsertionPointToStart(&inside.emplaceBlock());
  return lowerBlock(region.front());
}

/// The same, and what the region yields is in `targets` at its end. Those of a loop are where its arguments are.
LogicalResult ProgramBuilder::lowerYielding(Region &region, Region &inside, ArrayRef<Value> targets, bool isLoop) {
  Operation *yield = region.front().getTerminator();
  for (auto [i, value, target] : llvm::enumerate(yield->getOperands(), targets)) {
    placeResult(value, target, isLoop ? region.getArgument(i) : Value());
  }
  if (failed(lowerRegion(region, inside))) {
    return failure();
  }
  OpBuilder::InsertionGuard guard(steps);
  steps.setInsertionPointToEnd(&inside.front());
  SmallVector<Assignment> assignments;
  for (auto [value, target] : llvm::zip_equal(yield->getOperands(), targets)) {
    Value buffer = bufferOf(value), root = rootOf(value);
    auto slice = slices.find(root);
    if (buffer == target || (slice != slices.end() && slice->second.buffer == target) ||
        llvm::is_contained(copiesAfter.lookup(root.getDefiningOp()), std::pair(root, target))) {
      continue;
    }
    assignments.push_back({buffer, bufferOf(root), target});
  }
  assignTogether(std::move(assignments), yield->getLoc());
  return success();
}

/// Copies in an order in which nothing is overwritten that another one takes; around a circle one value is set aside.
void ProgramBuilder::assignTogether(SmallVector<Assignment> assignments, Location loc) {
  while (!assignments.empty()) {
    auto next = llvm::find_if(assignments, [&](const Assignment &each) {
      return llvm::none_of(assignments,
                           [&](const Assignment &other) { return other.memory == each.to && other.to != each.to; });
    });
    if (next == assignments.end()) {
      Assignment &first = assignments.front();
      Value fresh = makeBuffer(Space::Private, cast<MemRefType>(first.to.getType()), "old", loc);
      copy(first.from, fresh, loc);
      first.from = first.memory = fresh;
      continue;
    }
    copy(next->from, next->to, loc);
    assignments.erase(next);
  }
}

/// The buffer of a value that a loop carries: that of its first one, if a step gives it to the loop alone.
Value ProgramBuilder::bufferToCarry(Value value, dgc::WhileOp op) {
  Value root = rootOf(value);
  auto uses = llvm::count_if(op->getOperands(), [&](Value operand) { return rootOf(operand) == root; });
  if (root.getDefiningOp<StepOpInterface>() && !slices.contains(root) && uses == 1 && deadAfter(root, op)) {
    ++inPlace;
    return bufferOf(value);
  }
  Value fresh =
      makeBuffer(Space::Private, bufferType(value.getType()), "carried" + std::to_string(counter++), op.getLoc());
  if (std::optional<double> number = splatOf(root)) {
    FillOp::create(steps, op.getLoc(), fresh, APFloat(*number));
  } else {
    copy(bufferOf(value), fresh, op.getLoc());
  }
  return fresh;
}

LogicalResult ProgramBuilder::lowerWhile(dgc::WhileOp op) {
  SmallVector<Value> carried;
  for (Value value : op.getCarried()) {
    carried.push_back(bufferToCarry(value, op));
  }
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Value buffer = i < carried.size() ? carried[i] : bufferOf(operand);
    mapping.map(op.getCondition().getArgument(i), buffer);
    mapping.map(op.getBody().getArgument(i), buffer);
  }
  auto loop = exec::WhileOp::create(steps, op.getLoc(), carried.front(), op.getRoundsAttr(), op->hasAttr(kCountedAttr));
  Operation *condition = op.getCondition().front().getTerminator();
  if (failed(lowerRegion(op.getCondition(), loop.getTest()))) {
    return failure();
  }
  loop.getPredicateMutable().assign(bufferOf(condition->getOperand(0)));
  for (auto [result, buffer] : llvm::zip_equal(op.getResults(), carried)) {
    mapping.map(result, buffer);
  }
  return lowerYielding(op.getBody(), loop.getBody(), carried, /*isLoop=*/true);
}

LogicalResult ProgramBuilder::lowerIf(dgc::IfOp op) {
  SmallVector<Value> results;
  for (Value result : op.getResults()) {
    results.push_back(bufferOf(result));
  }
  auto branch = exec::IfOp::create(steps, op.getLoc(), bufferOf(op.getPredicate()));
  for (Region *region : op.getRegions()) {
    for (auto [argument, operand] : llvm::zip_equal(region->getArguments(), op.getInputs())) {
      mapping.map(argument, bufferOf(operand));
    }
  }
  if (failed(lowerYielding(op.getThenRegion(), branch.getThenSteps(), results, /*isLoop=*/false))) {
    return failure();
  }
  return lowerYielding(op.getElseRegion(), branch.getElseSteps(), results, /*isLoop=*/false);
}

} // namespace dgc::schedule
