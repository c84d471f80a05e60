// The variables of a plan as people and files have them: each part of a stacked one is a variable of its own.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// A variable to people and in files.
struct VariablePart {
  std::string name;
  std::string beginsAs;       // the one whose value it takes where a file has none for it; empty: none
  std::vector<int64_t> shape; // without the stacked dimensions
  uint64_t rngId = 0;
};

/// How many of the first dimensions of a variable are stacked.
size_t countStackedDims(const artifact::Variable &variable);

/// How many parts a variable has; 1 unless it is stacked. The variable has been checked, here and below.
uint64_t countParts(const artifact::Variable &variable);

/// The parts of a variable, row-major: the variable itself unless it is stacked.
std::vector<VariablePart> partsOf(const artifact::Variable &variable);

/// Whether a plan has a variable of this name to people: parts count, what they are stacked in does not.
bool hasVariable(const artifact::Plan &plan, std::string_view name);

} // namespace dgc::rt
