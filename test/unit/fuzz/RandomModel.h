// Random models with random annotations: what a user may write over a mesh of the model's own.
#pragma once

#include "test/unit/support/Execute.h"

#include <cstdint>
#include <string>

namespace dgc::testing {

struct RandomModel {
  std::string text;   // one dgc.model, and the mesh where it is annotated
  NamedArrays inputs; // one batch
};

/// Model number `seed`: a perceptron with batch normalization and dropout, a convolutional network with batch
/// normalization, or a transformer with a tied embedding; SGD with a learning rate of 1 or, `slots`, an optimizer with
/// state. With `annotated` inputs, variables, values in between and outputs get shardings that follow from
/// `annotationSeed`; the ops are the same.
RandomModel randomModel(uint32_t seed, bool slots, bool annotated, uint32_t annotationSeed = 0);

} // namespace dgc::testing
