// What a plan and a model declare: variables, programs, inputs and outputs.
#pragma once

#include "runtime/verify/Model.h"

namespace dgc::verify {

/// The first declaration of a plan that the model does not have as well, or the variable of the model that the plan lacks; "":
/// none. Inputs and outputs that only the model has are none, nor are its programs: the plan cannot be asked for them.
std::string compareDeclarations(const artifact::Plan &plan, const Model &model);

} // namespace dgc::verify
