//===- DeviceMemory.cpp - accesses of memory on GPUs ------------------------===//

#include "compiler/target/cuda/DeviceMemory.h"
#include "compiler/target/cuda/ThreadGeometry.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dgc {

/// Points that are taken together begin at a multiple of their number: that makes one access of several.
unsigned DeviceMemory::alignmentAt(const ElementEmitter &code, Place place, Type storage) {
  const Steps &steps = code.steps;
  if (steps.count == 1)
    return 0;
  Operation *op = place.memory.getDefiningOp();
  bool isAligned = alignedRows.contains(place.memory) || !op ||
                   (isa<LLVM::GEPOp>(op) && isa<BlockArgument>(op->getOperand(0))); // the workspace
  if (!isAligned)
    return 0;
  int64_t width = llvm::divideCeil(storage.getIntOrFloatBitWidth(), 8);
  return std::min<int64_t>(alignmentOf(place.linear, steps.dim, steps.count, steps.current, width), 16);
}

/// Of points that are taken together, all addresses are that of the first and a constant, for LLVM to see that.
Value DeviceMemory::addressOf(ElementEmitter &code, Place place, Type storage) {
  const Steps &steps = code.steps;
  AffineExpr dim = getAffineDimExpr(steps.dim, code.context);
  auto distance =
      steps.count == 1 || steps.current == 0
          ? AffineConstantExpr()
          : dyn_cast<AffineConstantExpr>(simplify(place.linear.replace(dim, dim + steps.current) - place.linear));
  if (!distance)
    return MemoryAccess::addressOf(code, place, storage);
  llvm::SaveAndRestore<Value> first(code.dims[steps.dim], steps.first);
  Value address = MemoryAccess::addressOf(code, place, storage);
  return LLVM::GEPOp::create(code.builder, code.loc, code.pointer, storage, address,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(distance.getValue())});
}

/// An element of a staged array is in the tile.
Place DeviceMemory::readAt(ElementEmitter &code, Place place) {
  auto it = tile.memoryOf.find({place.memory, place.linear});
  if (it == tile.memoryOf.end())
    return place;
  return {it->second, code.symbolFor(tile.first) + code.steps.current * tile.pitch + tile.row * tile.rowStep};
}

/// Memory of the thread.
Value DeviceMemory::scratch(ElementEmitter &code, Type storage, int64_t count) {
  OpBuilder::InsertionGuard guard(code.builder);
  code.builder.setInsertionPointToStart(&code.kernel.getBody().front());
  return LLVM::AllocaOp::create(code.builder, code.loc, code.pointer, storage, code.constant(count), 16);
}

} // namespace dgc
