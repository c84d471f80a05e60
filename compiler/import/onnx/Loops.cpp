#include "compiler/import/onnx/Loops.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dgc::import {

void isolate(Operation *loop, MutableOperandRange invariants) {
  Block &body = loop->getRegions().back().front();
  auto isOutside = [&](Value value) { return value.getParentBlock() != &body; };
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
    if (llvm::all_of(op.getOperands(), isOutside) && !op.hasTrait<OpTrait::ConstantLike>() && op.getNumRegions() == 0)
      op.moveBefore(loop);
  OpBuilder builder(loop->getContext());
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(loop->getRegions(), used);
  for (Value value : used) {
    Operation *def = value.getDefiningOp();
    const bool isConstant = def && def->hasTrait<OpTrait::ConstantLike>();
    if (!isConstant)
      invariants.append(value);
    for (Region &region : loop->getRegions()) {
      builder.setInsertionPointToStart(&region.front());
      Value inside = isConstant ? Value(builder.clone(*def)->getResult(0))
                                : Value(region.addArgument(value.getType(), value.getLoc()));
      replaceAllUsesInRegionWith(value, inside, region);
    }
  }
}

/// A number or truth value of an input as a scalar.
static FailureOr<Value> scalarOf(Node &n, Value value, const Twine &what, Type element) {
  if (tensorOf(value).getNumElements() != 1 || elementOf(value) != element)
    return n.refuse(what + " is " + (element.isInteger(1) ? "not one truth value" : "not one integer of 64 bits"));
  return n.b.reshape(value, {});
}

/// Makes the regions of the loop, of the body of the node.
static LogicalResult fillWhile(Node &n, WhileOp loop, FailureOr<Value> most) {
  OpBuilder &builder = n.b.builder;
  OpBuilder::InsertionGuard guard(builder);
  Type i64 = builder.getI64Type();
  OperandRange carried = loop.getCarried();
  SmallVector<Location> locations(carried.size(), n.b.location);
  Block *condition = builder.createBlock(&loop.getCondition(), {}, carried.getTypes(), locations);
  Value more = condition->getArgument(1);
  if (succeeded(most))
    more = AndOp::create(builder, n.b.location, more,
                         n.b.compare(ComparisonDirection::LT, condition->getArgument(0), *most));
  ConditionOp::create(builder, n.b.location, more);

  Block *body = builder.createBlock(&loop.getBody(), {}, carried.getTypes(), locations);
  SmallVector<Item> inputs = llvm::map_to_vector(body->getArguments(), [](Value value) { return Item::of(value); });
  FailureOr<SmallVector<Item>> results = n.run("body", inputs);
  if (failed(results))
    return failure();
  SmallVector<Value> next{n.b.add(body->getArgument(0), n.b.constant(RankedTensorType::get({}, i64), 1))};
  for (auto [i, item] : llvm::enumerate(*results)) {
    if (item.isList)
      return n.refuse("a result of its body is a sequence");
    next.push_back(n.valueOf(item));
    if (i == 0 && tensorOf(next.back()).getNumElements() == 1)
      next.back() = n.b.reshape(next.back(), {});
    if (next.back().getType() != carried[i + 1].getType())
      return n.refuse("operand " + Twine(int64_t(i) - 1) +
                      " of its body changes its shape, and how many rounds there are is " +
                      "not known when a model is compiled");
  }
  YieldOp::create(builder, n.b.location, next);
  return success();
}

LogicalResult buildWhile(Node &n) {
  OpBuilder &builder = n.b.builder;
  Type i64 = builder.getI64Type(), i1 = builder.getI1Type();
  const unsigned count = n.numInputs() < 2 ? 0 : n.numInputs() - 2;
  if (n.numResultsOf("body") != count + 1)
    return n.refuse("how many rounds it has is not known when a model is compiled, and it has a result of each");

  // The number of the round, whether it takes place, and what is carried.
  SmallVector<Value> carried{n.b.constant(RankedTensorType::get({}, i64), 0)};
  FailureOr<Value> most = n.has(0) ? scalarOf(n, n.in(0), "its trip count", i64) : FailureOr<Value>(failure());
  if (n.has(0) && failed(most))
    return failure();
  FailureOr<Value> goesOn =
      n.has(1) ? scalarOf(n, n.in(1), "its condition", i1) : n.b.constant(RankedTensorType::get({}, i1), 1);
  if (failed(goesOn))
    return failure();
  carried.push_back(*goesOn);
  for (unsigned i = 0; i < count; ++i) {
    const Item item = n.item(i + 2);
    if (!item || item.isList)
      return n.refuse("how many rounds it has is not known when a model is compiled, and it carries a sequence");
    carried.push_back(n.valueOf(item));
  }

  auto loop =
      WhileOp::create(builder, n.b.location, ValueRange(carried).getTypes(), carried, ValueRange(), IntegerAttr());
  if (failed(fillWhile(n, loop, most)))
    return failure();
  isolate(loop, loop.getInvariantsMutable());
  return n.give(loop.getResults().drop_front(2));
}

} // namespace dgc::import
