//===- PointEmitter.cpp - points that a thread has of its own ---------------===//

#include "compiler/target/cuda/GroupNestEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dgc {

/// Are the indices in their bounds at all points of the vector? They are if they are at the first and the last.
Value GroupNestEmitter::isWithin(ArrayRef<Bound> bounds) {
  Value all;
  AffineExpr dim = getAffineDimExpr(steppedDim, context);
  for (const Bound &bound : bounds)
    for (int64_t at : {int64_t(0), geometry.vector - 1}) {
      AffineExpr index = simplify(bound.index.replace(dim, dim + at));
      Value holds = below(position(index), bound.size);
      all = all ? arith::AndIOp::create(builder, loc, all, holds).getResult() : holds;
    }
  return all;
}

/// The points from the bound indices on: so many of the last outer loop as a vector has, or those that are left of it.
void GroupNestEmitter::ownPoints(const Segment &segment, const NestPlan &inner, ArrayRef<Bound> bounds) {
  if (geometry.vector == 1)
    return serial(segment, inner);
  steppedDim = geometry.outer.back();
  steppedFrom = dims[steppedDim];
  int64_t vector = geometry.vector, trips = geometry.trips.back(), whole = trips / vector * vector;
  Value isWhole = whole == trips ? Value() : below(steppedFrom, whole), isVector = isWhole;
  if (!bounds.empty()) {
    isVector = isWithin(bounds);
    isVector = isWhole ? arith::AndIOp::create(builder, loc, isWhole, isVector).getResult() : isVector;
  }
  when(isVector, [&] {
    within.assign(bounds.begin(), bounds.end());
    steps = vector;
    serial(segment, inner);
    steps = 1;
    within.clear();
  });
  if (!isVector)
    return;
  // One by one: the end of the loop, and what is at the edges of padding.
  Value yes = arith::ConstantIntOp::create(builder, loc, builder.getI1Type(), 1);
  when(arith::XOrIOp::create(builder, loc, isVector, yes), [&] {
    SmallVector<Running> none;
    Value end = atMost(plus(steppedFrom, constant(vector)), trips);
    carryingLoop(steppedFrom, end, 1, /*parallel=*/false, none, [&](Value index) {
      // Without the loop, what both branches read would be read before them, which is no vector.
      auto unroll = LLVM::LoopUnrollAttr::get(context, builder.getBoolAttr(true), {}, {}, {}, {}, {}, {});
      scopes[current].block->getParentOp()->setAttr(
          "loop_annotation",
          LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}));
      bind(steppedDim, index);
      serial(segment, inner);
    });
  });
}

} // namespace dgc
