//===- PartialResults.cpp - reductions that several blocks share ------------===//

#include "compiler/target/cuda/PartialResults.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dgc {

Value PartialResults::takePart(Value block) {
  const ThreadGeometry &geometry = grid.group.geometry;
  if (geometry.parts == 1)
    return block;
  int64_t others = geometry.grid / geometry.parts;
  part = geometry.columns ? code.divide(block, others) : code.modulo(block, geometry.parts);
  return geometry.columns ? code.modulo(block, others) : code.divide(block, geometry.parts);
}

Value PartialResults::memoryOf(Value value) {
  Value workspace = code.kernel.getArgument(code.kernel.getNumArguments() - 1);
  return LLVM::GEPOp::create(code.builder, code.loc, code.pointer, code.builder.getI8Type(), workspace,
                             ArrayRef<LLVM::GEPArg>{code.constant(grid.plan.memory.partials.lookup(value))});
}

AffineExpr PartialResults::positionOf(Value ofPart) {
  return code.symbolFor(ofPart) * grid.group.geometry.points + code.symbolFor(point);
}

void PartialResults::store(Value value, Value total) {
  OpBuilder::InsertionGuard guard(code.builder);
  if (code.storeOnlyIf) {
    auto branch = scf::IfOp::create(code.builder, code.loc, code.storeOnlyIf, /*withElseRegion=*/false);
    code.builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  code.store(total, memoryOf(value), positionOf(part), elementOf(value));
}

Value PartialResults::load(Value value, Value ofPart) {
  return code.load(memoryOf(value), elementOf(value), positionOf(ofPart));
}

/// What the parts have of each point, joined in their order.
void emitFinish(GridCode &grid, const Segment &segment, Value block) {
  ElementEmitter &code = grid.code;
  ThreadGroup &group = grid.group;
  OpBuilder &builder = code.builder;
  Location loc = code.loc;
  const KernelGraph &graph = code.graph;
  const ThreadGeometry &geometry = group.geometry;
  PartialResults parts(grid);
  const LoopNest &nest = segment.nests.front();
  group.lane = geometry.groupSize == 1 ? code.constant(0) : group.thread;
  group.number = code.constant(0);
  parts.point = geometry.groupSize == 1 ? code.plus(code.times(block, geometry.block), group.thread) : block;
  code.when(geometry.groupSize == 1 && geometry.points % geometry.block != 0 ? code.below(parts.point, geometry.points)
                                                                             : Value(),
            [&] {
              grid.bindInner(nest, geometry.outer);
              grid.bindLinear(geometry.outer, geometry.trips, parts.point, 1);
              code.floor = code.current;
              for (unsigned number : nest.roots) {
                const Root &root = graph.roots[number];
                linalg::LinalgOp op = root.reduction;
                for (auto [i, value] : llvm::enumerate(root.values)) {
                  if (!op)
                    continue; // the parts have stored it
                  Value nothing = arith::ConstantOp::create(builder, loc, identityOf(combinerOf(op, i)));
                  scf::ForOp loopOp = code.loop(group.lane, code.constant(geometry.parts), nothing, /*parallel=*/false,
                                                geometry.groupSize);
                  Value next = parts.load(value, loopOp.getInductionVar());
                  scf::YieldOp::create(builder, loc, combine(builder, op, i, loopOp.getRegionIterArg(0), next));
                  code.closeLoop();
                  Value total = loopOp.getResult(0), first;
                  if (geometry.groupSize > 1) {
                    total = group.reduce(op, i, total);
                    first = code.below(group.lane, 1);
                  }
                  total = combine(builder, op, i, code.element(op.getDpsInits()[i], root.indices[i]), total);
                  llvm::SaveAndRestore<Value> guard(code.storeOnlyIf, first);
                  code.storeEverywhere(value, root.indices[i], total);
                }
              }
              code.floor = 0;
            });
}

} // namespace dgc
