// The order in which reductions over ranks combine their operands, for kernels of CPUs and of GPUs, which give the same
// bits. Included by sources that are compiled for several instruction sets: it has no headers but those of the
// compiler, and all of it has internal linkage, so that the linker chooses no function of another instruction set.
#pragma once

#include <stdint.h>

#ifdef __NVPTX__
#define DGC_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define DGC_ROLLED
#endif

namespace {

struct Sum {
  template <class V> static V apply(V a, V b) { return a + b; }
};
struct Product {
  template <class V> static V apply(V a, V b) { return a * b; }
};
// `a != a` holds for NaN alone; on integers it folds away.
struct Maximum {
  template <class V> static V apply(V a, V b) { return ((a > b) | (a != a)) ? a : b; }
};
struct Minimum {
  template <class V> static V apply(V a, V b) { return ((a < b) | (a != a)) ? a : b; }
};

/// What 2^32 operands leave to be combined, at most.
constexpr int maxPartials = 32;

/// Combines `count` operands, at least one, in pairs: neighbours, then what neighbours gave. load(k, to) writes the values of
/// operand k to to[i], i < n. A run of 2^m operands from a multiple of 2^m on is combined by itself: what a worker has added up
/// of its own may take its place.
template <class Op, int n, class Value, class Load>
inline __attribute__((always_inline)) void combine(uint64_t count, Value (&values)[n], Load load) {
  Value partial[maxPartials][n];
  int depth = 0;
  auto merge = [&]() __attribute__((always_inline)) {
    --depth;
    for (int i = 0; i < n; ++i)
      values[i] = Op::apply(partial[depth][i], values[i]);
  };
  DGC_ROLLED
  for (uint64_t k = 0; k < count; ++k) {
    load(k, values);
    if (k + 1 == count)
      break;
    DGC_ROLLED
    for (uint64_t odd = k; odd & 1; odd >>= 1)
      merge();
    for (int i = 0; i < n; ++i)
      partial[depth][i] = values[i];
    ++depth;
  }
  DGC_ROLLED
  while (depth > 0) // NOLINT(bugprone-infinite-loop): merge() makes it smaller
    merge();
}

} // namespace
