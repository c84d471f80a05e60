//===- ThreadGroupEmitter.h - code that the threads of a group share -----------------===//
//
// Thread indices, shared memory of a block, barriers, and the reduction of the threads' running values across a thread
// group.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_THREADGROUPEMITTER_H
#define DGC_COMPILER_TARGET_CUDA_THREADGROUPEMITTER_H

#include "compiler/codegen/NestEmitter.h"
#include "compiler/target/cuda/ThreadGeometry.h"

namespace dgc {

class ThreadGroupEmitter : public NestEmitter {
protected:
  using NestEmitter::NestEmitter;

  /// Calls one of device_function; returns no value when `result` is null.
  mlir::Value call(llvm::StringRef function, mlir::Type result, mlir::ValueRange operands = {});
  mlir::Value index(mlir::Value number);
  mlir::Value divide(mlir::Value value, int64_t by);
  mlir::Value modulo(mlir::Value value, int64_t by);
  void when(mlir::Value condition, llvm::function_ref<void()> inside);

  mlir::Value shared(llvm::StringRef what, mlir::Type storage, int64_t count);
  mlir::Value shuffle(mlir::Value value, int64_t mask);
  mlir::Value scratch(mlir::Type storage, int64_t count) override;
  /// Reduces the running values of the threads of a group. Every thread gets the result.
  mlir::Value reduceAcrossGroup(mlir::linalg::LinalgOp op, unsigned number, mlir::Value value);
  void groupBarrier();

  ThreadGeometry geometry; // of the current segment
  mlir::Value thread;      // of the block
  mlir::Value lane;        // index of the thread in its group
  mlir::Value threadGroup; // index of the group in the block

private:
  mlir::Value acrossWarps(mlir::linalg::LinalgOp op, unsigned number, mlir::Value value);
  mlir::Value acrossColumns(mlir::linalg::LinalgOp op, unsigned number, mlir::Value value);

  unsigned arrays = 0; // arrays of shared memory so far, for their names
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_THREADGROUPEMITTER_H
