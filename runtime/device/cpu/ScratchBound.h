// How much scratch memory the library calls of a program may take: a number that follows from the shapes and the number
// of threads alone, so that a plan does not depend on the machine that makes it.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include <cstdint>

namespace dgc::rt {

/// The bytes that a plan has for the scratch block of a program with `threads` threads. oneDNN takes less for the shapes
/// that were measured, on CPUs with AVX2 and with AVX-512; where another version of it, or another CPU, wants more, the
/// device uses fewer threads or another implementation. `needsAvx512`: the program runs on no other CPUs.
uint64_t scratchBound(const artifact::Program &program, int threads, bool needsAvx512);

} // namespace dgc::rt
