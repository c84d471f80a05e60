//===- SparseEmitter.cpp - sums of few addends on GPUs ----------------------===//

#include "compiler/target/cuda/SparseEmitter.h"
#include "compiler/target/cuda/GridEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dgc {

/// So many addends from `first` on as the block has threads: each thread looks whether there is one, then all threads
/// add those that there are to the element of their own. Returns the sum, of which each word of addends is a partial
/// sum.
Value SparseEmitter::chunk(const SparseLoops &sum, Value first) {
  const Root &root = sum.root;
  linalg::LinalgOp op = root.reduction;
  int64_t warps = geometry.block / kWarp;
  Value warp = divide(thread, kWarp), mine = plus(first, thread);
  Value isAddend = below(mine, sum.plan.addends);
  bindLinear(sum.plan.added, sum.plan.addedTrips, atMost(mine, sum.plan.addends - 1), 1);
  Index point = pointOf(context, root.space), loops;
  for (unsigned dim : root.loopOfDim)
    loops.push_back(point[dim]);
  Value is =
      arith::AndIOp::create(builder, loc, body(op, loops, sum.nothing, sum.plan.sum.condition).front(), isAddend);
  Value bits = call(device_function::ballot, builder.getI32Type(),
                    {arith::ExtUIOp::create(builder, loc, builder.getI32Type(), is)});
  Value leads = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, constant(0));
  when(leads, [&] { store(bits, sum.found, symbolFor(warp), builder.getI32Type()); });
  call(device_function::barrier, {});
  scopes[current].values.clear(); // they are those of this thread's addend

  // There are few: a warp looks at the bits of all warps together, and continues with those that are not 0.
  Type i32 = builder.getI32Type();
  Value others = load(sum.found, i32, symbolFor(atMost(lane, warps - 1)));
  Value none = arith::ConstantIntOp::create(builder, loc, i32, 0);
  others = arith::SelectOp::create(builder, loc, below(lane, warps), others, none);
  Value some = call(device_function::ballot, i32, {others});
  Value one = arith::ConstantIntOp::create(builder, loc, i32, 1);
  auto lowestBit = [&](Value bits) {
    return index(LLVM::CountTrailingZerosOp::create(builder, loc, i32, bits, /*is_zero_poison=*/true));
  };
  auto withoutLowest = [&](Value bits) -> Value {
    return arith::AndIOp::create(builder, loc, bits, arith::SubIOp::create(builder, loc, bits, one).getResult());
  };
  Value filled = index(LLVM::CtPopOp::create(builder, loc, i32, some));
  scf::ForOp words = loop(constant(0), filled, {sum.nothing, some}, false);
  Value from = lowestBit(words.getRegionIterArg(1));
  Value word = load(sum.found, i32, symbolFor(from));
  Value begin = plus(first, times(from, kWarp));
  Value count = index(LLVM::CtPopOp::create(builder, loc, i32, word));
  scf::ForOp each = loop(constant(0), count, {sum.nothing, word}, false);
  Value left = each.getRegionIterArg(1), bit = lowestBit(left);
  bindLinear(sum.plan.added, sum.plan.addedTrips, plus(begin, bit), 1);
  Running run{graph.rootOf.lookup(root.values.front()), {}, {}};
  run.accumulators = {each.getRegionIterArg(0)};
  reduce(root, run);
  scf::YieldOp::create(builder, loc, ValueRange{run.accumulators.front(), withoutLowest(left)});
  closeLoop();
  Value ofWords = combine(op, 0, words.getRegionIterArg(0), each.getResult(0));
  scf::YieldOp::create(builder, loc, ValueRange{ofWords, withoutLowest(words.getRegionIterArg(1))});
  closeLoop();
  call(device_function::barrier, {});
  return words.getResult(0);
}

/// The sum of the addends from `from` to `to`, chunk by chunk, in blocks of so many chunks that are cut on.
Value SparseEmitter::chunks(const SparseLoops &sum, Value from, Value to, ArrayRef<int64_t> blocks) {
  int64_t size = geometry.block * (blocks.empty() ? 1 : blocks.front());
  scf::ForOp loopOp = loop(from, to, sum.nothing, /*parallel=*/false, size);
  Value first = loopOp.getInductionVar(), partial;
  if (blocks.empty()) {
    partial = chunk(sum, first);
  } else {
    Value left = arith::SubIOp::create(builder, loc, to, first);
    partial = chunks(sum, first, plus(first, atMost(left, size)), blocks.drop_front());
  }
  scf::YieldOp::create(builder, loc, combine(sum.root.reduction, 0, loopOp.getRegionIterArg(0), partial));
  closeLoop();
  return loopOp.getResult(0);
}

/// A block for a row of a sum of few addends.
void SparseEmitter::sparse(const Segment &segment, const SparsePlan &plan, Value block) {
  const LoopNest &nest = segment.nests.front();
  const Root &root = graph.roots[nest.roots.front()];
  linalg::LinalgOp op = root.reduction;
  int64_t elements = sizeOf(geometry.innerTrips), warps = geometry.block / kWarp;

  lane = modulo(thread, kWarp);
  bindInner(nest, {});
  bindLinear(geometry.outer, geometry.trips, divide(block, geometry.tiles), 1);
  Value element = plus(times(modulo(block, geometry.tiles), geometry.block), thread);
  // All threads meet at barriers: those without an element compute the last one, and store nothing.
  Value hasElement = below(element, elements);
  bindLinear(geometry.inner, geometry.innerTrips, atMost(element, elements - 1), 1);
  Value found = shared("found", builder.getI32Type(), warps);
  floor = current;

  Value nothing = arith::ConstantOp::create(builder, loc, identityOf(combinerOf(op, 0)));
  Value ofAll = chunks({root, plan, found, nothing}, constant(0), constant(plan.addends), plan.blocks);
  for (unsigned dim : plan.added)
    bind(dim, constant(0));

  Value total = combine(op, 0, this->element(op.getDpsInits()[0], root.indices[0]), ofAll);
  {
    llvm::SaveAndRestore<Value> guard(storeOnlyIf, hasElement);
    storeEverywhere(root.values[0], root.indices[0], total);
  }
  floor = 0;
}

} // namespace dgc
