//===- SparseSegment.cpp - sums of few addends on GPUs ----------------------===//

#include "compiler/target/cuda/GridCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dgc {
namespace {
class SparseEmitter {
public:
  explicit SparseEmitter(GridCode &grid)
      : grid(grid), code(grid.code), group(grid.group), geometry(group.geometry), graph(code.graph),
        builder(code.builder), loc(code.loc) {}

  void emit(const Segment &segment, const SparsePlan &plan, Value block);

private:
  /// A sum of few addends, and the loops over them.
  struct SparseLoops {
    const Root &root;
    const SparsePlan &plan;
    Value found, nothing; // bits of the present addends, in the block's memory; zero
  };
  Value search(const SparseLoops &loops, Value first);
  Value addFound(const SparseLoops &loops, Value first, Value some);
  Value chunk(const SparseLoops &loops, Value first);
  Value chunks(const SparseLoops &loops, Value from, Value to, ArrayRef<int64_t> blocks);

  GridCode &grid;
  ElementEmitter &code;
  ThreadGroup &group;
  const ThreadGeometry &geometry;
  const KernelGraph &graph;
  OpBuilder &builder;
  Location loc;
};
} // namespace

/// Each thread looks whether there is an addend for it among those from `first` on. The bits of all warps are then in
/// the block's memory; returns a bit for each of them that is not 0.
Value SparseEmitter::search(const SparseLoops &sum, Value first) {
  const Root &root = sum.root;
  linalg::LinalgOp op = root.reduction;
  int64_t warps = geometry.block / kWarp;
  Value warp = code.divide(group.thread, kWarp), mine = code.plus(first, group.thread);
  Value isAddend = code.below(mine, sum.plan.addends);
  grid.bindLinear(sum.plan.added, sum.plan.addedTrips, code.atMost(mine, sum.plan.addends - 1), 1);
  Index point = pointOf(code.context, root.space), loops;
  for (unsigned dim : root.loopOfDim)
    loops.push_back(point[dim]);
  Value is =
      arith::AndIOp::create(builder, loc, code.body(op, loops, sum.nothing, sum.plan.sum.condition).front(), isAddend);
  Value bits = group.ballot(is);
  Value leads = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, group.lane, code.constant(0));
  code.when(leads, [&] { code.store(bits, sum.found, code.symbolFor(warp), builder.getI32Type()); });
  group.blockBarrier();
  code.scopes[code.current].values.clear(); // they are those of this thread's addend

  // There are few: a warp looks at the bits of all warps together, and continues with those that are not 0.
  Type i32 = builder.getI32Type();
  Value others = code.load(sum.found, i32, code.symbolFor(code.atMost(group.lane, warps - 1)));
  Value none = arith::ConstantIntOp::create(builder, loc, i32, 0);
  others = arith::SelectOp::create(builder, loc, code.below(group.lane, warps), others, none);
  return group.ballot(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, others, none));
}

/// Adds the addends that were found from `first` on to the element of each thread. `some`: the words of bits that are
/// not 0. Returns the sum, of which each word of addends is a partial sum.
Value SparseEmitter::addFound(const SparseLoops &sum, Value first, Value some) {
  const Root &root = sum.root;
  linalg::LinalgOp op = root.reduction;
  Type i32 = builder.getI32Type();
  Value one = arith::ConstantIntOp::create(builder, loc, i32, 1);
  auto lowestBit = [&](Value bits) {
    return group.index(LLVM::CountTrailingZerosOp::create(builder, loc, i32, bits, /*is_zero_poison=*/true));
  };
  auto withoutLowest = [&](Value bits) -> Value {
    return arith::AndIOp::create(builder, loc, bits, arith::SubIOp::create(builder, loc, bits, one).getResult());
  };
  Value filled = group.index(LLVM::CtPopOp::create(builder, loc, i32, some));
  scf::ForOp words = code.loop(code.constant(0), filled, {sum.nothing, some}, false);
  Value from = lowestBit(words.getRegionIterArg(1));
  Value word = code.load(sum.found, i32, code.symbolFor(from));
  Value begin = code.plus(first, code.times(from, kWarp));
  Value count = group.index(LLVM::CtPopOp::create(builder, loc, i32, word));
  scf::ForOp each = code.loop(code.constant(0), count, {sum.nothing, word}, false);
  Value left = each.getRegionIterArg(1), bit = lowestBit(left);
  grid.bindLinear(sum.plan.added, sum.plan.addedTrips, code.plus(begin, bit), 1);
  Running run{graph.rootOf.lookup(root.values.front()), {}, {}};
  run.accumulators = {each.getRegionIterArg(0)};
  grid.nests.reduce(root, run);
  scf::YieldOp::create(builder, loc, ValueRange{run.accumulators.front(), withoutLowest(left)});
  code.closeLoop();
  Value ofWords = combine(builder, op, 0, words.getRegionIterArg(0), each.getResult(0));
  scf::YieldOp::create(builder, loc, ValueRange{ofWords, withoutLowest(words.getRegionIterArg(1))});
  code.closeLoop();
  return words.getResult(0);
}

