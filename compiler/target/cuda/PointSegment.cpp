//===- PointSegment.cpp - segments whose threads have points of their own ---===//

#include "compiler/target/cuda/GridCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dgc {

/// Are the indices in their bounds at all points of the vector? They are if they are at the first and the last.
static Value isWithin(ElementEmitter &code, ArrayRef<Bound> bounds, int64_t vector) {
  OpBuilder &builder = code.builder;
  Location loc = code.loc;
  Value all;
  AffineExpr dim = getAffineDimExpr(code.steps.dim, code.context);
  for (const Bound &bound : bounds)
    for (int64_t at : {int64_t(0), vector - 1}) {
      AffineExpr index = simplify(bound.index.replace(dim, dim + at));
      Value holds = code.below(code.position(index), bound.size);
      all = all ? arith::AndIOp::create(builder, loc, all, holds).getResult() : holds;
    }
  return all;
}

/// The points from the bound indices on: so many of the last outer loop as a vector has, or those that are left of it.
static void ownPoints(GridCode &grid, const Segment &segment, const SegmentPlan &shape) {
  ElementEmitter &code = grid.code;
  OpBuilder &builder = code.builder;
  Location loc = code.loc;
  const ThreadGeometry &geometry = grid.group.geometry;
  ArrayRef<Bound> bounds = shape.bounds;
  if (geometry.vector == 1) {
    if (shape.points.size() > 1)
      code.floor = code.current;
    for (const NestPlan &plan : shape.points) {
      grid.bindInner(plan.nest, geometry.outer);
      grid.nests.emitInside(segment, plan);
    }
    code.floor = 0;
    return;
  }
  code.steps.dim = geometry.outer.back();
  code.steps.first = code.dims[code.steps.dim];
  int64_t vector = geometry.vector, trips = geometry.trips.back(), whole = trips / vector * vector;
  Value isWhole = whole == trips ? Value() : code.below(code.steps.first, whole), isVector = isWhole;
  if (!bounds.empty()) {
    isVector = isWithin(code, bounds, vector);
    isVector = isWhole ? arith::AndIOp::create(builder, loc, isWhole, isVector).getResult() : isVector;
  }
  code.when(isVector, [&] {
    code.within.assign(bounds.begin(), bounds.end());
    code.steps.count = vector;
    grid.nests.emitInside(segment, shape.points.front());
    code.steps.count = 1;
    code.within.clear();
  });
  if (!isVector)
    return;
  // One by one: the end of the loop, and what is at the edges of padding.
  Value yes = arith::ConstantIntOp::create(builder, loc, builder.getI1Type(), 1);
  code.when(arith::XOrIOp::create(builder, loc, isVector, yes), [&] {
    SmallVector<Running> none;
    Value end = code.atMost(code.plus(code.steps.first, code.constant(vector)), trips);
    grid.nests.carryingLoop(code.steps.first, end, 1, /*parallel=*/false, none, [&](Value index) {
      // Without the loop, what both branches read would be read before them, which is no vector.
      auto unroll = LLVM::LoopUnrollAttr::get(code.context, builder.getBoolAttr(true), {}, {}, {}, {}, {}, {});
      code.scopes[code.current].block->getParentOp()->setAttr(
          "loop_annotation",
          LLVM::LoopAnnotationAttr::get(code.context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}));
      code.bind(code.steps.dim, index);
      grid.nests.emitInside(segment, shape.points.front());
    });
  });
}

/// Every thread has points of its own.
void emitPoints(GridCode &grid, const Segment &segment, const SegmentPlan &shape, Value block) {
  ElementEmitter &code = grid.code;
  ThreadGroup &group = grid.group;
  const ThreadGeometry &geometry = group.geometry;
  const LoopNest &nest = segment.nests.front();
  Value point = code.plus(code.times(block, kBlock), group.thread);
  int64_t work = geometry.items();
  Value mine;
  if (geometry.grid * kBlock != work)
    mine = code.below(point, work);
  code.when(mine, [&] {
    grid.bindInner(nest, geometry.outer);
    grid.bindLinear(geometry.outer, geometry.trips, point, geometry.vector);
    ownPoints(grid, segment, shape);
  });
}

} // namespace dgc
