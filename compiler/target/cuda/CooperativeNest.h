//===- CooperativeNest.h - a nest whose points threads take in turn ---------===//
//
// The points of a nest are distributed cyclically over the threads of a group: in loops, unrolled so that enough loads
// are in flight, or, where a row is kept in registers, without a loop, so that the next nest reuses the registers.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_COOPERATIVENEST_H
#define DGC_COMPILER_TARGET_CUDA_COOPERATIVENEST_H

#include "compiler/target/cuda/OnlineEmitter.h"
#include "compiler/target/cuda/PartialResults.h"

namespace dgc {

/// What is known at a point, and at each of the points of a row that a thread has.
using Known = llvm::DenseMap<ElementEmitter::Key, mlir::Value>;
using KnownRow = std::vector<Known>;

class CooperativeNest {
public:
  /// `kept`: what the nests before know of the row, where threads keep it.
  CooperativeNest(GridCode &grid, PartialResults &parts, KnownRow &kept, const GroupNestPlan &plan)
      : grid(grid), code(grid.code), nests(grid.nests), group(grid.group), geometry(group.geometry), graph(code.graph),
        builder(code.builder), loc(code.loc), parts(parts), kept(kept), plan(plan), sums(plan.online),
        online(nests, code, plan.online) {}

  /// Each thread has a running value for each reduction; these are joined at the end.
  void emit();

private:
  void column(int64_t number, llvm::SmallVectorImpl<Running> &running, llvm::SmallVectorImpl<PendingStores> &pending);
  void item(const ItemRange &range, mlir::Value at, mlir::Value isValid, llvm::SmallVectorImpl<Running> &running,
            Known *known, llvm::SmallVectorImpl<PendingStores> &pending);
  void emitResident(const ItemRange &range, size_t &next, llvm::SmallVectorImpl<Running> &running);
  void emitRange(const ItemRange &range, llvm::SmallVectorImpl<Running> &running);
  void emitRangeLoop(const ItemRange &range, mlir::Value from, mlir::Value to, int64_t unroll,
                     llvm::SmallVectorImpl<Running> &running);
  void emitRangeBlocks(const ItemRange &range, mlir::Value from, mlir::Value to, int64_t unroll,
                       llvm::ArrayRef<int64_t> blocks, llvm::SmallVectorImpl<Running> &running);
  void join(llvm::ArrayRef<Running> running);
  void joinColumns(llvm::ArrayRef<Running> running);

  GridCode &grid;
  ElementEmitter &code;
  NestEmitter &nests;
  ThreadGroup &group;
  const ThreadGeometry &geometry;
  const KernelGraph &graph;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  PartialResults &parts;
  KnownRow &kept;
  const GroupNestPlan &plan;
  const OnlineEmitter::Sums &sums;
  OnlineEmitter online;
  mlir::Value firstColumn; // of a thread that has several
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_COOPERATIVENEST_H
