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

namespace dgc {

/// What a reduction carries through its loops; nothing before it begins, and when that is in memory.
struct Running {
  unsigned root;
  llvm::SmallVector<mlir::Value> accumulators;
  llvm::SmallVector<llvm::SmallVector<mlir::Value>>
      addends; // of a sum in memory, per value: those of a point, in steps
};

/// An element that is to be stored.
struct Store {
  mlir::Value value;
  Index index;
  mlir::Value scalar;
};

class NestEmitter {
public:
  explicit NestEmitter(ElementEmitter &code) : code(code), graph(code.graph), builder(code.builder), loc(code.loc) {}

  /// The loops of a nest inside the rows of its segment. `lower`, `upper`: the part of the loop that the segment is
  /// split along; null: all of it.
  void emitNest(const Segment &segment, const NestPlan &plan, mlir::Value lower = {}, mlir::Value upper = {});
  /// The same where the indices that the nest has no loop for are bound already.
  void emitInside(const Segment &segment, const NestPlan &plan, mlir::Value lower = {}, mlir::Value upper = {});

  /// A loop with its inside, which is given the index; reductions that have begun are carried through it. What carries
  /// none may be parallel.
  mlir::scf::ForOp carryingLoop(mlir::Value from, mlir::Value to, int64_t step, bool parallel,
                                llvm::SmallVectorImpl<Running> &running, llvm::function_ref<void(mlir::Value)> inside);

  /// One step of a reduction.
  using Reduce = llvm::function_ref<void(const Root &, Running &)>;
  /// What the roots compute at the current point; what is to be stored is left to the caller.
  llvm::SmallVector<Store> point(llvm::SmallVectorImpl<Running> &running, Reduce reduceBy);
  llvm::SmallVector<Store> point(llvm::SmallVectorImpl<Running> &running);
  /// The value of an elementwise root at the current point; others of the nest may use it.
  mlir::Value elementwise(const Root &root);
  void reduce(const Root &root, Running &run);

private:
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
  /// What all loops of a nest are written with.
  struct Part {
    const Segment &segment;
    const NestPlan &plan;
    mlir::Value lower, upper; // of the loop that the segment is split along; null: all of it
  };

  void overParallel(const Part &part, unsigned depth, const Root &root, llvm::function_ref<void()> inside);
  void initialise(const Part &part, unsigned root);
  void begin(const LoopNest &nest, unsigned depth, llvm::SmallVectorImpl<Running> &running,
             llvm::SmallVectorImpl<Running *> &begun);
  void end(const LoopNest &nest, llvm::ArrayRef<Running *> begun);
  void loopsFrom(const Part &part, unsigned depth, llvm::SmallVectorImpl<Running> &running);
  void plainLoop(const Part &part, unsigned depth, llvm::SmallVectorImpl<Running> &running, mlir::Value from,
                 mlir::Value to);
  void steppedLoop(const Part &part, unsigned depth, llvm::SmallVectorImpl<Running> &running, mlir::Value from,
                   mlir::Value to);
  void points(const LoopNest &nest, llvm::SmallVectorImpl<Running> &running);

  // Sums in blocks (PartialSums.cpp).
  void blockedLoop(const Part &part, unsigned depth, llvm::ArrayRef<int64_t> blocks,
                   llvm::SmallVectorImpl<Running> &running, mlir::Value from, mlir::Value to);
  llvm::SmallVector<Suspended> beginBlock(const Part &part, unsigned depth, llvm::SmallVectorImpl<Running> &running);
  void endBlock(const Part &part, unsigned depth, llvm::SmallVectorImpl<Running> &running,
                llvm::ArrayRef<Suspended> suspended);
  PartialMemory partialMemory(const LoopNest &nest, unsigned depth, const PartialSums &sums);
  mlir::Value loadRunning(unsigned root, unsigned number);
  void storeRunning(unsigned root, unsigned number, mlir::Value scalar);

  ElementEmitter &code;
  const KernelGraph &graph;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallDenseMap<unsigned, PartialMemory> partials; // by root: where its running values are now
};

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_NESTEMITTER_H
