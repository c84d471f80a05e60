//===- GroupSegment.cpp - segments of rows and of columns -------------------===//

#include "compiler/target/cuda/CooperativeNest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dgc {

/// A nest without loops, such as the logarithm of the sum of a row: all threads know the value, one stores it.
static void onceForAll(GridCode &grid, const LoopNest &nest) {
  ElementEmitter &code = grid.code;
  const KernelGraph &graph = code.graph;
  grid.bindInner(nest, grid.group.geometry.outer);
  SmallVector<Value> values;
  for (unsigned root : nest.roots)
    values.push_back(grid.nests.elementwise(graph.roots[root]));
  Value first = code.below(grid.group.lane, 1);
  llvm::SaveAndRestore<Value> guard(code.storeOnlyIf, first);
  for (auto [number, value] : llvm::zip_equal(nest.roots, values))
    code.storeEverywhere(graph.roots[number].values.front(), graph.roots[number].indices.front(), value);
}

static void emitGroupNest(GridCode &grid, PartialResults &parts, KnownRow &kept, const Segment &segment,
                          const GroupNestPlan &plan) {
  ElementEmitter &code = grid.code;
  ThreadGroup &group = grid.group;
  OpBuilder &builder = code.builder;
  Location loc = code.loc;
  const ThreadGeometry &geometry = group.geometry;
  grid.bindInner(plan.nest, geometry.outer);
  switch (plan.form) {
  case GroupNestPlan::Form::Once:
    return onceForAll(grid, plan.nest);
  case GroupNestPlan::Form::Cooperate:
    return CooperativeNest(grid, parts, kept, plan).emit();
  case GroupNestPlan::Form::FirstThread: {
    Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, group.lane, code.constant(0));
    return code.when(first, [&] { grid.nests.emitInside(segment, plan.inner); });
  }
  case GroupNestPlan::Form::InTurn:
    break;
  }
  auto savedGroups = code.groups;
  Value count = code.constant(sizeOf(plan.commonTrips));
  scf::ForOp loopOp = code.loop(group.lane, count, {}, /*parallel=*/false, geometry.groupSize);
  grid.bindLinear(plan.common, plan.commonTrips, loopOp.getInductionVar(), 1);
  grid.nests.emitInside(segment, plan.inner);
  scf::YieldOp::create(builder, loc);
  code.closeLoop();
  code.groups = savedGroups;
}

/// A warp or a block for each row.
void emitGroups(GridCode &grid, const Segment &segment, const SegmentPlan &shape, Value block,
                llvm::function_ref<void()> placeRows) {
  ElementEmitter &code = grid.code;
  ThreadGroup &group = grid.group;
  const ThreadGeometry &geometry = group.geometry;
  PartialResults parts(grid);
  Value row = parts.takePart(block), mine;
  group.lane = group.thread;
  group.number = code.constant(0);
  if (int64_t perBlock = geometry.groupsPerBlock(); perBlock > 1) {
    group.lane = code.modulo(group.thread, geometry.groupSize);
    group.number = code.divide(group.thread, geometry.groupSize);
    row = code.plus(code.times(block, perBlock), group.number);
    // A warp does all of a row or nothing.
    if (geometry.points % perBlock != 0)
      mine = code.below(row, geometry.points);
  }
  code.when(mine, [&] {
    placeRows();
    parts.point = row;
    grid.bindLinear(geometry.outer, geometry.trips, row, 1);
    code.floor = code.current;
    KnownRow kept;
    for (const GroupNestPlan &nest : shape.nests) {
      emitGroupNest(grid, parts, kept, segment, nest);
      if (shape.meets && &nest != &shape.nests.back())
        group.barrier();
    }
    code.floor = 0;
  });
}

/// Adjacent columns for each block; the threads of a column take its rows in turn.
void emitColumns(GridCode &grid, const SegmentPlan &shape, Value block) {
  ElementEmitter &code = grid.code;
  ThreadGroup &group = grid.group;
  OpBuilder &builder = code.builder;
  Location loc = code.loc;
  const ThreadGeometry &geometry = group.geometry;
  PartialResults parts(grid);
  group.lane = code.divide(group.thread, geometry.adjacent);
  group.number = code.modulo(group.thread, geometry.adjacent);
  Value first = code.times(parts.takePart(block), geometry.adjacent), item = code.plus(first, group.number);
  // All threads meet at barriers: those without a column compute the last one, and store nothing.
  if (geometry.items() % geometry.adjacent != 0) {
    Value last = code.constant(geometry.items() - 1);
    code.storeOnlyIf = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, item, last);
    item = arith::MinUIOp::create(builder, loc, item, last);
  }
  parts.point = code.times(first, geometry.vector); // and those behind it
  grid.bindLinear(geometry.outer, geometry.trips, item, geometry.vector);
  code.floor = code.current;
  KnownRow kept;
  CooperativeNest(grid, parts, kept, shape.nests.front()).emit();
  code.floor = 0;
  code.storeOnlyIf = {};
}

} // namespace dgc