/// So many addends from `first` on as the block has threads.
Value SparseEmitter::chunk(const SparseLoops &sum, Value first) {
  Value some = search(sum, first);
  Value total = addFound(sum, first, some);
  group.blockBarrier();
  return total;
}

/// The sum of the addends from `from` to `to`, chunk by chunk, in blocks of so many chunks that are cut on.
Value SparseEmitter::chunks(const SparseLoops &sum, Value from, Value to, ArrayRef<int64_t> blocks) {
  int64_t size = geometry.block * (blocks.empty() ? 1 : blocks.front());
  scf::ForOp loopOp = code.loop(from, to, sum.nothing, /*parallel=*/false, size);
  Value first = loopOp.getInductionVar(), partial;
  if (blocks.empty()) {
    partial = chunk(sum, first);
  } else {
    Value left = arith::SubIOp::create(builder, loc, to, first);
    partial = chunks(sum, first, code.plus(first, code.atMost(left, size)), blocks.drop_front());
  }
  scf::YieldOp::create(builder, loc, combine(builder, sum.root.reduction, 0, loopOp.getRegionIterArg(0), partial));
  code.closeLoop();
  return loopOp.getResult(0);
}

/// A block for a row of a sum of few addends.
void SparseEmitter::emit(const Segment &segment, const SparsePlan &plan, Value block) {
  const LoopNest &nest = segment.nests.front();
  const Root &root = graph.roots[nest.roots.front()];
  linalg::LinalgOp op = root.reduction;
  int64_t elements = sizeOf(geometry.innerTrips), warps = geometry.block / kWarp;

  group.lane = code.modulo(group.thread, kWarp);
  grid.bindInner(nest, {});
  grid.bindLinear(geometry.outer, geometry.trips, code.divide(block, geometry.tiles), 1);
  Value mine = code.plus(code.times(code.modulo(block, geometry.tiles), geometry.block), group.thread);
  // All threads meet at barriers: those without an element compute the last one, and store nothing.
  Value hasElement = code.below(mine, elements);
  grid.bindLinear(geometry.inner, geometry.innerTrips, code.atMost(mine, elements - 1), 1);
  Value found = group.shared("found", builder.getI32Type(), warps);
  code.floor = code.current;

  Value nothing = arith::ConstantOp::create(builder, loc, identityOf(combinerOf(op, 0)));
  Value ofAll = chunks({root, plan, found, nothing}, code.constant(0), code.constant(plan.addends), plan.blocks);
  for (unsigned dim : plan.added)
    code.bind(dim, code.constant(0));

  Value total = combine(builder, op, 0, code.element(op.getDpsInits()[0], root.indices[0]), ofAll);
  {
    llvm::SaveAndRestore<Value> guard(code.storeOnlyIf, hasElement);
    code.storeEverywhere(root.values[0], root.indices[0], total);
  }
  code.floor = 0;
}

void emitSparse(GridCode &grid, const Segment &segment, const SparsePlan &plan, Value block) {
  SparseEmitter(grid).emit(segment, plan, block);
}

} // namespace dgc
