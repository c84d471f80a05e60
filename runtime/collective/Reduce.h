// The arithmetic of collectives: several vectors into one result, written to
// several places.
#pragma once

#include "runtime/collective/Transport.h"

#include <cstddef>

namespace dgc::rt {

/// dsts[j][i] = srcs[0][i] op srcs[1][i] op ... for all j < dstCount, i < count.
/// Eight sources at a time are combined in this order, and what that gives in
/// pairs: the order depends on srcCount alone, and the error of a sum grows with
/// its logarithm. A dst may be a src; otherwise they must not overlap.
/// f16 and bf16 are accumulated in f32 and rounded once. Max and Min return NaN
/// when there is one. Integers wrap. On i1, Sum and Max are "or", Product and
/// Min are "and".
using ReduceFn = void (*)(void *const *dsts, int dstCount, const void *const *srcs, int srcCount, size_t count);

/// The function for this machine's vector unit.
ReduceFn selectReduce(DType dtype, Reduction reduction);

/// The widest vector unit in use, and the same by name for tests: "baseline",
/// "avx2", "avx512". Null for an instruction set that this machine or build
/// lacks.
ReduceFn selectReduceFor(std::string_view isa, DType dtype, Reduction reduction);

} // namespace dgc::rt
