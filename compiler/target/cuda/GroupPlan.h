//===- GroupPlan.h - how the threads of a group share a nest ----------------===//

#ifndef DGC_COMPILER_TARGET_CUDA_GROUPPLAN_H
#define DGC_COMPILER_TARGET_CUDA_GROUPPLAN_H

#include "compiler/codegen/KernelPlan.h"
#include "compiler/target/cuda/Online.h"
#include "compiler/target/cuda/ThreadGeometry.h"

namespace dgc {

/// A range of the points of a nest: items of `vector` points of the last loop, from index `begin` of that loop on.
struct ItemRange {
  llvm::SmallVector<unsigned> loops;
  llvm::SmallVector<int64_t> trips;
  int64_t items = 1, vector = 1, begin = 0;
  int64_t unroll = 1;              // items that a thread takes at a time
  llvm::SmallVector<Bound> within; // what is known of indices in it
  /// The blocks of a thread's sums, in iterations of `unroll` items; none: they are not cut.
  llvm::SmallVector<int64_t> blocks;
};

struct GroupNestPlan {
  enum class Form {
    Once,        // without loops: all threads know the value, one stores it
    Cooperate,   // the threads take the points in turn and join their running values
    InTurn,      // the threads take the points of the `common` loops in turn, each with all of the `inner` loops
    FirstThread, // one thread has the `inner` loops, which are all
  };
  Form form = Form::Once;
  LoopNest nest; // inside the outer loops of the segment

  llvm::SmallVector<ItemRange, 2> ranges;
  llvm::SmallDenseMap<unsigned, OnlineSum> online; // sums that follow a running maximum, by their roots

  llvm::SmallVector<unsigned> common;
  llvm::SmallVector<int64_t> commonTrips;
  NestPlan inner;
};

GroupNestPlan planGroupNest(const KernelGraph &graph, const ThreadGeometry &geometry, LoopNest nest);

/// A nest as loops of one thread of a GPU.
NestPlan planThreadNest(const KernelGraph &graph, LoopNest nest);

void printGroupNest(llvm::raw_ostream &out, const KernelGraph &graph, const GroupNestPlan &plan);

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CUDA_GROUPPLAN_H
