//===- ThreadGroup.h - what the threads of a group do together --------------===//
//
// Thread indices, shared memory of a block, barriers, and the reduction of the threads' running values across a thread
// group.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_THREADGROUP_H
#define DGC_COMPILER_TARGET_CUDA_THREADGROUP_H

#include "compiler/codegen/ElementEmitter.h"
#include "compiler/target/cuda/ThreadGeometry.h"

namespace dgc {

class ThreadGroup {
public:
  explicit ThreadGroup(ElementEmitter &code) : code(code), builder(code.builder), loc(code.loc) {}

  /// A number that is not negative, of 32 bits or of type index, as an index.
  mlir::Value index(mlir::Value number);
  mlir::Value threadOfBlock();
  mlir::Value blockOfGrid();

  /// Memory of the block.
  mlir::Value shared(llvm::StringRef what, mlir::Type storage, int64_t count);
  void barrier();
  void blockBarrier();
  /// A bit for each lane of the warp where it is true.
  mlir::Value ballot(mlir::Value isTrue);
  /// Reduces the running values of the threads of a group. Every thread gets the result.
  mlir::Value reduce(mlir::linalg::LinalgOp op, unsigned number, mlir::Value value);

  ThreadGeometry geometry; // of the current segment
  mlir::Value thread;      // of the block
  mlir::Value lane;        // index of the thread in its group
  mlir::Value number;      // index of the group in the block

private:
  mlir::Value allLanes();
  mlir::Value shuffle(mlir::Value value, int64_t mask);
  mlir::Value acrossWarps(mlir::linalg::LinalgOp op, unsigned number, mlir::Value value);

  ElementEmitter &code;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  unsigned arrays = 0; // arrays of shared memory so far, for their names
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_THREADGROUP_H
