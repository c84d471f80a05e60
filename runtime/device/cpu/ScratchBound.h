// How much scratch memory the library calls of a program may take: a number that follows from the shapes and the number
// of threads alone, so that a plan does not depend on the machine that makes it.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include <cstdint>

namespace dgc::rt {

/// Instructions without which a CPU does not run the program: `bf16` are those of AVX-512 for sums of products of bf16.
struct CpuNeeds {
  bool avx512 = false, bf16 = false;
};

/// The bytes that a plan has for the scratch block of a program with `threads` threads. oneDNN takes less for the shapes
/// that were measured, on CPUs with AVX2 and with AVX-512; where another version of it, or another CPU, wants more, the
/// device uses fewer threads or another implementation.
uint64_t scratchBound(const artifact::Program &program, int threads, CpuNeeds needs);

} // namespace dgc::rt
