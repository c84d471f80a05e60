// Random functions of primitive ops: those of dgc, and those of StableHLO that become several of dgc (sorts, gathers,
// scatters, reductions and windows with regions, and now and then complex numbers, branches and loops).
#pragma once

#include "test/unit/fuzz/RandomGraph.h"
#include "test/unit/fuzz/ShapeText.h"

namespace dgc::testing {

struct RandomPrimitives {
  struct Argument {
    Shape shape;
    std::string element; // f32, f64 or an integer
  };
  struct Result {
    std::string element;
    double tolerance = 0; // of a float, relative to the largest element or to 1; 0: every target gives the same number
  };
  std::string text; // one function @f, with ops of dgc and of StableHLO
  std::vector<Argument> arguments;
  std::vector<Result> results; // all values that nothing else is made of
};

/// The program number `seed`, whose floating-point arguments are multiples of 1/8 from -4 to 4. With a mesh, arguments,
/// results and values in between get shardings that follow from `shardingSeed`; the ops are the same.
RandomPrimitives randomPrimitives(uint32_t seed, const RandomMesh *mesh = nullptr, uint32_t shardingSeed = 0);

} // namespace dgc::testing
