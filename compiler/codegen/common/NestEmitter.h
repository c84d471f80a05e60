//===- NestEmitter.h - loop nests of passes ---------------------------------===//
//
// Writes the loops of one pass of a schedule with scf: what its roots compute at each point, and the running values of
// reductions, in registers where their loops are innermost and else in memory.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_CODEGEN_COMMON_NESTEMITTER_H
#define DGC_COMPILER_CODEGEN_COMMON_NESTEMITTER_H

#include "compiler/codegen/common/ElementEmitter.h"
#include "compiler/codegen/common/KernelSchedule.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace dgc {

class NestEmitter : public ElementEmitter {
protected:
  using ElementEmitter::ElementEmitter;

  /// What a reduction carries through its loops; nothing before it begins, and when that is in memory.
  struct Running {
    unsigned root;
    llvm::SmallVector<mlir::Value> accumulators;
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
  void pass(const Segment &segment, const Pass &pass, mlir::Value lower, mlir::Value upper);
  void initialise(const Pass &pass, const Segment &segment, unsigned root, mlir::Value lower, mlir::Value upper);
  void nest(const Segment &segment, const Pass &pass, unsigned depth, llvm::SmallVectorImpl<Running> &running,
            mlir::Value lower, mlir::Value upper);
  void plainNest(const Segment &segment, const Pass &pass, unsigned depth, llvm::SmallVectorImpl<Running> &running,
                 mlir::Value lower, mlir::Value upper);
  void steppedNest(const Segment &segment, const Pass &pass, unsigned depth, llvm::SmallVectorImpl<Running> &running,
                   mlir::Value lower, mlir::Value upper);
  void points(const Pass &pass, llvm::SmallVectorImpl<Running> &running);
  llvm::SmallVector<Store> point(llvm::SmallVectorImpl<Running> &running);
  mlir::Value elementwise(const Root &root);
  virtual void reduce(const Root &root, Running &run);
  bool addsRows(const Pass &pass, unsigned depth) const;
  bool inMemory(const Pass &pass, const Root &root) const;
  unsigned lastParallel(const Pass &pass, const Root &root) const;

  // In a loop that takes several steps at a time: their dimension, the first one, how many.
  unsigned steppedDim = 0;
  mlir::Value steppedFrom;
  int64_t steps = 1, step = 0; // and which one is being written
};

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_COMMON_NESTEMITTER_H
