// Says why a value of a plan may differ from that of the model.
#pragma once

#include "runtime/verify/Compare.h"

namespace dgc::verify {

/// The nearest explanation that holds for every element of `pairs` of parts[number], which are those that differ; empty
/// where none is known.
std::string explain(const Comparison &comparison, std::span<const Part> parts, size_t number,
                    std::span<const ElementPair> pairs, const artifact::Plan &plan);

} // namespace dgc::verify
