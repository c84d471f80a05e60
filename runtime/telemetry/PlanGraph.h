// A plan as a graph for TensorBoard.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include <string>

namespace dgc::rt {

/// The program `train` of each group of workers: inputs, variables and steps as nodes, with an edge from each to those that read
/// what it has written last. Loops are drawn as one round. A serialized GraphDef; empty where there is no such program.
std::string graphOf(const artifact::Plan &plan);

} // namespace dgc::rt
