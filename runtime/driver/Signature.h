// The arguments and results of an entry, over all groups of workers.
#pragma once

#include "runtime/artifact/Mesh.h"
#include "runtime/base/Shape.h"

#include <string>
#include <vector>

namespace dgc::rt {

/// An input, an output, or a variable or part of a stacked one.
struct Parameter {
  std::string name;
  bool isVariable = false;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  int batchDim = -1;        // of inputs: the dimension that has an entry for each example of the global batch; -1: none
  int position = -1;        // N of inN or outN
  bool hasPosition = false; // whether the plan says the position
  bool hasInitial = false;  // of variables: whether the plan says with which elements it begins, other than with zeros
};

struct Signature {
  /// By position. The inputs of the programs, then every variable of the plan, unless the plan says another order.
  std::vector<Parameter> arguments;
  /// By position. The outputs of the programs, then the variables that they write, unless the plan says another order.
  std::vector<Parameter> results;
};

/// That of the programs of this name, one of each group.
Signature signatureOf(const artifact::Plan &plan, std::string_view entry);

} // namespace dgc::rt
