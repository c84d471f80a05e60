//===- CpuKernelPlan.h - what is decided of a kernel for CPUs ---------------===//

#ifndef DGC_COMPILER_TARGET_CPU_CPUKERNELPLAN_H
#define DGC_COMPILER_TARGET_CPU_CPUKERNELPLAN_H

#include "compiler/codegen/KernelPlan.h"
#include "llvm/ADT/MapVector.h"

namespace dgc {

struct CpuKernelPlan {
  /// Memory of a value that is stored and is no result.
  struct Scratch {
    unsigned rowDims = 0; // leading dimensions that have no memory: one row is kept
    int64_t elements = 1;
  };

  explicit CpuKernelPlan(KernelGraph graph);
  void print(llvm::raw_ostream &out) const;

  KernelGraph graph;
  Schedule schedule;
  std::vector<std::vector<NestPlan>> nests; // of each segment
  llvm::MapVector<mlir::Value, Scratch> scratch;
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_CPU_CPUKERNELPLAN_H
