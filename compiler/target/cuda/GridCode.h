//===- GridCode.h - what the segments of a grid are written with ------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_GRIDCODE_H
#define DGC_COMPILER_TARGET_CUDA_GRIDCODE_H

#include "compiler/codegen/NestEmitter.h"
#include "compiler/target/cuda/CudaKernelPlan.h"
#include "compiler/target/cuda/DeviceMemory.h"
#include "compiler/target/cuda/ThreadGroup.h"

namespace dgc {

struct GridCode {
  GridCode(const CudaKernelPlan &plan, mlir::ModuleOp module, int64_t tileBytes)
      : plan(plan), code(plan.graph, module, memory, plan.indexBits), nests(code), group(code), tileBytes(tileBytes) {}

  /// Binds the indices of loops, the last one fastest, from a number that counts their points, `vector` of the last at
  /// a time.
  void bindLinear(llvm::ArrayRef<unsigned> loops, llvm::ArrayRef<int64_t> trips, mlir::Value linear, int64_t vector);
  /// Binds all dimensions of a nest to 0 but those that are `bound`.
  void bindInner(const LoopNest &nest, llvm::ArrayRef<unsigned> bound);
  /// Shared memory for tiles. A block has one segment, so those of a grid share it.
  mlir::Value tileMemory();

  const CudaKernelPlan &plan;
  DeviceMemory memory;
  ElementEmitter code;
  NestEmitter nests;
  ThreadGroup group;

private:
  int64_t tileBytes;
  mlir::Value memoryOfTiles;
};

/// The stores of one point, with the indices of its loops.
struct PendingStores {
  llvm::SmallVector<mlir::Value> dims;
  mlir::Value first;
  int64_t step;
  llvm::SmallVector<Store> stores;
};

/// Stores what was computed of points, of which `vector` are taken together. Nothing was stored between, so all that is
/// read for it may be on its way together. `isValid`: whether to store; null: it is stored.
void storeAll(ElementEmitter &code, int64_t vector, llvm::ArrayRef<PendingStores> pending, mlir::Value isValid);

// The kinds of segments. `block`: the number of the block among those of the segment.
void emitPoints(GridCode &grid, const Segment &segment, const SegmentPlan &shape, mlir::Value block);
void emitGroups(GridCode &grid, const Segment &segment, const SegmentPlan &shape, mlir::Value block,
                llvm::function_ref<void()> placeRows);
void emitColumns(GridCode &grid, const SegmentPlan &shape, mlir::Value block);
void emitTiles(GridCode &grid, const Segment &segment, mlir::Value block);
void emitSparse(GridCode &grid, const Segment &segment, const SparsePlan &plan, mlir::Value block);
void emitFinish(GridCode &grid, const Segment &segment, mlir::Value block);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_GRIDCODE_H
