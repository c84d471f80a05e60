//===- NestEmitter.h - loop nests ---------------------------------===//
//
// Writes the loops of one nest of a schedule with scf: what its roots compute at each point, and the running values of
// reductions, in registers where their loops are innermost and else in memory.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_CODEGEN_NESTEMITTER_H
#define DGC_COMPILER_CODEGEN_NESTEMITTER_H

#include "compiler/codegen/ElementEmitter.h"
#include "compiler/codegen/KernelPlan.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace dgc {

class NestEmitter : public ElementEmitter {
protected:
  using ElementEmitter::ElementEmitter;

  /// What a reduction carries through its loops; nothing before it begins, and when that is in memory.
  struct Running {
    unsigned root;
    llvm::SmallVector<mlir::Value> accumulators;
    llvm::SmallVector<llvm::SmallVector<mlir::Value>>
        addends; // of a sum in memory, per value: those of a point, in steps
  };
  /// Scratch memory that holds the partial sums of a block, for a sum whose running values are in memory.
  struct PartialMemory {
    llvm::SmallVector<mlir::Value, 1> memory; // per value of the root; empty: the running values are in their own place
    mlir::AffineExpr linear;                  // the element, over the parallel loops inside the blocks
    size_t outerGroups = 0;                   // parallel loops around the blocks, which share the memory
  };
  /// What a sum had before a block began.
  struct Suspended {
    bool isSum = false;
    llvm::SmallVector<mlir::Value> accumulators;
    PartialMemory memory;
  };
  /// An element that is to be stored.
  struct Store {
    mlir::Value value;
    Index index;
    mlir::Value scalar;
  };

  mlir::scf::ForOp loop(mlir::Value lower, mlir::Value upper, mlir::ValueRange init, bool parallel, int64_t step = 1);
  void bind(unsigned dim, mlir::Value index);
  void closeLoop();
  /// A loop with its inside, which is given the index; reductions that have begun are carried through it. What carries
  /// none may be parallel.
  void carryingLoop(mlir::Value from, mlir::Value to, int64_t step, bool parallel,
                    llvm::SmallVectorImpl<Running> &running, llvm::function_ref<void(mlir::Value)> inside);
  void emitNest(const Segment &segment, const NestPlan &plan, mlir::Value lower, mlir::Value upper);
  void overParallel(const Segment &segment, const NestPlan &plan, unsigned depth, const Root &root, mlir::Value lower,
                    mlir::Value upper, llvm::function_ref<void()> inside);
  void initialise(const Segment &segment, const NestPlan &plan, unsigned root, mlir::Value lower, mlir::Value upper);
  void emitLoopsFrom(const Segment &segment, const NestPlan &plan, unsigned depth,
                     llvm::SmallVectorImpl<Running> &running, mlir::Value lower, mlir::Value upper);
  void plainNest(const Segment &segment, const NestPlan &plan, unsigned depth, llvm::SmallVectorImpl<Running> &running,
                 mlir::Value lower, mlir::Value upper, mlir::Value from, mlir::Value to);
  void steppedNest(const Segment &segment, const NestPlan &plan, unsigned depth,
                   llvm::SmallVectorImpl<Running> &running, mlir::Value lower, mlir::Value upper, mlir::Value from,
                   mlir::Value to);
  void blockedNest(const Segment &segment, const NestPlan &plan, unsigned depth, llvm::ArrayRef<int64_t> blocks,
                   llvm::SmallVectorImpl<Running> &running, mlir::Value lower, mlir::Value upper, mlir::Value from,
                   mlir::Value to);
  void points(const LoopNest &nest, llvm::SmallVectorImpl<Running> &running);
  llvm::SmallVector<Store> point(llvm::SmallVectorImpl<Running> &running);
  mlir::Value elementwise(const Root &root);
  virtual void reduce(const Root &root, Running &run);

  // Sums in blocks (PartialSums.cpp).
  llvm::SmallVector<mlir::Value> identitiesOf(const Root &root);
  mlir::Value combine(mlir::linalg::LinalgOp op, unsigned number, mlir::Value a, mlir::Value b);
  mlir::Value totalOf(mlir::linalg::LinalgOp op, unsigned number, llvm::ArrayRef<mlir::Value> addends);
  mlir::Value loadRunning(unsigned root, unsigned number);
  void storeRunning(unsigned root, unsigned number, mlir::Value scalar);
  llvm::SmallVector<Suspended> beginBlock(const Segment &segment, const NestPlan &plan, unsigned depth,
                                          llvm::SmallVectorImpl<Running> &running, mlir::Value lower,
                                          mlir::Value upper);
  void endBlock(const Segment &segment, const NestPlan &plan, unsigned depth, llvm::SmallVectorImpl<Running> &running,
                llvm::ArrayRef<Suspended> suspended, mlir::Value lower, mlir::Value upper);
  PartialMemory partialMemory(const LoopNest &nest, unsigned depth, const PartialSums &sums);
  /// Scratch memory for `count` elements at the entry of the kernel.
  virtual mlir::Value scratch(mlir::Type storage, int64_t count) = 0;

  llvm::SmallDenseMap<unsigned, PartialMemory> partials; // by root: where its running values are now
  // In a loop that takes several steps at a time: their dimension, the first one, how many.
  unsigned steppedDim = 0;
  mlir::Value steppedFrom;
  int64_t steps = 1, step = 0; // and which one is being written
};

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_NESTEMITTER_H
