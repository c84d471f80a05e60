//===- GridCode.cpp - what the segments of a grid are written with ----------===//

#include "compiler/target/cuda/GridCode.h"

using namespace mlir;

namespace dgc {

void GridCode::bindLinear(ArrayRef<unsigned> loops, ArrayRef<int64_t> trips, Value linear, int64_t vector) {
  for (size_t i = loops.size(); i-- > 0;) {
    bool isLast = i + 1 == loops.size();
    int64_t size = isLast ? llvm::divideCeil(trips[i], vector) : trips[i];
    Value at = i == 0 ? linear : code.modulo(linear, size);
    if (isLast && vector > 1)
      at = code.times(at, vector);
    code.bind(loops[i], at);
    if (i > 0)
      linear = code.divide(linear, size);
  }
}

void GridCode::bindInner(const LoopNest &nest, ArrayRef<unsigned> bound) {
  for (unsigned dim = 0; dim < nest.space.size(); ++dim)
    if (!llvm::is_contained(bound, dim))
      code.bind(dim, code.constant(0));
}

Value GridCode::tileMemory() {
  if (!memoryOfTiles)
    memoryOfTiles = group.shared("tile", code.builder.getI8Type(), tileBytes);
  return memoryOfTiles;
}

void storeAll(ElementEmitter &code, int64_t vector, ArrayRef<PendingStores> pending, Value isValid) {
  if (pending.empty())
    return;
  OpBuilder &builder = code.builder;
  OpBuilder::InsertionGuard insertion(builder);
  if (isValid) {
    auto branch = scf::IfOp::create(builder, code.loc, isValid, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  code.steps.count = vector;
  // One value after the other, as neighbours become one access only where nothing is stored between them.
  for (size_t i = 0; i < pending.front().stores.size(); ++i)
    for (const PendingStores &each : pending) {
      code.dims = each.dims;
      code.steps.first = each.first;
      code.steps.current = each.step;
      const Store &store = each.stores[i];
      code.storeEverywhere(store.value, store.index, store.scalar);
    }
  code.steps.current = 0;
  code.steps.count = 1;
}

} // namespace dgc
