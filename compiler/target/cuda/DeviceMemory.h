//===- DeviceMemory.h - accesses of memory on GPUs --------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_DEVICEMEMORY_H
#define DGC_COMPILER_TARGET_CUDA_DEVICEMEMORY_H

#include "compiler/codegen/ElementEmitter.h"

namespace dgc {

/// The tile that a block has in shared memory, and the row of a thread's points in it that is being written (Tiles.h).
struct StagedTile {
  int64_t pitch = 0;   // elements of a row
  mlir::Value first;   // the first element that a thread reads of an array's tile
  int64_t rowStep = 0; // elements between two rows of a thread,
  int64_t row = 0;     // and which row it is
  /// Of an array in memory, what is read at a position: the memory of its tile.
  llvm::DenseMap<std::pair<mlir::Value, mlir::AffineExpr>, mlir::Value> memoryOf;
};

class DeviceMemory final : public MemoryAccess {
public:
  mlir::Value addressOf(ElementEmitter &code, Place place, mlir::Type storage) override;
  unsigned alignmentAt(const ElementEmitter &code, Place place, mlir::Type storage) override;
  Place readAt(ElementEmitter &code, Place place) override;
  mlir::Value scratch(ElementEmitter &code, mlir::Type storage, int64_t count) override;

  llvm::SmallPtrSet<mlir::Value, 4> alignedRows; // memory of the block that begins at a multiple of 16 bytes
  StagedTile tile;
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_DEVICEMEMORY_H
