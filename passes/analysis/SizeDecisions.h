// What passes decide by the sizes of values: recorded for a model, and taken again for the same model with other sizes.

#ifndef DGC_PASSES_ANALYSIS_SIZEDECISIONS_H
#define DGC_PASSES_ANALYSIS_SIZEDECISIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

namespace dgc {

/// The decisions of one run of a pass over a module, in their order. In a module with `dgc.record_size_decisions` they are
/// added to `dgc.size_decisions`. In one that has `dgc.size_decisions` alone, those of the pass are taken from there, and
/// the sizes do not matter; where there are no more, the sizes decide.
class SizeDecisions {
public:
  SizeDecisions(mlir::ModuleOp module, llvm::StringRef pass);
  ~SizeDecisions();
  SizeDecisions(const SizeDecisions &) = delete;
  SizeDecisions &operator=(const SizeDecisions &) = delete;

  /// `bySize`, or what was decided in its place.
  bool operator()(bool bySize);

private:
  mlir::ModuleOp module;
  llvm::StringRef pass;
  bool isRecorded;
  llvm::SmallVector<bool> decisions; // those of the pass in the module, before and, if they are recorded, in this run
  size_t numTaken = 0;
};

/// Has the passes that run on the module record what they decide by sizes.
void recordSizeDecisions(mlir::ModuleOp module);

/// Has the passes that run on the module decide as they did on `other`, which recorded it.
void takeSizeDecisions(mlir::ModuleOp module, mlir::ModuleOp other);

} // namespace dgc

#endif // DGC_PASSES_ANALYSIS_SIZEDECISIONS_H
