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

/// Elements are loads and stores at pointers and positions of the width of indices. With memref.load over the dimensions
/// that tensors have, the sum of a row by a warp has 83 instructions of PTX for sm_90 and not 76, as four neighbours do
/// not always become one access, and an elementwise kernel with a broadcast 46 and not 40 with positions of 64 bits, 45
/// with 32. With vector.load they are 74 and not 76 for the row, and 23 as here for a product of two arrays; but neither
/// has the access groups that say which iterations are independent.
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
