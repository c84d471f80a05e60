// The undistributed program that a plan is compared with, from the model that the plan was made of.

#ifndef DGC_COMPILER_VERIFY_MODEL_H
#define DGC_COMPILER_VERIFY_MODEL_H

#include "compiler/driver/CompileOptions.h"
#include "runtime/verify/Model.h"

namespace dgc {

/// The model as one worker without a mesh computes it, from a module that the phase `model` has yet to see. Of the options
/// those count that change what is computed: the batch, the precision, and with the target the form of attention. What the
/// model says about meshes is left out. Changes the module. Fails with a diagnostic, as where a part is written for one
/// device of a mesh.
mlir::FailureOr<verify::Model> modelOf(mlir::ModuleOp module, const CompileOptions &options);

/// The same for the check of its gradient: in f32, and the optimizer is w - gradient, whatever the model says. Fails with a
/// diagnostic for a model that stops a gradient, which then is not the derivative.
mlir::FailureOr<verify::Model> modelWithGradient(mlir::ModuleOp module, CompileOptions options);

/// The options of a plan that count for modelOf, with the batch that it is for. None, with what is wrong, where the plan has one that is none.
std::optional<CompileOptions> optionsFor(const artifact::Plan &plan, std::string &error);

} // namespace dgc

#endif // DGC_COMPILER_VERIFY_MODEL_H
