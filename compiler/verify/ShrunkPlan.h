// A plan for a model with smaller dimensions that stands for the one of the model.

#ifndef DGC_COMPILER_VERIFY_SHRUNKPLAN_H
#define DGC_COMPILER_VERIFY_SHRUNKPLAN_H

#include "compiler/verify/Shrink.h"
#include "runtime/artifact/Reader.h"

namespace dgc {

struct ShrunkPlan {
  ShrunkModel model;
  std::unique_ptr<rt::Artifact> artifact; // null where no dimension can be smaller
  std::string otherwise; // what of its schedule differs, by sizes, from that of the plan; empty: nothing
};

/// Compiles the model, as the phase `model` has yet to see it, with the smallest dimensions by which it has the schedule of
/// `artifact`, which the plan made of it: first as small as Shrinker says, then with twice the sizes, and so on. Where none
/// has, the smallest ones by which values are cut and communicated so are taken. What passes decided by sizes when they made `compiled` of the model, if that is recorded there, they decide here, too.
/// Fails with a diagnostic where no smaller model gets that.
mlir::FailureOr<ShrunkPlan> shrinkPlan(mlir::ModuleOp model, const CompilePlan &plan, mlir::ModuleOp compiled,
                                       const rt::Artifact &artifact);

} // namespace dgc

#endif // DGC_COMPILER_VERIFY_SHRUNKPLAN_H
