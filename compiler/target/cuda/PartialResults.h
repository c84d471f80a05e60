//===- PartialResults.h - reductions that several blocks share --------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_PARTIALRESULTS_H
#define DGC_COMPILER_TARGET_CUDA_PARTIALRESULTS_H

#include "compiler/target/cuda/GridCode.h"

namespace dgc {

/// What a block leaves in the workspace of the part of the addends that it takes: all points of the first part, then
/// those of the second, ..
class PartialResults {
public:
  explicit PartialResults(GridCode &grid) : grid(grid), code(grid.code) {}

  /// Takes from the number of a block that of its part; returns what is left. Blocks that run at the same time read
  /// adjacent elements.
  mlir::Value takePart(mlir::Value block);
  void store(mlir::Value value, mlir::Value total);
  mlir::Value load(mlir::Value value, mlir::Value ofPart);

  mlir::Value part;  // that the block takes
  mlir::Value point; // of the outer loops, as a number

private:
  mlir::Value memoryOf(mlir::Value value);
  mlir::AffineExpr positionOf(mlir::Value ofPart);

  GridCode &grid;
  ElementEmitter &code;
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_PARTIALRESULTS_H
