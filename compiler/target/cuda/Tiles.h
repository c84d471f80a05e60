//===- Tiles.h - elementwise segments that transpose -------------*- C++ -*-===//
//
// A result is contiguous in memory along one loop, and some of its operands along another. Whichever of the two loops
// the threads of a warp take, the accesses of the other are not coalesced. Blocks that take a tile of both loops
// transpose such operands in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_TILES_H
#define DGC_COMPILER_TARGET_CUDA_TILES_H

#include "compiler/target/cuda/ThreadGeometry.h"

namespace dgc {

/// Makes `geometry` one of tiles where a nest without reductions transposes, and is large enough for it to matter.
bool chooseTiles(const KernelGraph &graph, const LoopNest &nest, ThreadGeometry &geometry);

/// What a tile of an array takes of a block's memory. A row is one element longer than the tile, so that the elements
/// of a column are in different banks.
inline int64_t tilePitch(const ThreadGeometry &geometry) { return kWarp * geometry.vector + 1; }
int64_t tileBytes(const ThreadGeometry &geometry, mlir::Value array);
/// And of all arrays of the segment.
int64_t tileBytes(const ThreadGeometry &geometry);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_TILES_H
