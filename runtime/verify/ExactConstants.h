// Constants of a kernel that are roundings of other numbers: 1/3, sqrt(2/pi).
#pragma once

#include "runtime/verify/Field.h"

namespace dgc::verify {

/// The number that a constant of a type is the rounding of: a fraction of small integers or with few decimal digits, times
/// a root of 2, of pi, or of both; the constant itself where it is none of these. The root of pi is an arbitrary element.
Number exactConstant(reference::Type type, double value, LawSet laws = LawSet::ofGradients());

/// Adds two inputs at the end of those of `kernel`, of f32 and f64, that hold what the constants of these types are the
/// roundings of. Instructions and loads take them from there.
std::vector<TensorRef> useExactConstants(reference::KernelT &kernel, LawSet laws);

} // namespace dgc::verify
