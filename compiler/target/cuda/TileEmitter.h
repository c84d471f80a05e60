//===- TileEmitter.h - elementwise segments that transpose, on GPUs ----------===//

#ifndef DGC_COMPILER_TARGET_CUDA_TILEEMITTER_H
#define DGC_COMPILER_TARGET_CUDA_TILEEMITTER_H

#include "compiler/target/cuda/SparseEmitter.h"

namespace dgc {

class TileEmitter : public SparseEmitter {
protected:
  using SparseEmitter::SparseEmitter;

  /// Blocks for the tiles of a segment that transposes (Tiles.h).
  void tiles(const Segment &segment, mlir::Value block);
  mlir::Value load(mlir::Value memory, mlir::Type type, mlir::AffineExpr linear) override;

  int64_t sharedTileBytes = 0; // the most that the tiles of a segment of this grid take

private:
  /// A side of the tile: a loop, and the index at which the tile begins.
  struct Side {
    unsigned dim;
    int64_t trips;
    mlir::Value first;
  };
  /// The elements of an array at the points of the tile.
  struct Tile {
    mlir::Value memory;
    mlir::Type type;
  };

  mlir::Value bindRow(const Side &along, const Side &across, int64_t row);
  void nextStep(const Side &along);
  void stage(const Side &from, const Side &to);
  mlir::Value tileMemory();

  mlir::Value memoryOfTiles;
  // The first column and row of a thread in a tile, and the first element that it reads of one.
  mlir::Value column, firstRow, firstInTile;
  /// What is in the tile: of an array in memory, what is read at this position.
  llvm::DenseMap<std::pair<mlir::Value, mlir::AffineExpr>, Tile> tileOf;
  int64_t row = 0; // of those that a thread takes, the one that is being written
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_TILEEMITTER_H
